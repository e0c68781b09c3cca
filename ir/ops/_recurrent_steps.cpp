#include "ir/ops/_recurrent_steps.h"

#include <algorithm>

#include "ir/ops/_attributes.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_recurrent_activations.h"
#include "ir/ops/_recurrent_products.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

constexpr size_t kJoined = 8;  // operands of one cat, whose elements look at all of them
// Rows of a state that are so few that the products of all gates and the gates are one kernel, of
// sums side by side; of more, a matrix product is faster and another kernel does the gates. Sums
// read the weights once for each row, a product once for many rows. On lavapipe (hidden sizes of 64
// and 256) a step as sums took 0.2 to 0.4 of the time at 1 row, 0.5 to 0.9 at 4, 1.2 to 1.7 at 8.
constexpr int64_t kFewRows = 4;

Value* step_operand(const std::vector<Value*>& inputs, size_t k) {
  return k < inputs.size() ? inputs[k] : nullptr;
}

Value* joined(Builder& b, std::vector<Value*> parts) {
  while (parts.size() > 1) {
    std::vector<Value*> longer;
    for (size_t k = 0; k < parts.size(); k += kJoined) {
      const auto from = parts.begin() + static_cast<std::ptrdiff_t>(k);
      const std::vector<Value*> piece(
          from, from + static_cast<std::ptrdiff_t>(std::min(kJoined, parts.size() - k)));
      longer.push_back(piece.size() == 1 ? piece[0] : b.op("cat", piece, {{"dim", int64_t{0}}}));
    }
    parts = std::move(longer);
  }
  return parts[0];
}

// ---- the op

std::vector<Activation> functions_of(const Node& node, const RecurrentOp& spec,
                                     const std::function<void(const std::string&)>& fail) {
  auto names = activation_names(node.attr<std::string>("activations"));
  if (names.empty()) names = spec.activations;
  return recurrent_activations(names, node.attr<std::vector<double>>("activation_alpha"),
                               node.attr<std::vector<double>>("activation_beta"), fail);
}

std::vector<Type> infer_steps(const InferContext& context, const RecurrentOp& spec) {
  const Type &projected = *context.inputs[kProjected], &weight = *context.inputs[kStepWeight];
  require_float(context, kProjected);
  context.require(projected.shape.size() == 3 && weight.shape.size() == 3,
                  "projected and weight_hh must have three dims each");
  if (spec.quantized)
    context.require(is_integer(weight.dtype) && size_bytes(weight.dtype) == 1,
                    "weight_hh must be of 8-bit integers");
  else
    context.require(weight.dtype == projected.dtype, "projected and weight_hh must have one dtype");
  const SymInt &batch = projected.shape[1], &h = weight.shape[2];
  context.require(h.is_const() && h.value() >= 1, "the hidden size must be a positive number");
  const SymInt d = context.node.attr<std::string>("direction") == "bidirectional" ? 2 : 1,
               gates = h * spec.gates;
  require_shape(context, kProjected, {projected.shape[0], batch, d * gates},
                "[steps, batch, directions * gates * hidden]");
  require_shape(context, kStepWeight, {d, gates, h}, "[directions, gates * hidden, hidden]");
  require_shape(context, kStepBias, {d, gates}, "[directions, gates * hidden]");
  require_shape(context, kStepLengths, {batch}, "[batch]");
  const Shape state = {d, batch, h};
  require_shape(context, kStepHidden, state, "the initial state's");
  if (spec.has_cell) {
    require_shape(context, kStepCell, state, "the initial state's");
    require_shape(context, kStepPeepholes, {d, h * 3}, "[directions, 3 * hidden]");
  }
  if (spec.quantized) {
    // Each direction's state has a range of its own.
    context.require(d.is(1), "has one direction");
    context.require(kStepWeightScale < context.inputs.size() && context.inputs[kStepWeightScale],
                    "the weights need their scale");
    for (const size_t k : {kStepWeightScale, kStepWeightZero})
      if (k < context.inputs.size() && context.inputs[k] &&
          context.inputs[k]->shape != Shape{SymInt(1)})
        require_shape(context, k, {gates}, "[1] or [gates * hidden]");
  }
  const size_t functions = functions_of(context.node, spec, [&](const std::string& reason) {
                             context.fail(reason);
                           }).size();
  context.require(
      functions == spec.activations.size(),
      str("activations must name ", spec.activations.size(), " functions, separated by spaces"));
  context.require(number_attr(context.node, "clip") >= 0, "clip must not be negative");
  const DType dtype = projected.dtype;
  std::vector<Type> types = {{dtype, checked_shape(context, {projected.shape[0], d, batch, h})},
                             {dtype, state}};
  if (spec.has_cell) types.push_back({dtype, state});
  return types;
}

