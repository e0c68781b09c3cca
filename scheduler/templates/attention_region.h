// Reads attention out of a region: its axes, and its parts as expressions of them.
#pragma once

#include "scheduler/templates/contraction_plan.h"

namespace tcc::sched {

// Variables stand for what a kernel computes.
struct AttentionVariables {
  ir::Variable raw;     // the product of q and k
  ir::Variable acc;     // an element of the normalised result
  ir::Variable sum;     // a query's log-sum-exp
  ir::Variable weight;  // of a key, as softmax makes it
};

struct AttentionParts {
  // One axis per digit of the batch, outermost first; an axis of extent 1 is the constant 0, and no
  // digit.
  std::vector<SymInt> digits;
  SymInt query, key, depth, depth_v;
  SymInt queries = 1, keys = 1;  // their extents; those of digits, queries and keys may be open
  int64_t depths = 1, depths_v = 1;
  Expr q, k, v;  // at (digits, row, depth)
  const ir::Value *q_value = nullptr, *k_value = nullptr, *v_value = nullptr;  // the operands
  Expr score;                                                                  // of `raw`
  Expr weight;        // what values are multiplied with, of `weight`, and proportional to it
  bool safe = false;  // weights that are NaN become 0
  std::vector<Stored> outputs;  // of `acc`
  std::vector<Stored> sums;     // of `sum`
};

// Refuses regions that are no attention over f32 sums, and that store anything else than elements
// of its result and functions of its log-sum-exp.
OrRefusal<AttentionParts> read_attention(const Region& region, const AttentionVariables& variables);

}  // namespace tcc::sched
