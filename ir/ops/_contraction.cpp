#include "ir/ops/_contraction.h"

#include "support/error.h"

namespace tcc::ir::ops {

AttrDef out_dtype_attr() {
  return {"out_dtype",
          AttrType::text,
          "none",
          {"none", "f64", "f32", "f16", "bf16", "i32", "i64", "u32", "u64"}};
}

DType contracted_dtype(const InferContext& context) {
  const DType a = context.inputs[0]->dtype, b = context.inputs[1]->dtype;
  const auto& wanted = context.node.attr<std::string>("out_dtype");
  context.require(a != DType::boolean && b != DType::boolean, "bool has no products to sum");
  const bool integers = is_integer(a) && is_integer(b), f8 = is_f8(a) && is_f8(b);
  if (wanted == "none") {
    context.require(!f8, "a product of f8 needs an out_dtype: f32, f16 or bf16");
    context.require(a == b, str("the operands differ in dtype: ", name(a), " and ", name(b),
                                integers ? "; out_dtype would join them" : ""));
    return a;
  }
  context.require(integers || f8,
                  str("out_dtype is for integers and f8, not ", name(a), " and ", name(b)));
  const DType dtype = *parse_dtype(wanted);
  context.require(is_float(dtype) == f8, str("the product of ", name(a), " and ", name(b),
                                             " cannot have out_dtype ", wanted));
  return dtype;
}

}  // namespace tcc::ir::ops
