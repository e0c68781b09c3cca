#include "ir/ops/_triangle.h"

#include <utility>

#include "ir/ops/_movement.h"
#include "support/error.h"

namespace tcc::ir::ops {

OpDef triangle(std::string name, std::string doc) {
  OpDef op;
  op.name = std::move(name);
  op.operands = {"x"};
  op.attrs = {{"diagonal", AttrType::integer, int64_t{0}}};
  op.doc = std::move(doc);
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const Type& x = *context.inputs[0];
    context.require(x.shape.size() >= 2, "x must have two dims or more");
    const int64_t diagonal = context.node.attr<int64_t>("diagonal");
    context.require(diagonal > -kUnbounded && diagonal < kUnbounded,
                    str("diagonal ", diagonal, " is too far"));
    return {x};
  };
  op.takes_f8 = true;
  using enum DType;
  op.samples = {{.inputs = {{f32, {5, 7}}}},
                {.inputs = {{f32, {2, 3, 3}}}, .attrs = {{"diagonal", 1}}},
                {.inputs = {{f16, {6, 4}}}, .attrs = {{"diagonal", -2}}},
                {.inputs = {{i32, {0, 3}}}},
                {.inputs = {{boolean, {3, 3}}}, .int_hi = 2}};
  return op;
}

void copy_where(EvalContext& context, const std::function<bool(int64_t column_less_row)>& keep) {
  RefTensor& out = context.outputs[0];
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    if (keep(index[index.size() - 1] - index[index.size() - 2]))
      copy_element(*context.inputs[0], offset, out, offset);
  });
}

}  // namespace tcc::ir::ops
