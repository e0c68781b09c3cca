#include "tools/tune/options.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "autotune/user_kernel/user_kernel.h"
#include "autotune/user_kernel/user_tunable.h"
#include "frontend/graph_file.h"
#include "support/error.h"
#include "tools/program.h"

namespace tcc::tools {
namespace {

// CLI::PositiveNumber's message spells out the largest double.
CLI::Validator above_zero() {
  return {[](const std::string& text) -> std::string {
            double value = 0;
            const bool is_number = CLI::detail::lexical_cast(text, value);
            return is_number && value > 0 && std::isfinite(value)
                       ? ""
                       : str("must be a number above 0, not '", text, "'");
          },
          "above 0"};
}

}  // namespace

void add_graph_options(CLI::App& app, GraphOptions& options) {
  app.add_option("GRAPH", options.graphs, "graph files (.yaml or .onnx)");
  app.add_option("--kernel", options.kernels,
                 "a kernel file (.yaml) of your own, tuned as well; several")
      ->allow_extra_args(false);
  app.add_option("--dim", options.dims,
                 "value of a symbolic dim, values (B=1,8,32), a range (S=1..2048) or an expression "
                 "of other dims (T=S+1); several: every combination")
      ->allow_extra_args(false);
  add_input_options(app, options.inputs);
  add_compile_options(app, options.compile);
}

void check_any_named(const GraphOptions& options) {
  if (options.graphs.empty() && options.kernels.empty())
    fail_input("a GRAPH or --kernel is required; see --help");
}

void add_sweep_options(CLI::App& app, SweepOptions& options) {
  add_graph_options(app, options.graphs);
  app.add_option("--device", options.devices,
                 "auto, cuda:N or vulkan:N; several of one kind: cuda:0,cuda:1")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->default_str("auto");
  app.add_option("--output", options.output, "folder of the tuning records; updated")
      ->capture_default_str();
  app.add_option("--tuning", options.tuning,
                 "folder or file of tuning records that programs use, to be beaten; several")
      ->allow_extra_args(false);
  app.add_option("--search", options.search, "how configs are chosen")->capture_default_str();
  app.add_option("--trials", options.trials,
                 "measurements of each kernel, quick ones a quarter each")
      ->capture_default_str()
      ->check(number_in(0, 1000000));
  app.add_option("--budget", options.budget_seconds,
                 "seconds for all kernels together (default: no limit)")
      ->check(above_zero());
  app.add_option("--jobs", options.jobs, "threads that compile (default: all cores)")
      ->check(number_in(1, 1024));
  app.add_option("--seed", options.seed, "of the search and of the data")->capture_default_str();
  app.add_option("--log", options.log, "trial log, appended to (default: OUTPUT/trials.jsonl)");
  app.add_flag("--resume", options.resume, "do not measure again what the trial log holds");
  app.add_option("--shard", options.shard,
                 "this process's part (default: from srun, mpirun or torchrun, else all)");
  app.add_option("--report", options.report, "write a page about the sweep to this .html");
  app.add_option("--replay", options.replay,
                 "compare searches on a trial log of exhaustive sweeps; needs no device");
  app.add_flag("--plan-search", options.plan_search,
               "compare choices that span kernels (split or not, fused or not) and keep the best");
  app.add_flag("--no-cache", options.no_cache, "compile every kernel, even if it is on disk");
  app.add_flag("--json", options.json,
               "print the results as one JSON object; the rest goes to standard error");
}

std::vector<std::pair<std::string, std::string>> given_options(const CLI::App& app) {
  std::vector<std::pair<std::string, std::string>> given;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    std::string values;
    if (option->get_items_expected_max() > 0)
      for (const std::string& value : option->results())
        values += (values.empty() ? "" : " ") + value;
    given.emplace_back(option->get_name(), values);
  }
  return given;
}

autotune::SearchKind parse_search_kind(const std::string& text) {
  auto kind = autotune::search_kind(text);
  if (!kind)
    fail_input("--search ", text, ": must be auto, exhaustive, random, staged or evolutionary");
  return *kind;
}

DimLists::DimLists(const std::vector<std::string>& texts) {
  constexpr size_t kMost = 1024;
  for (const std::string& text : texts) {
    const size_t equal = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, equal),
                      values = text.substr(std::min(equal + 1, text.size()));
    if (used_.contains(name)) fail_input("--dim ", text, ": given twice");
    const std::string forms =
        str("sizes are numbers or a range, as in ", name, "=1,8,32 and ", name, "=1..2048");
    const bool is_range = values.find("..") != values.npos;
    if (is_range && values.find_first_not_of("0123456789.:") != values.npos)
      fail_input("--dim ", text, ": ", forms);
    const bool has_letters = std::ranges::any_of(
        values, [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; });
    if (is_range || (has_letters && values.find(',') == values.npos)) {
      const ir::DimOption dim = ir::parse_dim(text, "--dim " + text);
      if (dim.expression)
        equal_.emplace(name, *dim.expression);
      else
        open_[name] = dim.range;
      used_[name] = false;
      continue;
    }
    std::vector<Dims> grown;
    for (size_t begin = 0, end; begin <= values.size(); begin = end + 1) {
      end = std::min(values.find(',', begin), values.size());
      const Dims one =
          parse_numbers({name + "=" + values.substr(begin, end - begin)}, "--dim", forms);
      for (Dims dims : all_) {
        dims.insert(*one.begin());
        grown.push_back(std::move(dims));
      }
      if (grown.size() > kMost) fail_input("--dim ", text, ": more than ", kMost, " combinations");
    }
    all_ = std::move(grown);
    used_[name] = false;
  }
}

