// The command line of tcc-tune, and the graphs it names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "autotune/search.h"
#include "autotune/tunable.h"
#include "backends/pipeline.h"
#include "tools/compile_options.h"
#include "tools/tensors.h"

namespace tcc::tools {

// These options choose the kernels: those of graphs, with their sizes and how they are compiled,
// and users' own.
struct GraphOptions {
  std::vector<std::string> graphs;
  std::vector<std::string> kernels;  // files of users' own kernels
  std::vector<std::string> dims;     // "B=1,8,32"
  InputOptions inputs;               // what decides shapes of ONNX graphs
  CompileOptions compile;
};
void add_graph_options(CLI::App& app, GraphOptions& options);
// Throws Error(bad_input) where neither is named.
void check_any_named(const GraphOptions& options);

struct SweepOptions {
  GraphOptions graphs;
  std::vector<std::string> devices = {"auto"};
  std::string output = "tuned", search = "auto", log, shard, report, replay;
  int64_t trials = 64;
  double budget_seconds = 0;  // 0: none
  int jobs = 0;               // 0: all cores
  uint64_t seed = 0;
  bool resume = false, no_cache = false;
  bool plan_search = false;
  std::vector<std::string> tuning;  // records that programs use beside the default folders'
  bool json = false;
};
void add_sweep_options(CLI::App& app, SweepOptions& options);

// The options of the command line that were given, with their values: "--budget", "20".
std::vector<std::pair<std::string, std::string>> given_options(const CLI::App& app);

// Parses --search's value. Throws Error(bad_input), which lists the legal values.
autotune::SearchKind parse_search_kind(const std::string& text);

using Dims = std::map<std::string, int64_t, std::less<>>;

// --dim's values: "B=1,8,32" and "T=128" are every combination, at most 1024. "S=1..2048" stays
// open, and "T=S+1" is an expression.
class DimLists {
 public:
  // Throws Error(bad_input) for a malformed list and a name that is given twice.
  explicit DimLists(const std::vector<std::string>& texts);

  // The different combinations of those names that are `declared`; at least one, which may be
  // empty.
  std::vector<Dims> combinations(const Dims& declared);
  // The ranges of those names that are `declared`.
  ir::SizeRanges open(const Dims& declared);
  // The expressions of those names that are `declared`.
  ir::DimExpressions equal(const Dims& declared);
  // The first value of each name.
  const Dims& first() const { return all_.front(); }
  // How a graph is read for the first combination.
  GraphFileOptions file_options(const InputFiles& files, const InputOptions& inputs) const;
  // Throws Error(bad_input) for a name that no call of combinations() declared.
  void check_all_used() const;

 private:
  std::vector<Dims> all_ = {{}};
  ir::SizeRanges open_;
  ir::DimExpressions equal_;
  std::map<std::string, bool> used_;
};

// Every graph scheduled for `target`, once for each combination of its dims. The result's regions
// point into it. `labels` gets a name for each, "mlp.yaml B=8".
std::vector<backends::Scheduled> schedule_graphs(const GraphOptions& options, DimLists& dims,
                                                 const sched::Target& target,
                                                 backends::CompileOptions compile,
                                                 std::vector<std::string>* labels = nullptr);
// Users' own kernels, each once for each combination of its dims.
std::vector<autotune::Tunable> user_tunables(const GraphOptions& options, DimLists& dims,
                                             const sched::Target& target,
                                             backends::CompileOptions compile,
                                             std::vector<std::string>* labels = nullptr);
// Schedules graphs that alone get --dim's values: all of these values must be used.
std::vector<backends::Scheduled> schedule_graphs(const GraphOptions& options,
                                                 const sched::Target& target,
                                                 const backends::CompileOptions& compile);

}  // namespace tcc::tools
