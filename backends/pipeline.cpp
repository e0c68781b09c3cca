#include "backends/pipeline.h"

#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "backends/build_executable.h"
#include "ir/append.h"
#include "ir/counted_dims.h"
#include "ir/index_inputs.h"
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
#include "ir/passes/rotate_before_norms.h"
#include "ir/passes/simplify.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "scheduler/alternatives.h"
#include "scheduler/open_dims.h"
#include "scheduler/partition.h"
#include "scheduler/seeds.h"
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

// Nodes that the passes leave as they are, for a template that takes several at once.
std::set<const ir::Node*> seeds_of(const ir::Graph& graph, const sched::Target& target,
                                   const CompileOptions& options) {
  if (!options.fuse) return {};
  return sched::seeded_nodes(graph, target, precision_of(options));
}

// A pass that changes the graph in place.
template <class Pass>
GraphStage pass(std::string_view name, Pass run) {
  return {name, [run](auto& graph, const auto&, const auto&) { run(*graph); }};
}

GraphStage alternatives(std::string_view name, sched::AlternativeStage stage) {
  return {name, [stage](auto& graph, const sched::Target& target, const CompileOptions& options) {
            sched::take_alternatives(*graph, stage, target, {options.plan, target},
                                     precision_of(options),
                                     [&] { return seeds_of(*graph, target, options); });
          }};
}

// Composite ops that kernel templates may take whole, by the paths of ir::decompose, which are the
// same in each run of the graph stages, whatever else is decomposed in it.
struct WholeOps {
  std::set<std::string, std::less<>> refused;  // to be decomposed
  // The paths of those that this run has kept, by the names of their first results in it.
  std::map<std::string, std::string, std::less<>> kept;
  std::set<std::string, std::less<>> told;  // lines about those that are decomposed
};

// Tells once why a composite op is decomposed that templates are for.
void tell_decomposed(WholeOps& ops, const ir::Node& node, const std::string& reason,
                     const CompileOptions& options) {
  const std::string& name = node.outputs[0]->name;
  if (!ops.told.insert(str(name, ": ", reason)).second) return;
  log_parts(LogLevel::info, LogChannel::compile, node.op_name(), " '", name,
            "' is decomposed: ", reason);
  if (options.explain_fusion)
    options.explain_fusion(str(node.op_name(), " (", name, ") is not one kernel: ", reason));
}

// Decomposes the graph, and leaves the ops that a kernel template takes whole.
void decompose_but(WholeOps& ops, ir::Graph& graph, const sched::Target& target,
                   const CompileOptions& options, bool is_split) {
  std::map<std::string, int> counts;
  const auto root = [&](const ir::Node& node) {
    const std::string& name = node.outputs[0]->name;
    if (const auto kept = ops.kept.find(name); kept != ops.kept.end()) return kept->second;
    if (!is_split) return name;
    // Names that splitting gave count the ops before them.
    const std::string place = str("split ", ir::to_string(node.location), " ", node.op_name());
    return str(place, " ", counts[place]++);
  };
  ir::decompose(graph, root, [&](const ir::Node& node, const std::string& path) {
    if (ops.refused.contains(path)) return false;
    if (const sched::Match match = sched::match_whole_op(node, target, precision_of(options));
        !match) {
      // Most composite ops have nothing to tell: no template is for them.
      if (!match.refusal().other_kind && !is_split)
        tell_decomposed(ops, node, match.reason(), options);
      return false;
    }
    ops.kept.insert_or_assign(node.outputs[0]->name, path);
    return true;
  });
}

