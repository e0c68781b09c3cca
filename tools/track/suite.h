// A suite: graphs with sizes and types, as bench/suites has them, users' kernels, and commands that
// print Google Benchmark's JSON. docs/tracking.md has the keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tcc::tools {

constexpr double kSampleSeconds = 0.4e-3;  // of one measurement at least: timers have steps
constexpr int kMostReplays = 1000;         // in it

struct TrackCase {
  enum class Kind : uint8_t { graph, kernel, command };
  std::string name;  // "softmax M=8192 N=8192 bf16": what its history is kept under
  Kind kind = Kind::graph;
  std::filesystem::path graph;  // or the kernel's file
  std::map<std::string, int64_t> dims;
  std::string dtype;                         // "": the graph's
  std::string matmul_precision = "highest";  // of f32 and f8 products

  // Each benchmark of a command becomes a case "NAME/BENCHMARK".
  std::vector<std::string> command;
  std::filesystem::path folder;  // where it runs: the suite's
  double timeout = 600;          // seconds of one execution
  int executions = 3;
  bool cpu_time = false;                        // in place of the real time
  std::map<std::string, std::string> counters;  // that are kept: "more", "less" or "exact"

  std::map<std::string, double> budget;  // quantity (tools/track/rules.h): at most
  std::string file;                      // the suite, and the line of the case in it
  int line = 0;
};
std::string_view name(TrackCase::Kind kind);  // "graph", ...

// Throws Error(bad_input) as "FILE:LINE: ...", for two cases of one name too. Keys that are for
// other programs (peers, group) are read over; cases of `random` sizes are not for tracking and are
// left out.
std::vector<TrackCase> read_suite(const std::filesystem::path& file);

// The cases of several suites that --filter leaves: names that hold one of the words. Throws
// Error(bad_input) for a name that two suites have, and where no case is left.
std::vector<TrackCase> read_suites(const std::vector<std::string>& files,
                                   const std::vector<std::string>& filters);

}  // namespace tcc::tools
