#include <optional>

#include "ir/builder.h"
#include "ir/ops/_movement.h"

namespace tcc::ir::ops::op_reshape {

OpDef make() {
  OpDef op =
      regrouping("reshape",
                 "The same elements, in row-major order, in another shape; one dim may be -1; "
                 "torch.reshape",
                 {size_attr({"shape", AttrType::ints, std::nullopt, {}, true})},
                 [](const InferContext& context) {
                   return resolved_reshape(context, context.inputs[0]->shape,
                                           symint_list(context.node, "shape"));
                 });
  using enum DType;
  op.samples = {{.inputs = {{f32, {2, 3, 4}}}, .attrs = {{"shape", ints({6, 4})}}},
                {.inputs = {{f32, {2, 3, 4}}}, .attrs = {{"shape", ints({4, -1})}}},
                {.inputs = {{f32, {2, 12}}}, .attrs = {{"shape", ints({2, 1, 3, 4})}}},
                {.inputs = {{f32, {6, 35}}}, .attrs = {{"shape", ints({10, 21})}}},
                {.inputs = {{f16, Shape{}}}, .attrs = {{"shape", ints({1, 1})}}},
                {.inputs = {{i64, {1, 1}}}, .attrs = {{"shape", ints({})}}},
                {.inputs = {{f32, {0, 4}}}, .attrs = {{"shape", ints({2, 0, 3})}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_reshape
