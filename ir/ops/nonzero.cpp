#include "ir/counted_dims.h"
#include "ir/ops/_counted.h"
#include "ir/size_range.h"

namespace tcc::ir::ops::op_nonzero {

OpDef make() {
  OpDef op;
  op.name = "nonzero";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {counted_size_attr()};
  op.doc =
      "The indices of the elements that are not zero, row-major, one row of indices an element: "
      "i64 "
      "[size, rank]; each run counts them and gives the dim `size` their number; torch.nonzero";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    return {{DType::i64, {counted_size(context), SymInt(std::ssize(context.inputs[0]->shape))}}};
  };
  op.most_counted = [](const Node& node) { return product(node.inputs[0]->shape()); };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    const SymInt count = product(x->shape()), size = size_of(node);
    Value* flags = b.cast(b.reshape(x, {count}), DType::boolean);
    Value* places = places_of(b, flags, size);
    std::vector<Value*> columns;
    const std::vector<SymInt> strides = row_major_strides(x->shape());
    for (size_t d = 0; d < x->shape().size(); ++d) {
      const auto number = [&](const SymInt& value) {
        return b.op("size_value", {}, {{"size", shape_attr({max(value, 1)})}});
      };
      Value* index = b.op("floor_divide", {places, number(strides[d])});
      if (d > 0) index = b.op("remainder", {index, number(x->shape()[d])});
      columns.push_back(index);
    }
    if (columns.empty()) return {b.splat(DType::i64, {size, 0}, 0)};
    return {b.op("stack", columns, {{"dim", int64_t{1}}})};
  };
  using enum DType;
  const Attrs size = {{"size", shape_attr({SymInt::symbol("N")})}};
  const auto sample = [&](DType dtype, const Shape& shape) {
    return OpSample{.inputs = {{dtype, shape}}, .attrs = size, .int_hi = 2};
  };
  op.samples = {sample(i32, {3, 5}),       sample(boolean, {17}), sample(i64, {2, 3, 2}),
                sample(u8, {1, 1, 1, 70}), sample(f32, {2, 3}),   sample(f16, {3}),
                sample(i32, {0, 4}),       sample(boolean, {}),   sample(i32, {40, 40})};
  return op;
}

}  // namespace tcc::ir::ops::op_nonzero
