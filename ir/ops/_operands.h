// Shape rules check their operands with these functions.
#pragma once

#include <string_view>

#include "ir/op.h"

namespace tcc::ir::ops {

// Fails unless operand `k` is a float tensor.
void require_float(const InferContext& context, size_t k = 0);
// Returns whether the two are not known to differ. Symbolic dims whose difference is not known
// count as equal; Graph::bind infers again, with numbers.
bool may_be_equal(const SymInt& a, const SymInt& b);
bool may_be_equal(const Shape& a, const Shape& b);
// The same of a size that `by`, above 0, divides.
bool may_be_divided(const SymInt& size, int64_t by);
// Fails where operand `k`, if given, has another shape by may_be_equal(); `what` names the shape in
// the message.
void require_shape(const InferContext& context, size_t k, const Shape& shape,
                   std::string_view what);

}  // namespace tcc::ir::ops