// The stages on the graph IR, in order. Then come the partition into regions, the stages of their
// kernels (kernel_stages()), their text, and the plan of memory. `ops` must outlive their runs.
std::vector<GraphStage> graph_stages(WholeOps& ops) {
  return {
      {"bind",
       [](auto& graph, const auto&, const CompileOptions& options) {
         auto bound =
             std::make_unique<ir::Graph>(ir::bind_dims(*graph, options.dims, options.open_dims));
         ir::check_growing_states(*graph, *bound);
         ir::set_index_ranges(*bound);
         graph = std::move(bound);
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
      pass("rotate-before-norms", [](ir::Graph& graph) { ir::rotate_before_norms(graph); }),
      {"decompose",
       [&ops](auto& graph, const sched::Target& target, const CompileOptions& options) {
         decompose_but(ops, *graph, target, options, false);
       }},
      alternatives("alternatives", sched::AlternativeStage::primitives),
      {"simplify-primitives",
       [&ops](auto& graph, const sched::Target& target, const CompileOptions& options) {
         decompose_but(ops, *graph, target, options, true);  // what splitting composed
         ir::simplify(*graph);
         ir::eliminate_common_subexpressions(*graph);
       }},
      pass("fold-constants", [](ir::Graph& graph) { ir::fold_constants(graph); }),
      pass("dead-code", [](ir::Graph& graph) { ir::eliminate_dead_code(graph); }),
      pass("outputs", [](ir::Graph& graph) { ir::materialize_outputs(graph); }),
      alternatives("final-alternatives", sched::AlternativeStage::final),
  };
}

#ifdef NDEBUG
constexpr bool kVerifiesEachStage = false;  // but after the last one
#else
constexpr bool kVerifiesEachStage = true;
#endif

// Runs the graph stages, and all of them again where no template takes a composite op that they
// left, for the views or layouts around it: that op, and none in it, is decomposed then, with a
// line in the log.
std::unique_ptr<ir::Graph> run_graph_stages(const ir::Graph& graph, const sched::Target& target,
                                            const CompileOptions& options) {
  for (WholeOps ops;;) {
    ops.kept.clear();
    std::unique_ptr<ir::Graph> result = std::make_unique<ir::Graph>(graph.clone());
    ir::name_layers(*result);
    const std::vector<GraphStage> stages = graph_stages(ops);
    size_t done = 0;
    for (const GraphStage& stage : stages) {
      if (options.watch) options.watch->at("graph", done++, stages.size() + 1);
      stage.run(result, target, options);
      if (kVerifiesEachStage || &stage == &stages.back()) ir::verify(*result);
      if (is_shown(stage.name, options)) show(stage.name, ir::print_graph(*result), options);
    }
    if (options.watch) options.watch->at("graph", done, stages.size() + 1);
    const size_t before = ops.refused.size();
    for (const auto& [node, reason] :
         sched::refused_whole_ops(*result, target, precision_of(options))) {
      const auto kept = ops.kept.find(node->outputs[0]->name);
      if (kept == ops.kept.end()) continue;  // without a composition: check_open_dims() refuses it
      tell_decomposed(ops, *node, reason, options);
      TCC_CHECK(ops.refused.insert(kept->second).second, node->outputs[0]->name,
                " was not decomposed");
    }
    if (ops.refused.size() == before) return result;
  }
}

}  // namespace

std::vector<std::string_view> stage_names() {
  std::vector<std::string_view> names;
  WholeOps none;
  for (const GraphStage& stage : graph_stages(none)) names.push_back(stage.name);
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

namespace {

// Opens the dims that runs count, to their ranges; graphs that were settled before have them open.
void open_counted_dims(const ir::Graph& graph, CompileOptions& options) {
  for (const auto& sizes : options.specialize)
    for (const auto& [name, size] : sizes) ir::refuse_counted(graph, name);
  for (const auto& [name, value] : options.equal_dims) ir::refuse_counted(graph, name);
  ir::Numbers others = options.dims;  // without counts of nothing, which are 0
  for (const ir::CountedDim& dim : ir::counted_dims(graph))
    if (!options.open_dims.contains(dim.name)) others.erase(dim.name);
  const ir::SizeRanges counted = ir::counted_ranges(graph, others, options.open_dims);
  for (const auto& [name, size] : options.dims)
    if (const auto range = counted.find(name);
        range != counted.end() && (range->second.most > 0 || size > 0))
      ir::refuse_counted(graph, name);
  for (const auto& [name, range] : options.open_dims)
    if (range.least > 0 || range.multiple > 1) ir::refuse_counted(graph, name);
  for (const auto& [name, range] : counted) {
    if (range.most == 0) {
      options.dims[name] = 0;
      continue;
    }
    options.open_dims.emplace(name, range);
    if (const int64_t usual = graph.dims.at(name); usual > 0)
      options.dims.emplace(name, std::min(usual, range.most));
  }
}

}  // namespace

ir::DimExpressions settle_dims(ir::Graph& graph, CompileOptions& options) {
  open_counted_dims(graph, options);
  ir::DimExpressions equal = ir::write_equal_dims(graph, options.dims, options.open_dims,
                                                  std::exchange(options.equal_dims, {}));
  for (const auto& [name, value] : equal)
    for (const auto& sizes : options.specialize)
      if (sizes.contains(name))
        fail_input("specialize: '", name, "' is ", value, ": name sizes of its dims");
  for (const auto& [name, value] : equal)
    options.settled_dims[name] =
        value.substitute([&](const ir::AtomPtr& atom) -> std::optional<ir::SymInt> {
          if (atom->kind != ir::Atom::Kind::symbol || options.open_dims.contains(atom->name))
            return std::nullopt;
          const auto number = options.dims.find(atom->name);
          return number == options.dims.end() ? graph.dims.at(atom->name) : number->second;
        });
  return equal;
}

namespace {

// The graph and the options with settled dims.
struct Settled {
  std::optional<ir::Graph> copy;
  CompileOptions options;
  const ir::Graph& graph;

  Settled(const ir::Graph& given, const CompileOptions& given_options)
      : options(given_options), graph(settle(given)) {}
  const ir::Graph& settle(const ir::Graph& given) {
    if (options.open_dims.empty() && options.equal_dims.empty() && ir::counted_dims(given).empty())
      return given;
    copy = given.clone();
    for (const auto& [name, value] : settle_dims(*copy, options))
      log_parts(LogLevel::info, LogChannel::compile, given.name, ": dim ", name, " is ", value);
    return *copy;
  }
};

Scheduled schedule_settled(const ir::Graph& graph, const sched::Target& target,
                           const CompileOptions& options) {
  Scheduled result;
  result.graph = run_graph_stages(graph, target, options);
  if (!options.open_dims.empty())
    sched::check_open_dims(*result.graph, graph, target, precision_of(options), options.open_dims);
  sched::PartitionOptions partition;
  partition.fuse = options.fuse;
  partition.precision = precision_of(options);
  partition.plan = {options.plan, target};
  const bool is_logged = log_wanted(LogLevel::debug, LogChannel::fusion);
  std::string logged;
  if (options.explain_fusion || is_logged)
    partition.explain = [&](const std::string& line) {
      logged += (logged.empty() ? "" : "\n") + line;
      if (options.explain_fusion) options.explain_fusion(line);
    };
  result.regions = sched::partition(*result.graph, target, partition);
  if (is_logged && !logged.empty()) log_text(LogLevel::debug, LogChannel::fusion, logged);
  WholeOps none;
  const size_t total = graph_stages(none).size() + 1;
  if (options.watch) options.watch->at("graph", total, total);
  if (is_shown("partition", options)) show("partition", regions_text(result.regions), options);
  return result;
}

// Variants share the memory of states: those that grow have the room of the whole.
ir::Graph with_rooms(const ir::Graph& graph, const exec::Executable& whole) {
  ir::Graph result = graph.clone();
  for (size_t i = 0; i < whole.states.size(); ++i)
    if (const exec::StateInfo& info = whole.states[i]; info.grows()) {
      const auto axis = static_cast<size_t>(info.axis);
      result.states[i]->type.shape[axis] =
          whole.buffers[static_cast<size_t>(info.buffer)].shape[axis];
    }
  return result;
}

}  // namespace

Scheduled schedule(const ir::Graph& graph, const sched::Target& target,
                   const CompileOptions& options) {
  const Settled settled(graph, options);
  return schedule_settled(settled.graph, target, settled.options);
}

void add_variants(exec::Executable& executable, const ir::Graph& graph, const sched::Target& target,
                  const CompileOptions& options) {
  if (options.specialize.empty()) return;
  const ir::Graph with_room = with_rooms(graph, executable);
  for (const auto& sizes : options.specialize) {
    CompileOptions of_sizes = options;
    of_sizes.specialize.clear();
    of_sizes.settled_dims.clear();  // the whole knows their names
    for (const auto& [dim, size] : sizes) {
      of_sizes.open_dims.erase(dim);
      of_sizes.dims[dim] = size;
    }
    executable.variants.push_back({sizes, compile(with_room, target, of_sizes)});
  }
}

exec::Executable compile(const ir::Graph& graph, const sched::Target& target,
                         const CompileOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const Settled settled(graph, options);
  Scheduled scheduled = schedule_settled(settled.graph, target, settled.options);
  exec::Executable executable = build_executable(scheduled, target, settled.options);
  add_variants(executable, settled.graph, target, settled.options);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  log_parts(LogLevel::info, LogChannel::compile, executable.name, ": ",
            counted(executable.kernels.size(), "kernel"), ", ",
            counted(exec::count_usual_launches(executable), "launch", "launches"), " for ",
            target.id(), ", arena ", bytes_text(executable.arena_bytes.usual()), ", compiled in ",
            std::lround(time.count()), " ms");
  return executable;
}

}  // namespace tcc::backends
