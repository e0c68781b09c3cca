#include "scheduler/split_reduction.h"

#include <algorithm>

#include "scheduler/inline.h"

namespace tcc::sched {

ir::Replacement split_reduction(ir::Builder& b, const ir::Node& node, int64_t parts) {
  const ReductionDims dims = reduction_dims(&node);
  std::vector<int64_t> order(dims.kept.begin(), dims.kept.end());
  order.insert(order.end(), dims.reduced.begin(), dims.reduced.end());
  // Neighbouring rows stay neighbours: the parts are the outermost rows where a row is not
  // contiguous, the innermost where it is.
  const bool inner = dims.reduces_innermost();
  const auto kept = static_cast<std::ptrdiff_t>(dims.kept.size());
  if (!inner) std::rotate(order.begin(), order.begin() + kept, order.end());
  ir::Value* x = b.permute(b.compute(node.inputs[0]), order);
  ir::Shape shape = {parts, dims.cols().value() / parts};
  shape.insert(inner ? shape.begin() : shape.end(), dims.kept_extents.begin(),
               dims.kept_extents.end());
  x = b.reshape(x, shape);
  const int64_t part = inner ? kept : 0;
  x = b.reduce(node.op_name(), x, {part + 1});
  x = b.reduce(node.op_name(), x, {part});
  return {b.cast(b.reshape(x, node.outputs[0]->shape()), node.outputs[0]->dtype())};
}

}  // namespace tcc::sched
