#include <algorithm>

#include "ir/ops/_attributes.h"
#include "ir/ops/_sort.h"

namespace tcc::ir::ops::op_argsort {

OpDef make() {
  OpDef op;
  op.name = "argsort";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"dim", AttrType::integer, int64_t{-1}},
              {"descending", AttrType::boolean, false},
              {"stable", AttrType::boolean, false}};
  op.doc = "The indices that `sort` gives; torch.argsort";
  op.tie_sensitive = true;
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const Type& x = *context.inputs[0];
    dim_attr(context, "dim", std::max<int>(1, static_cast<int>(x.shape.size())));
    return {{DType::i64, x.shape}};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    return {sorted_along(b, x, dim_attr(node, "dim", std::max(1, x->rank())),
                         node.attr<bool>("descending"), 0)[1]};
  };
  op.samples = sort_samples(0);
  for (size_t k = 0; k < op.samples.size(); k += 2) op.samples[k].attrs["descending"] = true;
  return op;
}

}  // namespace tcc::ir::ops::op_argsort
