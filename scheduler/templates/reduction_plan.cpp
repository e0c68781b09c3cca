#include "scheduler/templates/reduction_plan.h"

#include <algorithm>

#include "scheduler/templates/common.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// The stage of every value: one more than the reductions that it depends on, inside the region.
int stage_of(const Region& region, const ir::Value* value, std::map<const ir::Value*, int>& memo) {
  if (!value || !region.contains(value) || region.slot_of_input(value) >= 0) return 0;
  if (auto found = memo.find(value); found != memo.end()) return found->second;
  int stage = 0;
  for (const ir::Value* input : value->producer->inputs)
    stage = std::max(stage, stage_of(region, input, memo));
  if (value->producer->op->kind == ir::OpKind::reduce) ++stage;
  return memo[value] = stage;
}

// Returns whether neighbouring threads should go along the reduced dims: the largest input has its
// stride of 1 there.
bool reduces_along_memory(const Region& region, const ReductionPlan::Reduction& reduction) {
  Inliner inliner(region);
  std::vector<SymInt> kept, reduced;
  for (const SymInt& e : reduction.dims.kept_extents) kept.push_back(SymInt::axis("k", e));
  for (const SymInt& e : reduction.dims.reduced_extents) reduced.push_back(SymInt::axis("c", e));
  const ir::Value* input = reduction.node->inputs[0];
  // Results of earlier stages are not of interest here.
  for (const ir::Node* node : region.nodes)
    if (node->op->kind == ir::OpKind::reduce)
      inliner.bind(node->outputs[0], [node](std::span<const SymInt>) {
        return ir::read(ir::new_variable("unused", compute_dtype(node->outputs[0]->dtype())));
      });
  Expr body = inliner.value_at(input, join_index(reduction.dims, kept, reduced));
  int64_t best = -1;
  bool inner = true;
  ir::visit(body, [&](const Expr& e) {
    if (e->kind != ir::ExprNode::Kind::load) return;
    int64_t elements =
        region.layout(region.inputs[static_cast<size_t>(e->buffer)]).elements.usual();
    if (elements <= best) return;
    bool along_cols = std::any_of(reduced.begin(), reduced.end(),
                                  [&](const SymInt& a) { return coefficient(e->index, a) == 1; });
    bool along_rows = std::any_of(kept.begin(), kept.end(),
                                  [&](const SymInt& a) { return coefficient(e->index, a) == 1; });
    if (!along_cols && !along_rows) return;
    best = elements;
    inner = along_cols;
  });
  return inner;
}

// The exponentials relative to a row's maximum: exp(x - max).
bool is_exp_below(const Expr& e, const Expr& x, const ir::Variable& max) {
  using ir::ExprNode;
  if (e->kind != ExprNode::Kind::call || e->fn != ir::Fn::exp) return false;
  const Expr& d = e->args[0];
  if (d->kind != ExprNode::Kind::call || d->fn != ir::Fn::sub || d->args[0] != x) return false;
  return d->args[1]->kind == ExprNode::Kind::var && d->args[1]->variable == max;
}

// Returns whether the region's only reductions, of these elements, are a maximum of x and a sum of
// exp(x - maximum), in f32.
bool is_online(const ReductionPlan& plan, const std::vector<Expr>& elements) {
  if (!plan.inner || plan.reductions.size() != 2 || plan.stages != 2) return false;
  const auto &max = plan.reductions[0], &sum = plan.reductions[1];
  return *max.node->op->reduction == ir::ReduceKind::max &&
         *sum.node->op->reduction == ir::ReduceKind::sum && elements[0]->dtype == DType::f32 &&
         sum.result.dtype == DType::f32 && is_exp_below(elements[1], elements[0], max.result);
}

}  // namespace

Expr reduction_body(Inliner& inliner, const ReductionPlan::Reduction& reduction, const SymInt& row,
                    const SymInt& col) {
  std::vector<SymInt> kept = ir::delinearize(row, reduction.dims.kept_extents);
  std::vector<SymInt> reduced = ir::delinearize(col, reduction.dims.reduced_extents);
  return inliner.value_at(reduction.node->inputs[0], join_index(reduction.dims, kept, reduced));
}

