#include "scheduler/templates/sort_plan.h"

#include <algorithm>

#include "scheduler/templates/common.h"

namespace tcc::sched {
namespace {

// Elements of a thread that sorts the longest runs, and threads beyond which more do not pay.
constexpr int64_t kItems = 9, kThreads = 256;

int64_t bytes_of(DType key) { return std::max(4, size_bytes(key)); }

}  // namespace

int64_t SortPlan::element_bytes() const { return bytes_of(key) + (carries_places() ? 4 : 0); }

int64_t longest_run(DType key, const Target& target) {
  const int64_t fitting = target.static_shared_bytes() / ((bytes_of(key) + 4) * kItems);
  const int64_t threads = std::min({fitting, int64_t{target.max_workgroup_size}, kThreads});
  return power_of_two_at_most(threads) * kItems;
}

std::optional<SortPlan> plan_sort(const Region& region) {
  if (!region.anchor || region.anchor->op->kind != ir::OpKind::sort) return std::nullopt;
  for (const ir::Node* node : region.nodes)
    if (node != region.anchor && node->op->kind != ir::OpKind::pointwise &&
        node->op->kind != ir::OpKind::view)
      return std::nullopt;
  SortPlan plan;
  plan.node = region.anchor;
  for (const ir::Value* output : region.outputs) {
    if (output->producer != plan.node) return std::nullopt;
    (output->output_index == 0 ? plan.values : plan.indices) = output;
  }
  plan.x = plan.node->inputs[0];
  plan.given = plan.node->inputs.size() > 1 ? plan.node->inputs[1] : nullptr;
  plan.row_shape = const_shape(*plan.x);
  int64_t dim = plan.node->attr<int64_t>("dim");
  if (dim < 0) dim += plan.x->rank();
  plan.dim = static_cast<size_t>(dim);
  plan.extent = plan.row_shape[plan.dim];
  plan.row_shape.erase(plan.row_shape.begin() + dim);
  for (const int64_t d : plan.row_shape) plan.rows *= d;
  const int64_t run = plan.node->attr<int64_t>("run"), keep = plan.node->attr<int64_t>("keep");
  plan.run = run == 0 ? plan.extent : std::min(run, plan.extent);
  plan.keep = keep == 0 ? plan.run : std::min(keep, plan.run);
  plan.sorted = plan.node->attr<int64_t>("sorted");
  if (plan.sorted >= plan.extent) plan.sorted = plan.extent;
  plan.descending = plan.node->attr<bool>("descending");
  plan.key = compute_dtype(plan.x->dtype());
  plan.index = plan.node->attr<DType>("index");
  return plan;
}

}  // namespace tcc::sched