// The products of quantized weights: h is quantized by its range.
void multiply_integers(Builder& b, RecurrentCell& cell, const std::vector<Value*>& inputs,
                       bool few) {
  const int64_t hidden = cell.hidden;
  const Shape& shape = inputs[kStepWeight]->shape();
  const IntegerWeights weights = integer_weights(
      b, b.reshape(inputs[kStepWeight], {shape[1], shape[2]}),
      step_operand(inputs, kStepWeightScale), step_operand(inputs, kStepWeightZero));
  const auto rows = [hidden, weights](Builder& of, int64_t from, int64_t count) {
    return rows_of(of, weights, from * hidden, (from + count) * hidden);
  };
  if (few)
    cell.sums = [=](Builder& of, Value* h, int64_t from, int64_t count) {
      const QuantizedInput x = quantize_by_range(of, h);
      std::vector<Value*> sums;
      for (int64_t k = from; k < from + count; ++k)
        sums.push_back(integer_product(of, x, rows(of, k, 1), /*as_sums=*/true));
      return sums;
    };
  else
    cell.product = [=](Builder& of, Value* h, int64_t from, int64_t count) {
      return integer_product(of, quantize_by_range(of, h), rows(of, from, count), false);
    };
}

std::vector<Value*> compose_steps(Builder& b, const Node& node, const RecurrentOp& spec) {
  if (!node.inputs[kProjected]->shape()[0].is_const()) return {};  // they are unrolled
  RecurrentLoop loop(b, node.inputs, node.inputs[kProjected]->dtype(),
                     node.attr<std::string>("direction"));
  const auto narrow = [dtype = node.inputs[kProjected]->dtype()](Builder& of, Value* h) {
    return of.cast(h, dtype);
  };
  Value* weight = node.inputs[kStepWeight];
  if (spec.quantized)
    multiply_integers(b, loop.cell, node.inputs, loop.has_few_rows());
  else if (loop.has_few_rows())
    loop.cell.sums = [=](Builder& of, Value* h, int64_t from, int64_t count) {
      return dot_products(of, narrow(of, h), weight, from, count);
    };
  else
    loop.cell.product = [=](Builder& of, Value* h, int64_t from, int64_t count) {
      return matrix_product(of, narrow(of, h), weight, from, count);
    };
  set_functions(loop.cell, node, spec);
  return loop.unroll(node, spec);
}

}  // namespace

void set_functions(RecurrentCell& cell, const Node& node, const RecurrentOp& spec) {
  cell.clip = number_attr(node, "clip");
  cell.activations =
      functions_of(node, spec, [](const std::string& reason) { throw InternalError(reason); });
}

// ---- the cell

Value* RecurrentCell::gate(Builder& b, Value* gates, int64_t k) const {
  return b.slice(gates, gates->rank() - 1, k * hidden, (k + 1) * hidden);
}

std::vector<Value*> RecurrentCell::recurrent(Builder& b, Value* h, int64_t first,
                                             int64_t count) const {
  std::vector<Value*> result;
  if (sums) {
    result = sums(b, h, first, count);
  } else {
    Value* all = product(b, h, first, count);
    for (int64_t k = 0; k < count; ++k) result.push_back(gate(b, all, k));
  }
  if (bias_hh)
    for (int64_t k = 0; k < count; ++k) {
      Value*& sum = result[static_cast<size_t>(k)];
      sum = b.add(sum, gate(b, bias_hh, first + k));
    }
  return result;
}

Value* RecurrentCell::activate(Builder& b, size_t k, Value* x) const {
  if (clip > 0) x = b.op("clamp", {x}, {{"min", -clip}, {"max", clip}});
  return activations[k](b, x);
}

// ---- the loop

RecurrentLoop::RecurrentLoop(Builder& b, const std::vector<Value*>& inputs, DType dtype,
                             const std::string& direction)
    : b_(b),
      dtype_(dtype),
      reverse_(direction == "reverse"),
      count_(direction == "bidirectional" ? 2 : 1),
      projected_(b.compute(inputs[kProjected])),
      lengths_(step_operand(inputs, kStepLengths)) {
  // Narrower types do not count all steps.
  if (lengths_ && size_bytes(lengths_->dtype()) < 4) lengths_ = b_.cast(lengths_, DType::i32);
  const auto by_row = [&](size_t k) {  // with a dim for the batch after the directions
    Value* value = step_operand(inputs, k);
    return value ? b_.compute(b_.unsqueeze(value, 1)) : nullptr;
  };
  const auto state = [&](size_t k) {
    Value* value = step_operand(inputs, k);
    return value ? b_.compute(value) : nullptr;
  };
  steps_ = projected_->shape()[0].value();
  batch_ = projected_->shape()[1];
  cell.hidden = inputs[kStepWeight]->shape()[2].value();
  cell.bias_hh = by_row(kStepBias);
  cell.peepholes = by_row(kStepPeepholes);
  h0_ = state(kStepHidden);
  c0_ = state(kStepCell);
}

bool RecurrentLoop::has_few_rows() const { return batch_.is_const() && batch_.value() <= kFewRows; }

