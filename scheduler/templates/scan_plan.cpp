#include "scheduler/templates/scan_plan.h"

#include "scheduler/templates/common.h"

namespace tcc::sched {
std::vector<SymInt> ScanPlan::index_of(const SymInt& line, const SymInt& position) const {
  if (node->outputs[0]->rank() == 0) return {};
  std::vector<SymInt> index = ir::delinearize(line, line_shape);
  index.insert(index.begin() + static_cast<std::ptrdiff_t>(dim), position);
  return index;
}

void bind_scan(Inliner& inliner, const ScanPlan& plan, const std::vector<SymInt>& index,
               const Expr& value) {
  inliner.bind(plan.node->outputs[0], [=](std::span<const SymInt> asked) -> Expr {
    for (size_t d = 0; d < asked.size(); ++d)
      if (!(asked[d] == index[d])) return nullptr;
    return value;
  });
}

OrRefusal<ScanPlan> plan_scan(const Region& region) {
  if (!region.anchor || region.anchor->op->kind != ir::OpKind::scan)
    return Refusal{"it is anchored by no scan", true};
  for (const ir::Node* node : region.nodes)
    if (node != region.anchor && node->op->kind != ir::OpKind::pointwise &&
        node->op->kind != ir::OpKind::view)
      return Refusal{str(node->op_name(), " beside a scan")};
  ScanPlan plan;
  plan.node = region.anchor;
  const ir::Value* result = plan.node->outputs[0];
  if (result->rank() > 0) {  // a value without dims is a line of one element
    int64_t dim = plan.node->attr<int64_t>("dim");
    if (dim < 0) dim += result->rank();
    plan.dim = static_cast<size_t>(dim);
    plan.length = result->shape()[plan.dim];
    plan.line_shape = result->shape();
    plan.line_shape.erase(plan.line_shape.begin() + dim);
    plan.lines = ir::product(plan.line_shape);
  }
  plan.exclusive = plan.node->attr<bool>("exclusive");
  plan.reverse = plan.node->attr<bool>("reverse");
  plan.dtype = compute_dtype(result->dtype());
  for (const ir::Value* value : region.outputs) {
    ScanPlan::Output output{value, peel_views(region, value, result)};
    if (output.stored.base->shape() != result->shape())
      return Refusal{"an output of another shape than the scan's"};
    plan.outputs.push_back(output);
  }
  if (plan.outputs.empty()) return Refusal{"nothing of the scan is stored"};
  if (plan.is_empty()) return plan;  // there are no elements to ask for
  const SymInt line = SymInt::axis("line", plan.lines),
               position = SymInt::axis("position", plan.length);
  const std::vector<SymInt> index = plan.index_of(line, position);
  Inliner inliner(region, Inliner::Lacking::is_noted);
  bind_scan(inliner, plan, index, ir::read(ir::new_variable("scanned", plan.dtype)));
  for (const auto& output : plan.outputs) inliner.value_at(output.stored.base, index);
  if (inliner.asked_elsewhere())
    return Refusal{"an output needs other elements of the scan than its own"};
  // Elements of a line are neighbours in memory if those of the first output are.
  const auto neighbours = [&](const SymInt& offset) {
    return !plan.length.is(1) && coefficient(offset, position) == 1;
  };
  const auto& first = plan.outputs[0];
  plan.along_memory =
      plan.lines.is(1) ||
      neighbours(region.layout(first.value).offset(first.stored.output_index(index)));
  return plan;
}

}  // namespace tcc::sched
