#include "ir/ops/_creation.h"
#include "ir/ops/_elementwise.h"
#include "ir/ops/_movement.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_cat {
namespace {

// Returns the begin of each operand along the joined dim, and the total at the end.
std::vector<SymInt> boundaries(const Node& node, int dim) {
  std::vector<SymInt> result = {0};
  for (const Value* x : node.inputs)
    result.push_back(result.back() + x->shape()[static_cast<size_t>(dim)]);
  return result;
}

std::vector<Type> infer(const InferContext& context) {
  Type out = *context.inputs[0];
  const int rank = static_cast<int>(out.shape.size());
  const int joined = dim_attr(context, "dim", rank);
  for (const Type* x : context.inputs.subspan(1)) {
    out.dtype = promote(out.dtype, x->dtype);
    bool fits = x->shape.size() == out.shape.size();
    for (int d = 0; fits && d < rank; ++d) {
      const auto at = static_cast<size_t>(d);
      if (d == joined)
        out.shape[at] = out.shape[at] + x->shape[at];
      else
        fits = may_be_equal(out.shape[at], x->shape[at]);
    }
    context.require(fits, str("shapes ", shape_text(context.inputs[0]->shape), " and ",
                              shape_text(x->shape), " differ beyond dim ", joined));
  }
  checked_shape(context, out.shape);
  return {out};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Node& node = context.node();
  const DType dtype = node.outputs[0]->dtype();
  const auto dim = static_cast<size_t>(dim_attr(node, "dim", static_cast<int>(index.size())));
  const auto begin = boundaries(node, static_cast<int>(dim));
  Expr result;
  for (size_t k = node.inputs.size(); k-- > 0;) {
    const SymInt& extent = node.inputs[k]->shape()[dim];
    if (extent.is(0)) continue;
    // Every operand is read for every element, so that the index must be in range for all of them.
    std::vector<SymInt> source(index.begin(), index.end());
    source[dim] = clamped_index(index[dim] - begin[k], extent);
    const Expr value = converted(context.operand(static_cast<int>(k), source), dtype);
    result = result ? select(index_less(index[dim], begin[k + 1]), value, result) : value;
  }
  return result ? result : constant_of(dtype, 0);
}

void reference(EvalContext& context) {
  RefTensor& out = context.outputs[0];
  const auto dim =
      static_cast<size_t>(dim_attr(context.node, "dim", static_cast<int>(out.shape.size())));
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    std::vector<int64_t> from(index.begin(), index.end());
    size_t k = 0;
    while (from[dim] >= context.inputs[k]->shape[dim]) from[dim] -= context.inputs[k++]->shape[dim];
    const RefTensor& x = *context.inputs[k];
    const int64_t source = offset_of(from, x.shape);
    if (out.is_float())
      out.f[static_cast<size_t>(offset)] = float_at(x, source);
    else
      copy_element(x, source, out, offset);
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "cat";
  op.operands = {"xs..."};
  op.attrs = {{"dim", AttrType::integer, int64_t{0}}};
  op.doc = "Tensors one after the other along `dim`; torch.cat";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  op.takes_f8 = true;
  using enum DType;
  op.samples = {
      {.inputs = {{f32, {2, 3}}, {f32, {4, 3}}}},
      {.inputs = {{f32, {2, 3, 4}}, {f32, {2, 1, 4}}, {f32, {2, 5, 4}}}, .attrs = {{"dim", 1}}},
      {.inputs = {{f32, {3, 5}}, {f16, {3, 2}}}, .attrs = {{"dim", -1}}},
      {.inputs = {{f32, {3, 0}}, {f32, {3, 4}}}, .attrs = {{"dim", 1}}},
      {.inputs = {{i32, {7}}}},
      {.inputs = {{i32, {3}}, {f32, {2}}}},
      {.inputs = {{f8e4m3, {3, 5}}, {f8e4m3, {2, 5}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_cat
