// How scores between products are computed on matrix units: with fused multiply-adds, and from what
// is the same for all keys of a tile.
#pragma once

#include <optional>

#include "scheduler/templates/attention_plan.h"

namespace tcc::sched {

// The score of a plan where the key is `first + column`, `column` a number that the compiler knows:
// parts that grow linearly with the key are what they are at `first`, which is computed once, plus
// a multiple of the column. Other parts are of plan.key as before. Within 2^-23 of the larger of
// both terms. Where `small` holds, as it may where raw products are up to small_products(), their
// tanh is a polynomial within 2^-20.
Expr score_by_columns(const AttentionPlan& plan, const SymInt& first, const SymInt& column,
                      const Expr& small);

// How large raw products may be, with either sign, for `small` above; nothing where scores have no
// tanh of a multiple of their product.
std::optional<float> small_products(const AttentionPlan& plan);

// The value with products and sums as fused multiply-adds, which round once.
Expr contracted(const Expr& value, const ir::Variable& raw);

}  // namespace tcc::sched
