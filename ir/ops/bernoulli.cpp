#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_operands.h"

namespace tcc::ir::ops::op_bernoulli {

OpDef make() {
  OpDef op;
  op.name = "bernoulli";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"seed", AttrType::integer, int64_t{0}}, {"offset", AttrType::integer, int64_t{0}}};
  op.doc = "1 with probability x, where `rand` is below it, else 0; torch.bernoulli";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    require_float(context);
    return {*context.inputs[0]};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    Attrs attrs = node.attrs;
    attrs["size"] = x->shape();
    return {b.cast(b.op("lt", {b.op("rand", {}, attrs), b.compute(x)}), x->dtype())};
  };
  op.tie_sensitive = true;
  using enum DType;
  op.samples = {{{{f32, {5, 70}}}, {{"seed", 5}}, 0, 1},
                {{{f32, {3, 1}}}, {{"offset", 7}}, 0, 1},
                {{{f16, {0, 4}}}, {}, 0, 1},
                {{{f64, {9}}}, {}, 0, 1}};
  return op;
}

}  // namespace tcc::ir::ops::op_bernoulli