std::vector<SymInt> output_base_index(const ReductionPlan& plan,
                                      const ReductionPlan::Output& output, const SymInt& row,
                                      const SymInt& col) {
  const ir::Shape& shape = output.stored.base->shape();
  if (!output.full) return ir::delinearize(row, shape);
  const ReductionDims& dims = plan.reductions[0].dims;
  const ir::Shape& domain = plan.reductions[0].node->inputs[0]->shape();
  std::vector<SymInt> index = join_index(dims, ir::delinearize(row, dims.kept_extents),
                                         ir::delinearize(col, dims.reduced_extents));
  if (shape == domain) return index;
  SymInt linear = ir::linearize(index, domain);
  return ir::delinearize(linear, shape);
}

void bind_reductions(Inliner& inliner, const ReductionPlan& plan, const SymInt& row) {
  for (const auto& reduction : plan.reductions) {
    inliner.bind(reduction.node->outputs[0], [=](std::span<const SymInt> index) -> Expr {
      std::vector<SymInt> kept = kept_index(reduction.node, reduction.dims, index);
      SymInt asked = ir::linearize(kept, reduction.dims.kept_extents);
      if (!(asked == row)) return nullptr;
      return ir::read(reduction.result);
    });
  }
}

OrRefusal<ReductionPlan> plan_reduction(const Region& region) {
  if (!region.anchor || region.anchor->op->kind != ir::OpKind::reduce)
    return Refusal{"it is anchored by no reduction", true};
  ReductionPlan plan;
  std::map<const ir::Value*, int> memo;
  for (const ir::Node* node : region.nodes) {
    if (node->op->kind == ir::OpKind::contraction || node->op->kind == ir::OpKind::scan ||
        node->op->kind == ir::OpKind::sort)
      return Refusal{str(node->op_name(), " beside a reduction")};
    if (node->op->kind != ir::OpKind::reduce) continue;
    int stage = stage_of(region, node->outputs[0], memo) - 1;
    plan.reductions.push_back({node, reduction_dims(node), stage, {}});
    plan.stages = std::max(plan.stages, stage + 1);
  }
  std::stable_sort(plan.reductions.begin(), plan.reductions.end(),
                   [](const auto& a, const auto& b) { return a.stage < b.stage; });
  plan.rows = plan.reductions[0].dims.rows();
  const SymInt cols = plan.reductions[0].dims.cols();
  if (!cols.is_const())
    return Refusal{str(plan.reductions[0].node->op_name(), " of rows of ", cols, " elements")};
  plan.cols = cols.value();
  for (auto& reduction : plan.reductions) {
    if (!(reduction.dims.rows() == plan.rows) || !(reduction.dims.cols() == plan.cols))
      return Refusal{str("reductions of ", plan.rows, " rows of ", plan.cols, " and of ",
                         reduction.dims.rows(), " rows of ", reduction.dims.cols())};
    reduction.result = ir::new_variable(std::string(name(*reduction.node->op->reduction)),
                                        compute_dtype(reduction.node->outputs[0]->dtype()));
  }
  for (const ir::Value* value : region.outputs) {
    ReductionPlan::Output output{value, peel_views(region, value), false};
    const SymInt n = ir::elements_of(value);
    if (n == plan.rows * plan.cols && plan.cols != 1)
      output.full = true;
    else if (!(n == plan.rows))
      return Refusal{str("an output of ", n, " elements is neither one of each of ", plan.rows,
                         " rows nor of each of their ", plan.cols, " columns")};
    // A row's result under a view is stored by the row that has it.
    plan.outputs.push_back(output);
  }
  // Every expression must be about its own row.
  SymInt row = SymInt::axis("row", plan.rows), col = SymInt::axis("col", plan.cols);
  Inliner inliner(region);
  bind_reductions(inliner, plan, row);
  std::vector<Expr> elements;
  for (const auto& reduction : plan.reductions)
    elements.push_back(reduction_body(inliner, reduction, row, col));
  for (const auto& output : plan.outputs)
    inliner.value_at(output.stored.base, output_base_index(plan, output, row, col));
  if (const ir::Value* reduced = inliner.asked_elsewhere())
    return Refusal{
        str("a row needs the result of ", reduced->producer->op_name(), " of another row")};
  plan.inner =
      plan.rows.is(1) || plan.cols == 1 || reduces_along_memory(region, plan.reductions[0]);
  plan.online = is_online(plan, elements);
  return plan;
}

bool waits_for_reduction(const Expr& load) {
  bool waits = false;
  ir::visit(load, [&](const Expr& e) { waits |= e->kind == ir::ExprNode::Kind::var; });
  return waits;
}

}  // namespace tcc::sched
