#include <optional>

#include "ir/ops/_movement.h"

namespace tcc::ir::ops::op_unsqueeze {

OpDef make() {
  OpDef op =
      regrouping("unsqueeze", "x with a dim of extent 1 put in at `dim`; torch.unsqueeze",
                 {{"dim", AttrType::integer, std::nullopt}}, [](const InferContext& context) {
                   Shape shape = context.inputs[0]->shape;
                   const int dim = dim_attr(context, "dim", static_cast<int>(shape.size()) + 1);
                   shape.insert(shape.begin() + dim, 1);
                   return shape;
                 });
  using enum DType;
  op.samples = {{.inputs = {{f32, {3, 5}}}, .attrs = {{"dim", 1}}},
                {.inputs = {{f32, {3, 5}}}, .attrs = {{"dim", -1}}},
                {.inputs = {{f32, Shape{}}}, .attrs = {{"dim", 0}}},
                {.inputs = {{i32, {0}}}, .attrs = {{"dim", 0}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_unsqueeze
