// The steps of a recurrent layer behind the projection of its input: lstm_steps, gru_steps,
// rnn_steps and dynamic_quantized_lstm_steps, which has one direction. A kernel template may take
// all of them as one kernel (ir/recurrent.h); elsewhere they are unrolled.
#pragma once

#include <string>
#include <vector>

#include "ir/ops/_recurrent.h"

namespace tcc::ir::ops {

// Operands of the ops; all but the first two may be omitted.
enum StepOperand : size_t {
  kProjected,  // [T, B, D * gates * H]
  kStepWeight,
  kStepBias,  // [D, gates * H]: where it is not part of the projection
  kStepLengths,
  kStepHidden,  // [D, B, H], as the next
  kStepCell,
  kStepPeepholes,
  // Where weights are quantized: [1] or [gates * H] each.
  kStepWeightScale,
  kStepWeightZero
};

// The loop over time, unrolled.
struct RecurrentLoop {
  // `inputs` are those of the ops above, of which the cell's products are not set; results are of
  // `dtype`.
  RecurrentLoop(Builder& b, const std::vector<Value*>& inputs, DType dtype,
                const std::string& direction);

  bool has_few_rows() const;
  // out [T, D, B, H] and the last states, [D, B, H] each.
  std::vector<Value*> unroll(const Node& node, const RecurrentOp& spec);

  RecurrentCell cell;

 private:
  bool is_backwards(int64_t d) const { return reverse_ || d == 1; }
  // Returns the position in time of direction `d` at step `k`.
  int64_t time(int64_t d, int64_t k) const { return is_backwards(d) ? steps_ - 1 - k : k; }
  Value* by_step(Value* projected);
  Value* projected_at(int64_t k);
  Value* advance(RecurrentState& state, const RecurrentState& next, int64_t k);
  Value* in_order(const std::vector<Value*>& out);

  Builder& b_;
  DType dtype_;
  bool reverse_;
  int64_t steps_, count_;
  SymInt batch_;
  Value *projected_, *lengths_, *h0_, *c0_;
};

// Sets the functions of a cell and its clip, of an op of steps.
void set_functions(RecurrentCell& cell, const Node& node, const RecurrentOp& spec);

// The op of a layer's steps, without samples.
OpDef recurrent_steps_op(const RecurrentOp& spec);

}  // namespace tcc::ir::ops
