#include "ir/passes/attention_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "ir/op.h"
#include "ir/ops/_attributes.h"
#include "ir/passes/simplify_rules.h"

namespace tcc::ir {
namespace {

constexpr int kMaxSteps = 64;  // that one search for the product may take
constexpr int kMaxCone = 256;  // nodes that a spelled out value may be computed by
constexpr int64_t kMaxScoreElements = int64_t{1} << 22;  // of any value among them

// Scores this low have no weight beside any other score.
bool is_low(double value, DType dtype) {
  return value <= -1e9 || (dtype == DType::f16 && value <= -65504);
}

bool is_small(const Value& value) {
  if (!std::ranges::all_of(value.shape(), &SymInt::is_const)) return false;
  const auto bytes = tensor_bytes(value.dtype(), const_shape(value));
  return bytes && *bytes / size_bytes(value.dtype()) <= kMaxScoreElements;
}

// Between types that scores are computed in.
bool is_float_cast(const Node& node) {
  const auto has_arithmetic = [](const Value* x) {
    return is_float(x->dtype()) && !is_f8(x->dtype());
  };
  return is_one_of(node, {"cast", "to"}) && has_arithmetic(node.inputs[0]) &&
         has_arithmetic(node.outputs[0]);
}

class ScoreMatcher {
 public:
  ScoreMatcher(const UseMap& uses, KnownValues& known) : uses_(uses), known_(known) {}

  std::optional<AttentionScores> run(Value* probabilities) {
    Value* scores = find_scores(probabilities);
    if (!scores || !walk(scores) || !agrees(found_.steps)) return std::nullopt;
    if (found_.shape.empty()) found_.shape = probabilities->shape();
    for (const ScoreStep& step : found_.steps)
      if (step.operand && !regrouped_mask(step.operand->shape(), step.shape, found_.shape))
        return std::nullopt;
    std::ranges::reverse(found_.steps);
    return std::move(found_);
  }

  std::optional<ScoresAndSink> run_sink(Value* probabilities) {
    Value* scores = find_scores(probabilities);
    const bool is_plain = scores && found_.sink && !found_.safe && used_by(scores, 1) &&
                          scores->shape() == probabilities->shape();
    return is_plain ? std::optional(ScoresAndSink{scores, found_.sink}) : std::nullopt;
  }

 private:
  bool used_by(const Value* value, size_t nodes) const {
    const auto found = uses_.find(value);
    return found != uses_.end() && found->second.nodes.size() == nodes &&
           found->second.outputs == 0;
  }

  void see(const Value* value) {
    found_.widest = std::max(found_.widest, size_bytes(value->dtype()));
  }

  // The operand of where(isnan(x), 0, x) or nan_to_num(x), which no other node reads.
  Value* unguarded(const Node& node) const {
    if (node.op_name() == "nan_to_num")
      return ops::number_attr(node, "nan") == 0 && used_by(node.inputs[0], 1) ? node.inputs[0]
                                                                              : nullptr;
    if (node.op_name() != "where") return nullptr;
    const Node* test = producer_of(node.inputs[0], "isnan");
    Value* x = node.inputs[2];
    const bool guards = test && test->inputs[0] == x && used_by(node.inputs[0], 1) &&
                        x->type == node.outputs[0]->type && used_by(x, 2);
    return guards && uniform_value(node.inputs[1], known_) == 0.0 ? x : nullptr;
  }

  static bool is_over_last(const Node& node) {
    const int rank = node.inputs[0]->rank();
    return rank >= 2 && ops::dim_attr(node, "dim", rank) == rank - 1;
  }

