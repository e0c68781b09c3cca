#include "backends/pipeline.h"

#include <chrono>
#include <cmath>
#include <set>

#include "backends/build_executable.h"
#include "ir/layers.h"
#include "ir/passes/common_subexpressions.h"
#include "ir/passes/convert_precision.h"
#include "ir/passes/dead_code.h"
#include "ir/passes/decompose.h"
#include "ir/passes/fold_batch_norm.h"
#include "ir/passes/fold_constants.h"
#include "ir/passes/materialize_outputs.h"
#include "ir/passes/merge_siblings.h"
#include "ir/passes/recognize_attention.h"
#include "ir/passes/simplify.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "scheduler/open_dims.h"
#include "scheduler/pad_inputs.h"
#include "scheduler/partition.h"
#include "scheduler/split_contractions.h"
#include "scheduler/split_reductions.h"
#include "scheduler/split_scans.h"
#include "scheduler/split_sorts.h"
#include "scheduler/whole_op.h"
#include "support/bytes_text.h"
#include "support/error.h"
#include "support/log.h"
#include "support/plural.h"

namespace tcc::backends {
namespace {

struct GraphStage {
  std::string_view name;
  std::function<void(std::unique_ptr<ir::Graph>&, const sched::Target&, const CompileOptions&)> run;
};

sched::RegionPrecision precision_of(const CompileOptions& options) {
  return {options.strict_rounding, options.matmul_precision != MatmulPrecision::highest};
}

// A pass that changes the graph in place.
template <class Pass>
GraphStage pass(std::string_view name, Pass run) {
  return {name, [run](auto& graph, const auto&, const auto&) { run(*graph); }};
}

// Composite ops by the names of their first results, which are equal in each compilation of a
// graph.
using OpNames = std::set<std::string, std::less<>>;

// The stages on the graph IR, in order. Then come the partition into regions, the stages of their
// kernels (kernel_stages()), their text, and the plan of memory. `refused` are decomposed although
// a template takes such ops whole.
std::vector<GraphStage> graph_stages(const OpNames& refused = {}) {
  // Leaves the ops that a kernel template takes whole.
  const auto decompose = [refused](std::unique_ptr<ir::Graph>& graph, const sched::Target& target,
                                   const CompileOptions& options) {
    ir::decompose(*graph, [&](const ir::Node& node) {
      return !refused.contains(node.outputs[0]->name) &&
             sched::is_taken_whole(node, target, precision_of(options));
    });
  };
  return {
      {"bind",
       [](auto& graph, const auto&, const CompileOptions& options) {
         graph = std::make_unique<ir::Graph>(graph->bind(options.dims, options.open_dims));
       }},
      {"precision",
       [](auto& graph, const auto&, const CompileOptions& options) {
         if (options.dtype)
           graph = std::make_unique<ir::Graph>(ir::convert_precision(*graph, *options.dtype));
       }},
      pass("simplify", [](ir::Graph& graph) { ir::simplify(graph); }),
      pass("recognize-attention", [](ir::Graph& graph) { ir::recognize_attention(graph); }),
      pass("fold-batch-norm", [](ir::Graph& graph) { ir::fold_batch_norm(graph); }),
      pass("merge-siblings", [](ir::Graph& graph) { ir::merge_siblings(graph); }),
      {"decompose", decompose},
      {"split-reductions",
       [](auto& graph, const sched::Target& target, const CompileOptions& options) {
         sched::split_reductions(*graph, target, {options.plan, target});
       }},
      {"split-contractions",
       [](auto& graph, const sched::Target& target, const CompileOptions& options) {
         sched::split_contractions(*graph, target, {options.plan, target}, precision_of(options));
       }},
      {"split-scans", [](auto& graph, const sched::Target& target,
                         const CompileOptions&) { sched::split_scans(*graph, target); }},
      {"split-sorts", [](auto& graph, const sched::Target& target,
                         const CompileOptions&) { sched::split_sorts(*graph, target); }},
      {"simplify-primitives",
       [decompose](auto& graph, const sched::Target& target, const CompileOptions& options) {
         decompose(graph, target, options);  // what splitting composed
         ir::simplify(*graph);
         ir::eliminate_common_subexpressions(*graph);
       }},
      pass("fold-constants", [](ir::Graph& graph) { ir::fold_constants(graph); }),
      pass("dead-code", [](ir::Graph& graph) { ir::eliminate_dead_code(graph); }),
      pass("outputs", [](ir::Graph& graph) { ir::materialize_outputs(graph); }),
      {"pad-inputs",
       [](auto& graph, const sched::Target& target, const CompileOptions& options) {
         sched::pad_inputs(*graph, target, {options.plan, target}, precision_of(options));
       }},
  };
}

// Runs the graph stages, and all of them again where no template takes a composite op that they
// left, for the views or layouts around it: that op is decomposed then, with a line in the log.
std::unique_ptr<ir::Graph> run_graph_stages(const ir::Graph& graph, const sched::Target& target,
                                            const CompileOptions& options) {
  for (OpNames refused;;) {
    std::unique_ptr<ir::Graph> result = std::make_unique<ir::Graph>(graph.clone());
    ir::name_layers(*result);
    const std::vector<GraphStage> stages = graph_stages(refused);
    size_t done = 0;
    for (const GraphStage& stage : stages) {
      if (options.watch) options.watch->at("graph", done++, stages.size() + 1);
      stage.run(result, target, options);
      ir::verify(*result);
      if (is_shown(stage.name, options)) show(stage.name, ir::print_graph(*result), options);
    }
    if (options.watch) options.watch->at("graph", done, stages.size() + 1);
    const size_t before = refused.size();
    for (const auto& [node, reason] :
         sched::refused_whole_ops(*result, target, precision_of(options))) {
      log_parts(LogLevel::info, LogChannel::compile, node->op_name(), " '", node->outputs[0]->name,
                "' is decomposed: ", reason);
      TCC_CHECK(refused.insert(node->outputs[0]->name).second, node->outputs[0]->name,
                " was not decomposed");
    }
    if (refused.size() == before) return result;
  }
}

}  // namespace

std::vector<std::string_view> stage_names() {
  std::vector<std::string_view> names;
  for (const GraphStage& stage : graph_stages()) names.push_back(stage.name);
  names.push_back("partition");
  for (const std::string_view name : kernel_stages()) names.push_back(name);
  for (const std::string_view name : {"emit", "plan"}) names.push_back(name);
  return names;
}

std::optional<MatmulPrecision> parse_matmul_precision(std::string_view name) {
  if (name == "highest") return MatmulPrecision::highest;
  if (name == "high") return MatmulPrecision::high;
  if (name == "medium") return MatmulPrecision::medium;
  return std::nullopt;
}

Scheduled schedule(const ir::Graph& graph, const sched::Target& target,
                   const CompileOptions& options) {
  Scheduled result;
  result.graph = run_graph_stages(graph, target, options);
  if (!options.open_dims.empty())
    sched::check_open_dims(*result.graph, target, precision_of(options));
  sched::PartitionOptions partition;
  partition.fuse = options.fuse;
  partition.precision = precision_of(options);
  partition.plan = {options.plan, target};
  const bool is_logged = log_wanted(LogLevel::debug, LogChannel::fusion);
  if (options.explain_fusion || is_logged)
    partition.explain = [&](const std::string& line) {
      if (is_logged) log_text(LogLevel::debug, LogChannel::fusion, line);
      if (options.explain_fusion) options.explain_fusion(line);
    };
  result.regions = sched::partition(*result.graph, target, partition);
  const size_t total = graph_stages().size() + 1;
  if (options.watch) options.watch->at("graph", total, total);
  if (is_shown("partition", options)) show("partition", regions_text(result.regions), options);
  return result;
}

exec::Executable compile(const ir::Graph& graph, const sched::Target& target,
                         const CompileOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Scheduled scheduled = schedule(graph, target, options);
  exec::Executable executable = build_executable(scheduled, target, options);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  log_parts(LogLevel::info, LogChannel::compile, executable.name, ": ",
            counted(executable.kernels.size(), "kernel"), ", ",
            counted(exec::launches(executable).size(), "launch", "launches"), " for ", target.id(),
            ", arena ", bytes_text(executable.arena_bytes.usual()), ", compiled in ",
            std::lround(time.count()), " ms");
  return executable;
}

}  // namespace tcc::backends
