#include "scheduler/split_reductions.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/builder.h"
#include "ir/passes/graph_rewrite.h"
#include "ir/sizes.h"
#include "scheduler/cost.h"
#include "scheduler/inline.h"
#include "scheduler/limits.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// Elements that one accumulator may sum in a row: rounding grows with its square root.
constexpr int64_t kLongestSum = 512;
// Rows that are cut at all, and the parts of them.
constexpr int64_t kShortest = 2048, kShortestPart = 64;

// The smallest divisor of `cols` that is at least `wanted`, or 1.
int64_t divisor_at_least(int64_t cols, int64_t wanted) {
  for (int64_t d = wanted; d <= std::min(cols / 2, wanted * 8); ++d)
    if (cols % d == 0) return d;
  return 1;
}

// Ways of cutting one reduction into parts.
struct Parts {
  int64_t least = 1;       // that keeps sums short
  int64_t by_default = 1;  // fills the device, too; 1: not cut
  bool fills = true;       // the rows alone keep the device busy
};

bool is_inner(const ReductionDims& dims, int rank) {
  return !dims.reduced.empty() && dims.reduced.back() == rank - 1;
}

bool is_rounded(ir::ReduceKind kind) {
  return kind == ir::ReduceKind::sum || kind == ir::ReduceKind::prod;
}

// A row is cut only if one compute unit takes longer for it than the launch that cutting adds.
bool pays_for_launches(int64_t cols, DType dtype, const Target& target) {
  const auto bytes = static_cast<double>(cols * size_bytes(dtype));
  return bytes > launch_seconds(target) * unit_bandwidth(target);
}

Parts parts_of(const ir::Node* node, const ReductionDims& dims, const Target& target) {
  const int rank = node->inputs[0]->rank();
  int64_t rows = dims.rows().value(), cols = dims.cols().value();
  if (rows == 0 || cols < kShortest) return {};
  const bool inner = is_inner(dims, rank);
  // Accumulators of a row in the reduction template, and workgroups for all rows.
  int64_t accumulators = inner ? 4 * (target.serial_workgroups ? target.subgroup_size : 1024)
                               : (target.serial_workgroups ? 2 : 8);
  // Neighbouring rows that are not contiguous are read in vectors.
  const int64_t neighbours =
      inner || dims.kept_extents.empty() ? 1 : dims.kept_extents.back().value();
  int64_t workgroups = inner ? rows : ceil_div(rows, neighbours % 8 == 0 ? 256 : 32);
  const int64_t of_short_sums = ceil_div(cols, accumulators * kLongestSum);
  int64_t least = is_rounded(*node->op->reduction) ? of_short_sums : 1, wanted = least;
  const bool pays = !inner || pays_for_launches(cols, node->inputs[0]->dtype(), target);
  if (pays && target.serial_workgroups) wanted = of_short_sums;
  // A little less than what fills the device, since a larger divisor is taken.
  if (pays && !target.serial_workgroups && workgroups * 4 < target.compute_units)
    wanted = std::max(wanted,
                      std::min(6 * target.compute_units / workgroups, cols / (inner ? 4096 : 256)));
  return {least, wanted <= 1 ? 1 : divisor_at_least(cols, wanted),
          workgroups >= 4 * target.compute_units};
}

// Finds the reductions whose rows a cluster of workgroups keeps (the reduction template's): read
// once, in one launch.
class Clustered {
 public:
  Clustered(const ir::Graph& graph, const Target& target) : target_(target), uses_(graph.uses()) {}

  bool holds(const ir::Node* reduction) const {
    const ReductionDims dims = reduction_dims(reduction);
    if (target_.max_cluster == 1 || dims.cols().value() > most_kept_columns(target_) ||
        !is_inner(dims, reduction->inputs[0]->rank()))
      return false;
    bool reduced_before = false;
    if (!follows_memory(reduction, dims.cols().value(), reduced_before)) return false;
    // A single row that is read once is shared by all compute units, not by those of one cluster.
    return dims.rows().value() > 1 || reduced_before || is_spread(reduction, dims.cols().value());
  }

 private:
  static bool is_cheap(const ir::Node* node) {
    return node->op->kind == ir::OpKind::pointwise || node->op->kind == ir::OpKind::view;
  }

  // Returns whether the rows lie in memory as they are reduced, as far as the graph shows.
  // `reduced_before` says whether they depend on another reduction of such rows.
  static bool follows_memory(const ir::Node* reduction, int64_t cols, bool& reduced_before) {
    std::set<const ir::Value*> seen;
    std::vector<const ir::Value*> open = {reduction->inputs[0]};
    while (!open.empty()) {
      const ir::Value* value = open.back();
      open.pop_back();
      if (!value || !value->producer || !seen.insert(value).second) continue;
      const ir::Node* node = value->producer;
      if (node->op->kind == ir::OpKind::reduce && reduction_dims(node).cols() == cols)
        reduced_before = true;
      if (node->op_name() == "permute") return false;
      if (is_cheap(node)) open.insert(open.end(), node->inputs.begin(), node->inputs.end());
    }
    return true;
  }

