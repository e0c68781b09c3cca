#include <type_traits>

#include "ir/builder.h"
#include "ir/op.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_vecdot {
namespace {

std::vector<Type> infer(const InferContext& context) {
  const Type &x = *context.inputs[0], &y = *context.inputs[1];
  context.require(
      x.dtype == y.dtype && x.dtype != DType::boolean,
      str("x and y must be numbers of one dtype, not ", name(x.dtype), " and ", name(y.dtype)));
  Shape shape = context.broadcast(x.shape, y.shape);
  context.require(!shape.empty(), "the operands must have a dim");
  const int dim = dim_attr(context, "dim", static_cast<int>(shape.size()));
  shape.erase(shape.begin() + dim);
  return {{x.dtype, shape}};
}

size_t reduced_dim(const Node& node) {
  const int rank = static_cast<int>(node.outputs[0]->shape().size()) + 1;
  return static_cast<size_t>(dim_attr(node, "dim", rank));
}

std::vector<Value*> compose(Builder& b, const Node& node) {
  const auto dim = static_cast<int64_t>(reduced_dim(node));
  const DType dtype = node.outputs[0]->dtype();
  Value* product = b.mul(b.compute(node.inputs[0]), b.compute(node.inputs[1]));
  return {b.cast(b.reduce("sum", product, {dim}), dtype)};
}

// Strides of `x` by the dims of the common shape: 0 where it is broadcast.
std::vector<int64_t> common_strides(const RefTensor& x, size_t rank) {
  std::vector<int64_t> strides(rank, 0), own = strides_of(x.shape);
  for (size_t d = 0; d < own.size(); ++d)
    if (x.shape[d] != 1) strides[rank - own.size() + d] = own[d];
  return strides;
}

void reference(EvalContext& context) {
  const RefTensor &x = *context.inputs[0], &y = *context.inputs[1];
  RefTensor& out = context.outputs[0];
  const size_t rank = out.shape.size() + 1, dim = reduced_dim(context.node);
  const std::vector<int64_t> x_strides = common_strides(x, rank),
                             y_strides = common_strides(y, rank);
  const auto extent_of = [&](const RefTensor& tensor) {
    const size_t missing = rank - tensor.shape.size();
    return dim < missing ? 1 : tensor.shape[dim - missing];
  };
  const int64_t extent = extent_of(x) == 1 ? extent_of(y) : extent_of(x);
  const auto dot = [&](const auto& a, const auto& b, std::span<const int64_t> index) {
    int64_t at_a = 0, at_b = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      const size_t common = d < dim ? d : d + 1;
      at_a += index[d] * x_strides[common];
      at_b += index[d] * y_strides[common];
    }
    // Sums of integers wrap.
    using Element = std::decay_t<decltype(a[0])>;
    using Sum = std::conditional_t<std::is_same_v<Element, int64_t>, uint64_t, double>;
    Sum sum = 0;
    for (int64_t k = 0; k < extent; ++k, at_a += x_strides[dim], at_b += y_strides[dim])
      sum += static_cast<Sum>(a[static_cast<size_t>(at_a)]) *
             static_cast<Sum>(b[static_cast<size_t>(at_b)]);
    return static_cast<Element>(sum);
  };
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    const auto at = static_cast<size_t>(offset);
    if (out.is_float())
      out.f[at] = extent == 0 ? 0 : dot(x.f, y.f, index);
    else
      out.i[at] = extent == 0 ? 0 : dot(x.i, y.i, index);
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "vecdot";
  op.kind = OpKind::composite;
  op.operands = {"x", "y"};
  op.attrs = {{"dim", AttrType::integer, int64_t{-1}}};
  op.doc = "The sum over dim of x * y, which are broadcast; torch.linalg.vecdot";
  op.infer = infer;
  op.compose = compose;
  op.reference = reference;
  using enum DType;
  op.samples = {{{{f32, {5, 33}}, {f32, {5, 33}}}},
                {{{f32, {3, 1, 40}}, {f32, {7, 40}}}},
                {{{f32, {4, 6, 5}}, {f32, {6, 1}}}, {{"dim", 1}}},
                {{{f16, {130}}, {f16, {130}}}},
                {{{i32, {2, 1, 9}}, {i32, {1, 3, 9}}}},
                {{{f64, {2, 8}}, {f64, {8}}}},
                {{{f32, {3, 0}}, {f32, {3, 0}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_vecdot
