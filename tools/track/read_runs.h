// Reads runs from a store. Its files are not trusted: damaged lines and files are left out, counted
// and named.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/track/run_record.h"
#include "tools/track/store.h"

namespace tcc::tools {

struct StoredRun {
  TrackedRun run;
  std::vector<TrackedCase> cases;
  std::vector<Acceptance> accepted;  // a record that accepts has no cases
  RunEnd end;  // `how` is "" where the run was cut off: its cases count all the same
};

struct ReadOptions {
  bool details = false;  // samples and kernels, too
  // These choose the runs, by name and then by header, and the cases; an empty function chooses
  // all.
  std::function<bool(const std::string&)> names = {};
  std::function<bool(const TrackedRun&)> runs = {};
  std::function<bool(const std::string&)> cases = {};
};

// The reasons why lines and files were left out, "FILE:LINE: REASON", as far as they are kept: the
// first ones.
struct Damage {
  static constexpr size_t kMostTold = 20;
  size_t lines = 0, files = 0;
  std::vector<std::string> told;
  bool any() const { return lines + files > 0; }
  // "3 damaged lines and 1 file were left out".
  std::string summary() const;
};

// One file's text; `place` is its name in messages. Nothing where the header is damaged or the run
// is not wanted.
std::optional<StoredRun> parse_run(std::string_view text, const std::string& name,
                                   const std::string& place, const ReadOptions& options,
                                   Damage& damage);

// One case's lines, as case_lines() makes them. Throws Error(bad_input) where they are damaged.
TrackedCase parse_case(std::string_view lines);

// Reads all chosen runs, one after the other in the order of their names. That is the order of the
// times at which they began, unless somebody renamed them.
void read_runs(const Store& store, const ReadOptions& options, Damage& damage,
               const std::function<void(StoredRun&&)>& sink);

}  // namespace tcc::tools