  // The value that its rows' maxima are subtracted from, which changes no softmax; itself where
  // there are none.
  Value* unshifted(Value* value) const {
    const Node* shift = producer_of(value, "sub");
    const Node* max = shift ? shift->inputs[1]->producer : nullptr;
    Value* x = shift ? shift->inputs[0] : nullptr;
    if (!max || !is_one_of(*max, {"amax", "max"}) || max->inputs[0] != x ||
        max->outputs[0] != shift->inputs[1] || !max->attr<bool>("keepdim") || x->rank() < 2)
      return value;
    const auto dims = ops::dim_list(*max, "dim", x->rank());
    const bool is_own = dims.size() == 1 && dims[0] == x->rank() - 1 && used_by(x, 2) &&
                        used_by(value, 1) && used_by(max->outputs[0], 1);
    return is_own ? x : value;
  }

  // The scores of softmax(cat([scores, sink]))[..., :-1], whose sink is noted; null where the slice
  // is another one.
  Value* scores_beside_sink(const Node& slice) {
    const Value* kept = slice.outputs[0];
    const Node* softmax = producer_of(slice.inputs[0], "softmax");
    if (!softmax || !is_over_last(slice) || !is_over_last(*softmax) ||
        !used_by(slice.inputs[0], 1) || !ops::symint_attr(slice, "start").is(0))
      return nullptr;
    if (slice.op_name() == "slice" && slice.attr<int64_t>("step") != 1) return nullptr;
    const Value* all = unshifted(softmax->inputs[0]);
    const Node* cat = producer_of(all, "cat");
    if (!cat || cat->inputs.size() != 2 || !is_over_last(*cat)) return nullptr;
    if (all == softmax->inputs[0] && !used_by(all, 1)) return nullptr;
    Value *scores = cat->inputs[0], *sink = cat->inputs[1];
    if (!sink->shape().back().is(1) || scores->shape().back() != kept->shape().back() ||
        scores->dtype() != sink->dtype())
      return nullptr;
    see(all);
    found_.sink = sink;
    return scores;
  }

  // Returns the operand of the softmax over the last dim that makes the probabilities.
  Value* find_scores(Value* value) {
    if (!used_by(value, 1)) return nullptr;
    for (int k = 0; k < kMaxSteps && value->producer; ++k) {
      const Node& node = *value->producer;
      see(value);
      if (node.op_name() == "softmax") return is_over_last(node) ? node.inputs[0] : nullptr;
      // A row of NaN is NaN beside a sink.
      if (is_one_of(node, {"slice", "narrow"}))
        return found_.safe ? nullptr : scores_beside_sink(node);
      if (Value* inner = unguarded(node)) {
        found_.safe = true;
        value = inner;
      } else if (keeps_matrices(node) || is_float_cast(node)) {
        value = node.inputs[0];
        if (!used_by(value, 1)) return nullptr;
      } else {
        return nullptr;
      }
    }
    return nullptr;
  }

  // Returns whether `value`, times what is in found_ already, is a product with steps.
  bool walk(Value* value) {
    if (++taken_ > kMaxSteps || !used_by(value, 1) || !value->producer) return false;
    see(value);
    const Node& node = *value->producer;
    if (node.op_name() == "matmul") {
      found_.product = &node;
      return true;
    }
    if (keeps_matrices(node) || is_float_cast(node)) return walk(node.inputs[0]);
    if (is_one_of(node, {"mul", "div"})) return scaled(node);
    if (node.op_name() == "add") return added(node, 0) || added(node, 1);
    if (node.op_name() == "where") return filled(node);
    if (node.op_name() == "masked_fill") {
      const double low = round_to(node.outputs[0]->dtype(), ops::number_attr(node, "value"));
      return step(node, 0, {ScoreStep::Kind::fill, node.inputs[1], true, low});
    }
    return floored(node);
  }

  bool scaled(const Node& node) {
    const bool divides = node.op_name() == "div";
    if (divides && node.attr<std::string>("rounding_mode") != "none") return false;
    for (const size_t k : {size_t{0}, size_t{1}}) {
      if (divides && k == 1) return false;
      const auto factor = uniform_value(node.inputs[1 - k], known_);
      if (!factor || node.inputs[k]->type.shape != node.outputs[0]->shape()) continue;
      const double before = found_.scale;
      found_.scale *= divides ? 1 / *factor : *factor;
      if (walk(node.inputs[k])) return true;
      found_.scale = before;
    }
    return false;
  }

