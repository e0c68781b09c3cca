// One run of a suite as the store keeps it: JSON lines of a header, the cases and an end.
// docs/track-run.schema.json describes them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/bench.h"
#include "tools/track/report.h"

namespace tcc::tools {

// The header.
struct TrackedRun {
  std::string name = {};  // its file's, without ".jsonl"
  std::string date = {};  // UTC, "2026-11-22T12:31:05Z"
  int milliseconds = 0;   // after the date: of a new run's name, not stored
  std::string host = {};
  std::string commit = {}, commit_date = {};  // of the user's repository; "": there is none
  std::string version = {}, tcc_commit = {};  // of tcc
  // device: "cuda:0"; "": the run needed none, or compiled for `target` alone.
  std::string device = {}, description = {}, vendor = {}, driver = {}, target = {};
  std::string compiler = {};  // of kernels
  std::vector<std::string> command = {}, suites = {};
  std::map<std::string, std::string> labels = {};
  size_t planned = 0;  // cases

  // Runs of one machine are compared: host, device and target. Numbers of devices do not count.
  std::string machine() const;
};

constexpr int kRunSchema = 1;

struct Measured {
  double value = 0, low = 0, high = 0;  // the 95 % interval; both equal to the value without one
  std::string rule = {};                // of a counter: "more", "less" or "exact"; else ""
};

struct TrackedCase {
  enum class Status : uint8_t {
    ok,
    failed,  // it did not run to its end
    wrong,   // its result is not the reference's
  };
  std::string name = {}, kind = {};  // "graph", "kernel", "command"
  std::string file = {};             // the suite, and the line of the case in it
  int line = 0;
  std::string work = {};  // tools/track/work.h; "": unknown, as of commands and old records
  Status status = Status::ok;
  std::string reason = {};
  std::map<std::string, Measured> quantities = {};  // by the names of tools/track/rules.h
  std::map<std::string, double> budget = {};        // the same names: "at most"
  bool from_cache = false;                          // kernels may have come from the disk cache
  std::optional<autotune::Clocks> before = {}, after = {};
  // Lines of their own, which most readers skip.
  std::vector<std::vector<double>> samples = {};  // seconds, by block
  std::vector<TrackedKernel> kernels = {};
};
std::string_view name(TrackedCase::Status status);  // "ok", "failed", "wrong"

// An intended change, in a record of its own: what came before `from` no longer counts.
struct Acceptance {
  std::string name = {};      // the case
  std::string quantity = {};  // "": all of them
  std::string from = {};      // the first run of the new level, by its name
  std::string note = {};
};

struct RunEnd {
  std::string how = {};  // "complete", "interrupted", "device lost"
  double seconds = 0;
};

// The name of a commit whose tracked files were changed ends in this.
inline constexpr std::string_view kDirty = "-dirty";
bool is_dirty(const std::string& commit);
// Returns the first ten digits of a commit, with the suffix of a changed one.
std::string short_commit(const std::string& commit);

// "20261122T123105Z.042-abc1234-host-5f3a9c21", "20261122T123105Z.042-abc1234-dirty-host-5f3a9c21":
// sorts by date; the end is random. Older names lack the milliseconds, and sort before those of
// their second.
std::string new_run_name(const TrackedRun& run);
// Returns whether the text may be a file's name in a store: letters, digits, "-", "_", "."; at most
// 200.
bool is_run_name(std::string_view name);

// Lines with their ends.
std::string header_line(const TrackedRun& run);
std::string case_lines(const TrackedCase& one);
std::string acceptance_line(const Acceptance& accepted);
std::string end_line(const RunEnd& end);

// A kernel's history is kept under its layers, whatever computes them: "encoder/dense, gelu". A
// kernel without layers goes by its region. Several kernels of one name get "#2" and so on.
std::vector<std::string> kernel_names(const std::vector<TrackedKernel>& kernels);

}  // namespace tcc::tools