  // The result goes into something as long as the row.
  bool is_spread(const ir::Node* reduction, int64_t cols) const {
    std::set<const ir::Node*> seen;
    std::vector<const ir::Node*> open = {reduction};
    while (!open.empty()) {
      const ir::Node* node = open.back();
      open.pop_back();
      if (!seen.insert(node).second) continue;
      const auto uses = uses_.find(node->outputs[0]);
      if (uses == uses_.end()) continue;
      for (const ir::Node* user : uses->second.nodes) {
        if (!is_cheap(user)) continue;
        if (usual_numel(user->outputs[0]) >= cols) return true;
        open.push_back(user);
      }
    }
    return false;
  }

  const Target& target_;
  std::map<const ir::Value*, ir::Graph::Uses> uses_;
};

// How many parts to cut a reduction into; 1 for none.
int64_t choose_parts(const ir::Node* node, const Target& target, const Plan& plan,
                     const Subgraph& subgraph, const Clustered& clustered) {
  if (node->op->kind != ir::OpKind::reduce || ir::is_arg(*node->op->reduction)) return 1;
  if (!ir::open_dims(node->inputs[0]->shape()).empty()) return 1;
  const ReductionDims dims = reduction_dims(node);
  Parts parts = parts_of(node, dims, target);
  if (parts.by_default > 1 && clustered.holds(node)) parts.by_default = 1;
  if (dims.rows().value() == 0 || dims.cols().value() < kShortest || parts.fills)
    return parts.by_default;
  const int64_t some = parts.by_default;
  PlanSite site;
  site.alternatives = divisors_among({1, 4, 16, 64, 256, some / 2, some, 2 * some},
                                     dims.cols().value(), std::min(parts.least, some),
                                     std::max(some, dims.cols().value() / kShortestPart));
  if (site.alternatives.size() < 2) return some;
  site.kind = "split_reduction";
  site.key = subgraph.key({&node, 1});
  site.default_choice = some;
  site.description =
      str(node->op_name(), " of ", dims.rows().value(), " rows of ", dims.cols().value(), " ",
          name(node->inputs[0]->dtype()), ": parts of a row");
  return plan.choose(site);
}

// The reduction of `count` parts of a row, then of their results, in place of `node`.
ir::Value* split(ir::Builder& b, const ir::Node& node, int64_t count) {
  const ReductionDims dims = reduction_dims(&node);
  std::vector<int64_t> order(dims.kept.begin(), dims.kept.end());
  order.insert(order.end(), dims.reduced.begin(), dims.reduced.end());
  // Neighbouring rows stay neighbours: the parts are the outermost rows where a row is not
  // contiguous, the innermost where it is.
  const bool inner = is_inner(dims, node.inputs[0]->rank());
  const auto kept = static_cast<std::ptrdiff_t>(dims.kept.size());
  if (!inner) std::rotate(order.begin(), order.begin() + kept, order.end());
  ir::Value* x = b.permute(b.compute(node.inputs[0]), order);  // parts are not rounded to 16 bits
  ir::Shape shape = {count, dims.cols().value() / count};
  shape.insert(inner ? shape.begin() : shape.end(), dims.kept_extents.begin(),
               dims.kept_extents.end());
  x = b.reshape(x, shape);
  const int64_t part = inner ? kept : 0;
  x = b.reduce(node.op_name(), x, {part + 1});
  x = b.reduce(node.op_name(), x, {part});
  return b.cast(b.reshape(x, node.outputs[0]->shape()), node.outputs[0]->dtype());
}

}  // namespace

void split_reductions(ir::Graph& graph, const Target& target, const Plan& plan,
                      const std::set<const ir::Node*>& kept) {
  std::map<const ir::Node*, int64_t> parts;
  const Subgraph subgraph(graph);
  const Clustered clustered(graph, target);
  for (const auto& node : graph.nodes())
    parts[node.get()] =
        kept.contains(node.get()) ? 1 : choose_parts(node.get(), target, plan, subgraph, clustered);
  ir::rewrite_nodes(graph, [&](ir::Builder& b, const ir::Node& node) -> ir::Replacement {
    const int64_t count = parts.at(&node);
    return count == 1 ? ir::Replacement{} : ir::Replacement{split(b, node, count)};
  });
}

}  // namespace tcc::sched
