// Measures the cases of a suite in workers, base against head.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tcc/track.hpp"
#include "tools/track/duel_worker.h"
#include "tools/track/worker.h"

namespace tcc::tools {

// A worker has both libraries side by side and takes one block of each case; the next block is
// another worker's.
class DuelProcess {
 public:
  // One block may take `limit` seconds.
  DuelProcess(const DuelSetup& setup, double limit) : setup_(setup), limit_(limit) {}
  // Throws the errors of Worker::ask().
  nlohmann::json ask(const char* what, const TrackCase& one, bool head_first);

 private:
  DuelSetup setup_;
  double limit_;
  std::unique_ptr<Worker> worker_;
  std::set<std::string> seen_;  // cases, by this worker
};

class Duels {
 public:
  // `setup.head_first` is decided here, from block to block. One block of one case may take
  // `limit` seconds.
  Duels(const std::vector<TrackCase>& cases, const DuelSetup& setup, double limit);

  // Compiles every case once, in several processes at a time, so that the kernels' cache has them.
  // `told` is called from any thread, one call at a time. Failures show when a case is measured.
  void fill_cache(const std::function<bool(size_t done)>& told);
  // Measures one block, in a process that has measured no block of this case before; pairs are in
  // the order base, head, head, base. In every other block the head's library is opened, compiles
  // and allocates first. Throws Error(device) where the process dies or takes too long, the errors
  // of a library, an error where the results differ, and Cancelled after an interrupt. A process
  // that was killed by SIGKILL is replaced once, since no library causes that.
  track::Block block(size_t number);
  // Measures the seconds that compiling takes, in a block of one pair; no kernel runs.
  track::Block compile_block(size_t number);
  // Fills `kernels` of both sides, with their seconds.
  void time_kernels(size_t number);

  struct Side {
    std::optional<CaseFacts> facts = {};
    std::vector<double> seconds = {};  // medians of the blocks
    std::vector<double> kernel_seconds = {};
    std::vector<std::string> sources = {};  // of its kernels
  };
  struct Case {
    TrackCase what;
    Side base = {}, head = {};
    double difference = -1;  // of the results, see relative_difference; -1: never run
    std::vector<track::Block> blocks = {};
  };
  const std::vector<Case>& cases() const { return cases_; }
  // Processes that were replaced, a line each.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  // A reply with the facts of both sides, which are kept.
  nlohmann::json ask(const char* what, size_t number);

  std::vector<Case> cases_;
  DuelSetup setup_;
  double limit_;
  std::vector<std::string> notes_;
  DuelProcess process_;
  std::vector<size_t> asked_;  // how often, of each case
};

}  // namespace tcc::tools