  // A term that is where(visible, 0, -inf) is a fill.
  std::optional<ScoreStep> fill_of_sum(Value* mask) const {
    const Node* where = producer_of(mask, "where");
    if (!where || where->inputs[0]->shape() != mask->shape()) return std::nullopt;
    const double infinity = std::numeric_limits<double>::infinity();
    for (const size_t kept : {size_t{1}, size_t{2}})
      if (uniform_value(where->inputs[kept], known_) == 0.0 &&
          uniform_value(where->inputs[3 - kept], known_) == -infinity)
        return ScoreStep{ScoreStep::Kind::fill, where->inputs[0], kept == 2, -infinity};
    return std::nullopt;
  }

  bool added(const Node& node, size_t scores) {
    Value* mask = node.inputs[1 - scores];
    if (!is_float(mask->dtype())) return false;
    if (const auto fill = fill_of_sum(mask)) return step(node, scores, *fill);
    return step(node, scores, {ScoreStep::Kind::add, mask});
  }

  bool filled(const Node& node) {
    for (const size_t scores : {size_t{1}, size_t{2}}) {
      const auto value = uniform_value(node.inputs[3 - scores], known_);
      if (value)
        return step(node, scores, {ScoreStep::Kind::fill, node.inputs[0], scores == 2, *value});
    }
    return false;
  }

  bool floored(const Node& node) {
    const ScoreStep floor = {ScoreStep::Kind::floor};
    if (node.op_name() == "clamp") {
      const bool only_below = std::isinf(ops::number_attr(node, "max"));
      return only_below && ops::number_attr(node, "min") <= kAbsorbing && step(node, 0, floor);
    }
    if (node.op_name() != "maximum") return false;
    for (const size_t k : {size_t{0}, size_t{1}}) {
      const auto bound = uniform_value(node.inputs[1 - k], known_);
      if (bound && *bound <= kAbsorbing) return step(node, k, floor);
    }
    return false;
  }

  // The steps that are applied after a step must keep its meaning: sums are not scaled, and low
  // values stay low.
  bool fits(const Node& node, size_t scores, const ScoreStep& step) const {
    const Shape& shape = node.outputs[0]->shape();
    if (node.inputs[scores]->shape() != shape) return false;
    if (step.kind == ScoreStep::Kind::fill) {
      return found_.scale > 0 && is_low(step.value, node.outputs[0]->dtype()) &&
             is_low(step.value * found_.scale, node.outputs[0]->dtype());
    }
    return found_.scale == 1;
  }

  static bool broadcasts(const Shape& from, const Shape& to) {
    if (from.size() > to.size()) return false;
    const size_t added = to.size() - from.size();
    for (size_t d = 0; d < from.size(); ++d)
      if (!from[d].is(1) && !(from[d] == to[added + d])) return false;
    return true;
  }

  // Rows in which all is hidden see what is hidden least. That stays so where one number hides, or
  // where numbers are so low that nothing counts beside them.
  static bool agrees(const std::vector<ScoreStep>& steps) {
    const auto is_shallow = [](const ScoreStep& step) {
      return step.kind == ScoreStep::Kind::fill && step.value > kAbsorbing;
    };
    const auto shallow = std::ranges::find_if(steps, is_shallow);
    return shallow == steps.end() || std::ranges::all_of(steps, [&](const ScoreStep& step) {
             if (step.kind == ScoreStep::Kind::fill)
               return std::isinf(step.value) || step.value == shallow->value;
             return step.kind == ScoreStep::Kind::floor;
           });
  }