std::vector<Dims> DimLists::combinations(const Dims& declared) {
  std::vector<Dims> different;
  for (Dims dims : all_) {
    std::erase_if(dims, [&](const auto& dim) { return !declared.count(dim.first); });
    for (const auto& [name, value] : dims) used_[name] = true;
    if (std::find(different.begin(), different.end(), dims) == different.end())
      different.push_back(std::move(dims));
  }
  return different;
}

ir::SizeRanges DimLists::open(const Dims& declared) {
  ir::SizeRanges ranges;
  for (const auto& [name, range] : open_)
    if (declared.contains(name)) {
      ranges[name] = range;
      used_[name] = true;
    }
  return ranges;
}

ir::DimExpressions DimLists::equal(const Dims& declared) {
  ir::DimExpressions expressions;
  for (const auto& [name, value] : equal_)
    if (declared.contains(name)) {
      expressions.emplace(name, value);
      used_[name] = true;
    }
  return expressions;
}

GraphFileOptions DimLists::file_options(const InputFiles& files, const InputOptions& inputs) const {
  backends::CompileOptions dims;
  dims.dims = first();
  dims.open_dims = open_;
  dims.equal_dims = equal_;
  return graph_file_options(dims, files, inputs);
}

void DimLists::check_all_used() const {
  for (const auto& [name, is_used] : used_)
    if (!is_used) fail_input("--dim ", name, ": nothing that is tuned has such a dim");
}

namespace {

// "mlp.yaml B=8".
std::string label_of(const std::string& path, const Dims& dims, const ir::SizeRanges& open = {},
                     const ir::DimExpressions& equal = {}) {
  std::string label = std::filesystem::path(path).filename().string();
  for (const auto& [name, value] : dims) label += str(" ", name, "=", value);
  for (const auto& [name, range] : open) label += str(" ", name, "=", range.to_string());
  for (const auto& [name, value] : equal) label += str(" ", name, "=", value);
  return label;
}

}  // namespace

std::vector<backends::Scheduled> schedule_graphs(const GraphOptions& options, DimLists& dims,
                                                 const sched::Target& target,
                                                 backends::CompileOptions compile,
                                                 std::vector<std::string>* labels) {
  set_compile_options(options.compile, compile);
  std::vector<backends::Scheduled> scheduled;
  const InputFiles files(options.inputs);
  std::vector<std::string> inputs;
  for (const std::string& path : options.graphs) {
    refuse_package(path);
    GraphFileOptions how = dims.file_options(files, options.inputs);
    ir::Graph graph = load_graph(path, how);
    compile.open_dims = dims.open(graph.dims);
    compile.equal_dims = dims.equal(graph.dims);
    say_default_dims("tcc-tune", path, graph, compile.open_dims);
    bool read = true;  // for these dims: the first combination is what it was read with
    for (Dims& bound : dims.combinations(graph.dims)) {
      backends::CompileOptions one = compile;
      one.dims = std::move(bound);
      if (labels) labels->push_back(label_of(path, one.dims, one.open_dims, one.equal_dims));
      how.dims = one.dims;
      if (!read) graph = load_graph(path, how);
      read = false;
      for (const std::string& name : input_names(graph)) inputs.push_back(name);
      settle_dims("tcc-tune", graph, one);
      scheduled.push_back(backends::schedule(graph, target, one));
    }
  }
  files.check_all_used(inputs);
  return scheduled;
}

std::vector<autotune::Tunable> user_tunables(const GraphOptions& options, DimLists& dims,
                                             const sched::Target& target,
                                             backends::CompileOptions compile,
                                             std::vector<std::string>* labels) {
  std::vector<autotune::Tunable> tunables;
  for (const std::string& path : options.kernels) {
    const autotune::UserKernel kernel = autotune::load_user_kernel(path);
    if (const ir::SizeRanges open = dims.open(kernel.dims); !open.empty())
      fail_input("--dim ", open.begin()->first, "=", open.begin()->second.to_string(), ": ", path,
                 " is a kernel of your own, which is tuned for sizes: give numbers, as in ",
                 open.begin()->first, "=1,8,32");
    if (const ir::DimExpressions equal = dims.equal(kernel.dims); !equal.empty())
      fail_input("--dim ", equal.begin()->first, "=", equal.begin()->second, ": ", path,
                 " is a kernel of your own, which is tuned for sizes: give numbers, as in ",
                 equal.begin()->first, "=1,8,32");
    for (Dims& bound : dims.combinations(kernel.dims)) {
      compile.dims = std::move(bound);
      if (labels) labels->push_back(label_of(path, compile.dims));
      tunables.push_back(autotune::tunable_of(kernel, target, compile));
    }
  }
  return tunables;
}

std::vector<backends::Scheduled> schedule_graphs(const GraphOptions& options,
                                                 const sched::Target& target,
                                                 const backends::CompileOptions& compile) {
  DimLists dims(options.dims);
  auto scheduled = schedule_graphs(options, dims, target, compile);
  dims.check_all_used();
  return scheduled;
}

}  // namespace tcc::tools
