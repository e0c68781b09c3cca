#include "scheduler/templates/sort_plan.h"

#include <algorithm>

#include "scheduler/templates/common.h"
#include "support/checked.h"

namespace tcc::sched {
int64_t SortPlan::element_bytes() const {
  return sorted_key_bytes(key) + (carries_places() ? 4 : 0);
}

OrRefusal<SortPlan> plan_sort(const Region& region) {
  if (!region.anchor || region.anchor->op->kind != ir::OpKind::sort)
    return Refusal{"it is anchored by no sort", true};
  for (const ir::Node* node : region.nodes)
    if (node != region.anchor && node->op->kind != ir::OpKind::pointwise &&
        node->op->kind != ir::OpKind::view)
      return Refusal{str(node->op_name(), " beside a sort")};
  SortPlan plan;
  plan.node = region.anchor;
  for (const ir::Value* output : region.outputs) {
    if (output->producer != plan.node) return Refusal{"an output is made of what is sorted"};
    (output->output_index == 0 ? plan.values : plan.indices) = output;
  }
  plan.x = plan.node->inputs[0];
  plan.given = plan.node->inputs.size() > 1 ? plan.node->inputs[1] : nullptr;
  plan.row_shape = plan.x->shape();
  int64_t dim = plan.node->attr<int64_t>("dim");
  if (dim < 0) dim += plan.x->rank();
  plan.dim = static_cast<size_t>(dim);
  plan.extent = plan.row_shape[plan.dim];
  plan.row_shape.erase(plan.row_shape.begin() + dim);
  plan.rows = ir::product(plan.row_shape);
  const int64_t run = plan.node->attr<int64_t>("run"), keep = plan.node->attr<int64_t>("keep");
  const auto [least, most] = plan.extent.range();
  if (keep > least && !plan.extent.is_const())
    return Refusal{str("it keeps ", keep, " elements of a row that may have ", least)};
  plan.run = run == 0 ? most : std::min(run, most);
  plan.keep = keep == 0 ? plan.run : std::min(keep, plan.run);
  if (plan.run > 0)
    plan.runs = plan.extent.is_const() ? SymInt(ceil_div(most, plan.run)) : SymInt(1);
  plan.sorted = std::min(plan.node->attr<int64_t>("sorted"), most);
  plan.descending = plan.node->attr<bool>("descending");
  plan.key = compute_dtype(plan.x->dtype());
  plan.index = plan.node->attr<DType>("index");
  return plan;
}

SymInt SortPlan::kept() const {
  if (keep == run) return extent;
  return ir::floordiv(extent, run) * keep + ir::min(ir::mod(extent, run), keep);
}

SymInt SortPlan::bytes() const {
  const int64_t element = size_bytes(key) + (carries_places() ? 4 : 0);
  return rows * (extent + kept()) * element;
}

std::vector<SortPlan> sort_steps(const SortPlan& plan, int64_t longest) {
  std::vector<SortPlan> steps;
  const int64_t most = plan.extent.range().hi, keep = plan.keep;
  // The steps of a top-k leave a quarter or less each.
  const bool selects = keep <= longest / 4;
  SortPlan step = plan;
  for (int64_t longest_row = most, sorted = 0;;) {
    step.sorted = selects ? 0 : sorted;
    step.run = step.sorted == 0 ? longest : 2 * sorted;
    step.keep = std::min(keep, step.run);
    step.runs = ir::max(ir::ceildiv(step.extent, step.run), 1);
    step.step = std::ssize(steps);
    steps.push_back(step);
    if (longest_row <= step.run) break;
    // One more, where the runs of this one are several.
    step.needed = ir::min(ir::floordiv(ir::max(step.extent, 1) - 1, step.run), 1);
    step.extent = step.kept();
    longest_row = longest_row / step.run * step.keep + std::min(longest_row % step.run, step.keep);
    sorted = step.keep;
  }
  for (SortPlan& one : steps) {
    one.steps = std::ssize(steps);
    one.stride = steps.size() > 1 ? steps[1].extent : SymInt(0);
  }
  return steps;
}

}  // namespace tcc::sched