  bool step(const Node& node, size_t scores, ScoreStep step) {
    const Shape& shape = node.outputs[0]->shape();
    if (shape.size() < 2 || !fits(node, scores, step)) return false;
    const AttentionScores before = found_;
    step.value *= found_.scale;
    if (step.operand) {
      if (!broadcasts(step.operand->shape(), shape)) return false;
      step.shape = shape;
      if (shape.size() > found_.shape.size()) found_.shape = shape;
    }
    found_.steps.push_back(step);
    if (walk(node.inputs[scores])) return true;
    found_ = before;
    return false;
  }

  const UseMap& uses_;
  KnownValues& known_;
  AttentionScores found_;
  int taken_ = 0;
};

}  // namespace

bool keeps_order(const Node& node) {
  return is_one_of(node, {"reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "identity"});
}

bool keeps_matrices(const Node& node) {
  if (!keeps_order(node)) return false;
  const Shape &from = node.inputs[0]->shape(), &to = node.outputs[0]->shape();
  if (from.size() < 2 || to.size() < 2) return false;
  const auto batch = [](const Shape& shape) {
    return product(std::span<const SymInt>(shape).first(shape.size() - 2));
  };
  return from.back() == to.back() && from[from.size() - 2] == to[to.size() - 2] &&
         batch(from) == batch(to);
}

std::optional<Shape> regrouped_mask(const Shape& mask, const Shape& from, const Shape& to) {
  if (from == to) return mask;
  Shape padded(from.size() - mask.size(), 1), result;
  padded.insert(padded.end(), mask.begin(), mask.end());
  for (size_t d = 0; d < from.size(); ++d) {
    // The dims of `to` that make up this one.
    SymInt count = 1;
    while (!(count == from[d]) && result.size() < to.size()) {
      const SymInt& extent = to[result.size()];
      count = count * extent;
      result.push_back(padded[d].is(1) ? SymInt(1) : extent);
    }
    if (!(count == from[d])) return std::nullopt;
  }
  result.resize(to.size(), 1);
  return result;
}

TensorPtr spelled_out(const Value* value, KnownValues& known) {
  std::vector<const Value*> stack = {value};
  std::set<const Value*> seen = {value};
  while (!stack.empty()) {
    const Value* next = stack.back();
    stack.pop_back();
    if (next->is_given() || !is_small(*next)) return nullptr;
    if (next->is_constant() &&
        (next->is_mutable || !(next->data->is_literal() || next->data->splat())))
      return nullptr;
    if (next->kind != Value::Kind::result) continue;
    for (const Value* input : next->producer->inputs)
      if (input && seen.insert(input).second) stack.push_back(input);
    if (seen.size() > kMaxCone) return nullptr;
  }
  return known.tensor(value);
}

std::optional<double> uniform_value(const Value* value, KnownValues& known) {
  if (const auto splat = known_splat(value)) return splat;
  // An expanded value is not computed.
  while (value->producer &&
         (keeps_order(*value->producer) || is_one_of(*value->producer, {"expand", "broadcast_to"})))
    value = value->producer->inputs[0];
  if (const auto splat = known_splat(value)) return splat;
  if (producer_of(value, "full"))  // its size may be symbolic
    return round_to(value->dtype(), ops::number_attr(*value->producer, "fill_value"));
  if (!std::ranges::all_of(value->shape(), [](const SymInt& n) { return n.is(1); }))
    return std::nullopt;
  const TensorPtr tensor = spelled_out(value, known);
  return tensor ? std::optional(tensor->get(0)) : std::nullopt;
}

std::optional<ScoresAndSink> match_sink(Value* probabilities, const UseMap& uses,
                                        KnownValues& known) {
  return ScoreMatcher(uses, known).run_sink(probabilities);
}

std::optional<AttentionScores> match_scores(Value* probabilities, const UseMap& uses,
                                            KnownValues& known) {
  return ScoreMatcher(uses, known).run(probabilities);
}

}  // namespace tcc::ir
