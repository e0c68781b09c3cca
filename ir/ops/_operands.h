// Shape rules check their operands with these functions.
#pragma once

#include <string_view>

#include "ir/op.h"

namespace tcc::ir::ops {

// Fails unless operand `k` is a float tensor.
void require_float(const InferContext& context, size_t k = 0);
// Whether no dim of one differs from the other's as a number. Symbolic dims that cannot be told
// apart are taken for equal; Graph::bind infers again, with numbers.
bool may_be_equal(const SymInt& a, const SymInt& b);
bool may_be_equal(const Shape& a, const Shape& b);
// Fails where operand `k`, if given, has another shape by may_be_equal(); `what` names the shape in
// the message.
void require_shape(const InferContext& context, size_t k, const Shape& shape,
                   std::string_view what);

}  // namespace tcc::ir::ops
