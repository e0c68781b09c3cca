// Which configs of a space are tried, and in what order.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "scheduler/config.h"

namespace tcc::autotune {

class Searcher {
 public:
  virtual ~Searcher() = default;
  // The configs to try next; none was proposed before. Empty: the search is over. Called when all
  // of the batch before were reported.
  virtual std::vector<sched::Config> next_batch() = 0;
  // What came of one config: its median seconds, or nothing when it failed or was wrong.
  virtual void report(const sched::Config& config, std::optional<double> seconds) = 0;
};

// Tries the whole space when it has at most `trials` configs beside `known`, the one that was
// measured already; otherwise a seeded random sample.
std::unique_ptr<Searcher> random_search(const sched::ConfigSpace& space, const sched::Config& known,
                                        size_t trials, uint64_t seed);

}  // namespace tcc::autotune
