#include "ir/ops/_operands.h"

#include <algorithm>

#include "ir/assumed_equal.h"
#include "ir/ops/_attributes.h"
#include "support/error.h"

namespace tcc::ir::ops {

void require_float(const InferContext& context, size_t k) {
  const Type* type = context.inputs[k];
  if (!type || is_float(type->dtype)) return;
  context.fail(str("operand ", k, " must be a float tensor, not ", to_string(*type)));
}

bool may_be_equal(const SymInt& a, const SymInt& b) {
  if (a == b) return true;
  if (a.is_const() && b.is_const()) return false;
  assume_equal(a, b);
  return true;
}

bool may_be_equal(const Shape& a, const Shape& b) {
  return std::ranges::equal(a, b,
                            [](const SymInt& x, const SymInt& y) { return may_be_equal(x, y); });
}

bool may_be_divided(const SymInt& size, int64_t by) {
  return size.divisible_by(by) || may_be_equal(mod(size, by), 0);
}

void require_shape(const InferContext& context, size_t k, const Shape& shape,
                   std::string_view what) {
  const Type* type = k < context.inputs.size() ? context.inputs[k] : nullptr;
  if (!type || may_be_equal(type->shape, shape)) return;
  context.fail(str("operand ", k, " has the shape ", shape_text(type->shape), "; ", what, " is ",
                   shape_text(shape)));
}

}  // namespace tcc::ir::ops
