#include <algorithm>

#include "ir/ops/_attributes.h"
#include "ir/ops/_sort.h"

namespace tcc::ir::ops::op_sort {

OpDef make() {
  OpDef op;
  op.name = "sort";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"dim", AttrType::integer, int64_t{-1}},
              {"descending", AttrType::boolean, false},
              {"stable", AttrType::boolean, false}};
  op.results = {"values", "indices"};
  op.doc =
      "x in order along dim, NaN as the greatest, and where each element was; equal elements keep "
      "their order, `stable` or not; torch.sort";
  op.tie_sensitive = true;
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const Type& x = *context.inputs[0];
    dim_attr(context, "dim", std::max<int>(1, static_cast<int>(x.shape.size())));
    return {x, {DType::i64, x.shape}};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    return sorted_along(b, x, dim_attr(node, "dim", std::max(1, x->rank())),
                        node.attr<bool>("descending"), 0);
  };
  op.samples = sort_samples(0);
  for (size_t k = 1; k < op.samples.size(); k += 2) op.samples[k].attrs["descending"] = true;
  using enum DType;
  op.samples.push_back({.inputs = {{f32, {2, 0}}}, .attrs = {{"stable", true}}});
  op.samples.push_back({.inputs = {{f32, {0, 3}}}});
  op.samples.push_back({.inputs = {{f32, Shape{}}}});
  return op;
}

}  // namespace tcc::ir::ops::op_sort
