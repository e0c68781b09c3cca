#include "scheduler/split_reductions.h"

#include <algorithm>

#include "ir/builder.h"
#include "scheduler/inline.h"
#include "support/checked.h"

namespace tcc::sched {
namespace {

// Elements that one accumulator may sum in a row: rounding grows with its square root.
constexpr int64_t kLongestSum = 512;

// The smallest divisor of `cols` that is at least `wanted`, or 1.
int64_t divisor_at_least(int64_t cols, int64_t wanted) {
  for (int64_t d = wanted; d <= std::min(cols / 2, wanted * 8); ++d)
    if (cols % d == 0) return d;
  return 1;
}

// How many parts to cut a reduction into; 1 for none.
int64_t parts(const ReductionDims& dims, int rank, const Target& target) {
  int64_t rows = dims.rows(), cols = dims.cols();
  if (rows == 0 || cols < 2048) return 1;
  bool inner = !dims.reduced.empty() && dims.reduced.back() == rank - 1;
  // Accumulators of a row in the reduction template, and workgroups for all rows.
  int64_t accumulators =
      inner ? 4 * (target.is_cpu ? target.subgroup_size : 1024) : (target.is_cpu ? 2 : 8);
  int64_t workgroups = inner ? rows : ceil_div(rows, 32);
  int64_t wanted = ceil_div(cols, accumulators * kLongestSum);
  if (!target.is_cpu && workgroups * 4 < target.compute_units)
    wanted = std::max(wanted,
                      std::min(2 * target.compute_units / workgroups, cols / (inner ? 4096 : 256)));
  return wanted <= 1 ? 1 : divisor_at_least(cols, wanted);
}

}  // namespace

void split_reductions(ir::Graph& graph, const Target& target) {
  // New nodes go to the end; the order is restored at once, by rebuilding the list.
  std::vector<std::unique_ptr<ir::Node>> old = std::move(graph.nodes());
  graph.nodes().clear();
  for (auto& node : old) {
    bool reduces = node->op->kind == ir::OpKind::reduce && !ir::is_arg(*node->op->reduction);
    int64_t count = 1;
    ReductionDims dims;
    if (reduces) {
      dims = reduction_dims(node.get());
      count = parts(dims, node->inputs[0]->rank(), target);
    }
    if (count == 1) {
      graph.nodes().push_back(std::move(node));
      continue;
    }
    ir::Builder b(graph);
    b.set_location(node->location);
    std::vector<int64_t> order(dims.kept.begin(), dims.kept.end());
    order.insert(order.end(), dims.reduced.begin(), dims.reduced.end());
    ir::Value* x =
        b.permute(b.compute(node->inputs[0]), order);  // parts are not rounded to 16 bits
    ir::Shape shape(dims.kept_extents.begin(), dims.kept_extents.end());
    shape.push_back(count);
    shape.push_back(dims.cols() / count);
    x = b.reshape(x, shape);
    auto last = static_cast<int64_t>(shape.size()) - 1;
    x = b.reduce(node->op_name(), x, {last});
    x = b.reduce(node->op_name(), x, {last - 1});
    x = b.cast(b.reshape(x, node->outputs[0]->shape()), node->outputs[0]->dtype());
    graph.replace_uses(node->outputs[0], x);
    // `node` itself has no users left; keep it until dead code is removed, since values point to
    // it.
    for (auto& later : old)
      if (later)
        for (ir::Value*& input : later->inputs)
          if (input == node->outputs[0]) input = x;
    graph.nodes().push_back(std::move(node));
  }
  graph.remove_dead();
}

}  // namespace tcc::sched
