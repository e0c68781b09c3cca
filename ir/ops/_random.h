// The random ops share these functions.
#pragma once

#include <cstdint>
#include <string>

#include "ir/op.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_philox.h"

namespace tcc::ir::ops {

// fn(seed, offset, number of the element), f32.
Expr random_element(Fn fn, ElementContext& context, std::span<const SymInt> index);
// Fails unless operand `k`, where it is given, is i64 [2]: what is added to a seed and an offset.
void require_random_state(const InferContext& context, size_t k = 0);

// A float tensor of `size` drawn with (seed, offset), with samples.
OpDef random_op(std::string name, Fn fn, double (*reference)(const RandomStream&, int64_t i),
                std::string doc);

}  // namespace tcc::ir::ops
