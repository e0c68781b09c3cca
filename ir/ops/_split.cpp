#include "ir/ops/_split.h"

#include <algorithm>
#include <utility>

#include "support/checked.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

std::vector<Type> infer(const InferContext& context, const SectionsOf& sections) {
  const Type& x = *context.inputs[0];
  const int dim = dim_attr(context, "dim", static_cast<int>(x.shape.size()));
  const SymInt& extent = x.shape[static_cast<size_t>(dim)];
  const Sections result = sections(context.node, extent);
  context.require(result.error.empty(), result.error);
  SymInt total = 0;
  std::vector<Type> types;
  for (const SymInt& size : result.sizes) {
    total = total + size;
    types.push_back(x);
    types.back().shape[static_cast<size_t>(dim)] = size;
    checked_shape(context, types.back().shape);
  }
  context.require((total - extent).range().lo <= 0 && (total - extent).range().hi >= 0,
                  str("sections ", shape_text(result.sizes), " do not add up to dim ", dim, " of ",
                      shape_text(x.shape)));
  return types;
}

SymInt split_extent(const Node& node) {
  const Shape& x = node.inputs[0]->shape();
  return x[static_cast<size_t>(dim_attr(node, "dim", static_cast<int>(x.size())))];
}

}  // namespace

Sections equal_sections(const SymInt& extent, const SymInt& size) {
  constexpr int64_t limit = 1 << 16;
  if (size.range().hi <= 0) return {{}, str("a piece must have a positive size, not ", size)};
  if (extent.is(0)) return {{SymInt(0)}, ""};
  if (!extent.is_const() || !size.is_const())
    return {{}, str("the number of pieces of size ", size, " in ", extent, " is not known")};
  const int64_t count = ceil_div(extent.value(), size.value());
  if (count > limit) return {{}, str("gives ", count, " pieces; the limit is ", limit)};
  Sections result;
  for (int64_t k = 0; k < count; ++k)
    result.sizes.push_back(std::min(size.value(), extent.value() - k * size.value()));
  return result;
}

OpDef split_op(std::string name, std::string doc, SectionsOf sections) {
  OpDef op;
  op.name = std::move(name);
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.doc = std::move(doc);
  op.num_results = [sections](const Node& node) {
    return static_cast<int>(sections(node, split_extent(node)).sizes.size());
  };
  op.infer = [sections](const InferContext& context) { return infer(context, sections); };
  op.compose = [sections](Builder& b, const Node& node) {
    Value* x = node.inputs[0];
    const int64_t dim = dim_attr(node, "dim", x->rank());
    std::vector<Value*> pieces;
    SymInt start = 0;
    for (const SymInt& size : sections(node, split_extent(node)).sizes) {
      pieces.push_back(
          b.op("narrow", {x}, {{"dim", dim}, {"start", Shape{start}}, {"length", Shape{size}}}));
      start = start + size;
    }
    return pieces;
  };
  op.takes_f8 = true;
  return op;
}

}  // namespace tcc::ir::ops