std::vector<Value*> RecurrentLoop::unroll(const Node& node, const RecurrentOp& spec) {
  if (count_ == 2 && steps_ > 0) projected_ = by_step(projected_);
  const auto initial = [&](Value* state) {
    return state ? state : b_.splat(compute_dtype(dtype_), {count_, batch_, cell.hidden}, 0);
  };
  RecurrentState state = {initial(h0_)};
  if (spec.has_cell) state.push_back(initial(c0_));
  std::vector<Value*> out;  // by step
  for (int64_t k = 0; k < steps_; ++k) {
    const RecurrentState next = spec.step(b_, node, cell, projected_at(k), state);
    out.push_back(advance(state, next, k));
  }
  std::vector<Value*> results = {in_order(out)};
  for (Value* last : state) results.push_back(b_.cast(last, dtype_));
  return results;
}

// [T, B, D * gates * H] by step, [T, D, B, gates * H]: of two directions, that of the second is
// turned around once, so that each step reads one slice.
Value* RecurrentLoop::by_step(Value* projected) {
  const SymInt gates = floordiv(projected->shape()[2], count_);
  std::vector<Value*> sides;
  for (int64_t d = 0; d < count_; ++d) {
    Value* side = b_.slice(projected, 2, gates * d, gates * (d + 1));
    if (is_backwards(d)) side = b_.op("flip", {side}, {{"dims", ints({0})}});
    sides.push_back(side);
  }
  return b_.op("stack", sides, {{"dim", int64_t{1}}});
}

// The input's part of the gates at step `k`: [D, B, gates * H].
Value* RecurrentLoop::projected_at(int64_t k) {
  const int64_t at = count_ == 1 ? time(0, k) : k;
  Value* step = b_.slice(projected_, 0, at, at + 1);
  return b_.reshape(step, {count_, batch_, projected_->shape().back()});
}

// Behind the end of its sequence, a state stays and the output is 0. Gives the output [D, B, H].
Value* RecurrentLoop::advance(RecurrentState& state, const RecurrentState& next, int64_t k) {
  Value* out = next[0];
  if (lengths_) {
    std::vector<Value*> times;
    for (int64_t d = 0; d < count_; ++d)
      times.push_back(b_.scalar(lengths_->dtype(), static_cast<double>(time(d, k))));
    Value* at = b_.reshape(b_.op("stack", times, {{"dim", int64_t{0}}}), {count_, 1, 1});
    Value* runs = b_.op("gt", {b_.reshape(lengths_, {1, batch_, 1}), at});
    out = b_.op("where", {runs, out, b_.scalar(out->dtype(), 0)});
    for (size_t j = 0; j < state.size(); ++j) state[j] = b_.op("where", {runs, next[j], state[j]});
  } else {
    state = next;
  }
  return b_.cast(out, dtype_);
}

// The outputs of all steps as [T, D, B, H].
Value* RecurrentLoop::in_order(const std::vector<Value*>& out) {
  if (steps_ == 0) return b_.splat(dtype_, {0, count_, batch_, cell.hidden}, 0);
  std::vector<Value*> rows;
  for (int64_t t = 0; t < steps_; ++t) {
    std::vector<Value*> sides;  // time() is its own inverse
    for (int64_t d = 0; d < count_; ++d)
      sides.push_back(b_.slice(out[static_cast<size_t>(time(d, t))], 0, d, d + 1));
    Value* row = sides.size() == 1 ? sides[0] : b_.op("cat", sides, {{"dim", int64_t{0}}});
    rows.push_back(b_.unsqueeze(row, 0));
  }
  return joined(b_, std::move(rows));
}

OpDef recurrent_steps_op(const RecurrentOp& spec) {
  OpDef op;
  op.name = spec.name + "_steps";
  op.kind = OpKind::composite;
  op.operands = {"projected", "weight_hh", "bias_hh?", "sequence_lens?", "h0?"};
  op.results = {"out", "h"};
  if (spec.has_cell) {
    op.operands.insert(op.operands.end(), {"c0?", "peepholes?"});
    op.results.push_back("c");
  }
  if (spec.quantized)
    op.operands.insert(op.operands.end(), {"weight_hh_scale?", "weight_hh_zero_point?"});
  op.attrs = {{"direction",
               AttrType::text,
               std::string("forward"),
               {"forward", "reverse", "bidirectional"}},
              {"activations", AttrType::text, std::string()},  // of one direction, for both
              {"activation_alpha", AttrType::numbers, std::vector<double>{}},
              {"activation_beta", AttrType::numbers, std::vector<double>{}},
              {"clip", AttrType::number, 0.0}};
  op.attrs.insert(op.attrs.end(), spec.attrs.begin(), spec.attrs.end());
  op.doc = "The steps of " + spec.name +
           " over the projection of its input [T, B, D * gates * H], which has the biases that are "
           "not given";
  op.infer = [spec](const InferContext& context) { return infer_steps(context, spec); };
  op.compose = [spec](Builder& b, const Node& node) { return compose_steps(b, node, spec); };
  return op;
}

}  // namespace tcc::ir::ops
