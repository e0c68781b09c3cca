#include "ir/ops/_contraction.h"

#include "support/error.h"

namespace tcc::ir::ops {

AttrDef out_dtype_attr() {
  return {"out_dtype", AttrType::text, "none", {"none", "i32", "i64", "u32", "u64"}};
}

DType contracted_dtype(const InferContext& context) {
  const DType a = context.inputs[0]->dtype, b = context.inputs[1]->dtype;
  const auto& wanted = context.node.attr<std::string>("out_dtype");
  context.require(a != DType::boolean && b != DType::boolean, "bool has no products to sum");
  if (wanted == "none") {
    context.require(a == b,
                    str("the operands differ in dtype: ", name(a), " and ", name(b),
                        is_integer(a) && is_integer(b) ? "; out_dtype would join them" : ""));
    return a;
  }
  context.require(is_integer(a) && is_integer(b),
                  str("out_dtype is for integers, not ", name(a), " and ", name(b)));
  return *parse_dtype(wanted);
}

}  // namespace tcc::ir::ops
