// Ops with index operands share these helpers.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/op.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_movement.h"

namespace tcc::ir::ops {

// Fails unless `dtype` is i32 or i64.
void require_index(const InferContext& context, std::string_view operand, DType dtype);
// Fails unless the shapes have one rank and `inner` is surely or possibly within `outer` in every
// dim but `except` (-1: all).
void require_covered(const InferContext& context, std::string_view inner_name, const Shape& inner,
                     std::string_view outer_name, const Shape& outer, int except);
// Fails where indices would have to choose from dim `dim` of `x`, which is empty.
void require_not_empty(const InferContext& context, const Shape& x, int dim, const Shape& indices);

// Does what ElementContext::indirect does, in plain numbers: negative indices count from the end,
// and the result is clamped into [0, extent).
int64_t place(int64_t index, int64_t extent);

}  // namespace tcc::ir::ops
