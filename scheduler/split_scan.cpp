#include "scheduler/split_scan.h"

#include "support/checked.h"

namespace tcc::sched {
namespace {

size_t dim_of(const ir::Node& node) {
  const int64_t dim = node.attr<int64_t>("dim");
  return static_cast<size_t>(dim < 0 ? dim + node.inputs[0]->rank() : dim);
}

}  // namespace

ir::Replacement split_scan(ir::Builder& b, const ir::Node& node, int64_t parts) {
  const size_t dim = dim_of(node);
  const auto along = static_cast<int64_t>(dim);
  const bool sums = *node.op->reduction == ir::ReduceKind::sum;
  const ir::Type& out = node.outputs[0]->type;
  ir::Value* x = b.cast(node.inputs[0], compute_dtype(out.dtype));  // parts keep their digits
  const int64_t length = x->shape()[dim].value(), part = ceil_div(length, parts);
  const bool padded = part * parts != length, reverse = node.attr<bool>("reverse");
  if (padded) {  // by what changes nothing; behind the end, or before the beginning
    std::vector<int64_t> pads(2 * static_cast<size_t>(x->rank()), 0);
    const size_t last = 2 * (static_cast<size_t>(x->rank()) - 1 - dim);  // the last dim comes first
    pads[last + (reverse ? 0 : 1)] = part * parts - length;
    x = b.op("pad", {x}, {{"pad", ir::ints(pads)}, {"value", sums ? 0.0 : 1.0}});
  }
  ir::Shape shape = x->shape();
  shape[dim] = part;
  shape.insert(shape.begin() + along, parts);
  x = b.reshape(x, shape);
  ir::Value* totals = b.reduce(sums ? "sum" : "prod", x, {along + 1}, true);
  ir::Value* before =
      b.op(node.op->name, {totals}, {{"dim", along}, {"exclusive", true}, {"reverse", reverse}});
  ir::Attrs attrs = node.attrs;
  attrs["dim"] = along + 1;
  ir::Value* scanned = b.op(node.op->name, {x}, attrs);
  ir::Value* joined = sums ? b.add(scanned, before) : b.mul(scanned, before);
  ir::Shape whole = out.shape;
  whole[dim] = part * parts;
  joined = b.reshape(b.cast(joined, out.dtype), whole);
  if (!padded) return {joined};
  const int64_t first = reverse ? part * parts - length : 0;
  return {b.slice(joined, along, first, first + length)};
}

}  // namespace tcc::sched
