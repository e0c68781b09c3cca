// The steps between the products of attention as one mask operand.
#pragma once

#include "ir/builder.h"
#include "ir/passes/attention_scores.h"

namespace tcc::ir {

struct AttentionMask {
  Value* operand = nullptr;  // null: every query sees every key, or is_causal
  bool is_causal = false;
};

// `wide` is the dtype that the scores are computed in. Rows in which everything is hidden by a low
// number stay uniform; where -inf hides it, they are NaN as before.
AttentionMask attention_mask(Builder& b, const AttentionScores& scores, DType wide,
                             KnownValues& known);

}  // namespace tcc::ir
