#include "ir/passes/attention_mask.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ir/op.h"
#include "ir/ops/_attributes.h"
#include "ir/passes/simplify_rules.h"

namespace tcc::ir {
namespace {

constexpr double kLowest = -static_cast<double>(std::numeric_limits<float>::max());

enum class Pattern : uint8_t { unknown, all_visible, causal };

// The op causal_mask of all scores, behind views that add dims: for dims that are symbols.
bool is_causal_op(const Value* mask, const Shape& scores) {
  const Shape& shape = mask->shape();
  const std::span<const SymInt> matrix = std::span(scores).last(2);
  if (shape.size() < 2 || !std::ranges::equal(std::span(shape).last(2), matrix)) return false;
  while (mask->producer && keeps_order(*mask->producer)) mask = mask->producer->inputs[0];
  const Node* node = producer_of(mask, "causal_mask");
  return node && node->attr<int64_t>("diagonal") == 0 && std::ranges::equal(mask->shape(), matrix);
}

// Whether element `k` of a mask leaves the key visible, or hides it; nothing for anything between.
std::optional<bool> visibility(const Tensor& mask, int64_t k, const ScoreStep& step) {
  if (step.kind == ScoreStep::Kind::fill) return (mask.get_int(k) != 0) != step.hides;
  const double value = mask.get(k);
  if (value == 0) return true;
  return value <= -1e9 ? std::optional(false) : std::nullopt;
}

Pattern pattern_of(const ScoreStep& step, const Shape& scores, KnownValues& known) {
  if (step.kind == ScoreStep::Kind::floor) return Pattern::unknown;
  if (step.kind == ScoreStep::Kind::fill && !step.hides && is_causal_op(step.operand, scores))
    return Pattern::causal;
  const TensorPtr mask = spelled_out(step.operand, known);
  if (!mask) return Pattern::unknown;
  const auto& shape = mask->shape();
  const int64_t columns = shape.empty() ? 1 : shape.back();
  const int64_t rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  const bool whole = scores.back().is(columns) && scores[scores.size() - 2].is(rows);
  bool all_visible = true, causal = whole;
  for (int64_t k = 0; k < mask->numel() && (all_visible || causal); ++k) {
    const auto visible = visibility(*mask, k, step);
    if (!visible) return Pattern::unknown;
    const bool in_triangle = k % columns <= k / columns % rows;
    all_visible &= *visible;
    causal &= *visible == in_triangle;
  }
  if (all_visible) return Pattern::all_visible;
  return causal ? Pattern::causal : Pattern::unknown;
}

Value* inverted(Builder& b, Value* mask) {
  const Node* inner = producer_of(mask, "logical_not");
  if (inner && inner->inputs[0]->dtype() == DType::boolean) return inner->inputs[0];
  return b.unary("logical_not", mask);
}

// One bool mask, where every step hides by -inf.
Value* visible_keys(Builder& b, std::span<const ScoreStep> steps) {
  Value* visible = nullptr;
  for (const ScoreStep& step : steps) {
    Value* sees = step.hides ? inverted(b, step.operand) : step.operand;
    visible = visible ? b.op("logical_and", {visible, sees}) : sees;
  }
  return visible;
}

// Gives what all steps add to the scores.
Value* addend(Builder& b, std::span<const ScoreStep> steps, DType wide) {
  if (steps.size() == 1 && steps[0].kind == ScoreStep::Kind::add) return steps[0].operand;
  Value* sum = nullptr;
  for (const ScoreStep& step : steps) {
    if (step.kind == ScoreStep::Kind::add) {
      Value* operand = b.cast(step.operand, wide);
      sum = sum ? b.add(sum, operand) : operand;
    } else if (step.kind == ScoreStep::Kind::fill) {
      Value* kept = sum ? sum : b.scalar(wide, 0);
      Value* hidden = b.scalar(wide, step.value <= kAbsorbing ? step.value : kLowest);
      sum = b.op("where", {step.operand, step.hides ? hidden : kept, step.hides ? kept : hidden});
    } else if (sum) {
      sum = b.op("maximum", {sum, b.scalar(wide, kLowest)});
    }
  }
  return sum;
}

}  // namespace

AttentionMask attention_mask(Builder& b, const AttentionScores& scores, DType wide,
                             KnownValues& known) {
  std::vector<ScoreStep> steps = scores.steps;
  for (ScoreStep& step : steps)
    if (step.operand && step.shape != scores.shape)
      step.operand =
          b.reshape(step.operand, *regrouped_mask(step.operand->shape(), step.shape, scores.shape));
  std::erase_if(steps, [&](const ScoreStep& step) {
    return pattern_of(step, scores.shape, known) == Pattern::all_visible;
  });
  const auto is_floor = [](const ScoreStep& s) { return s.kind == ScoreStep::Kind::floor; };
  const auto masks = std::ranges::count_if(steps, std::not_fn(is_floor));
  if (masks == 0) return {};
  // The first key is seen by every query: neither a floor nor what hides the others matters.
  const auto first = std::ranges::find_if_not(steps, is_floor);
  if (masks == 1 && pattern_of(*first, scores.shape, known) == Pattern::causal) return {{}, true};
  const bool all_infinite = std::ranges::all_of(steps, [](const ScoreStep& step) {
    return step.kind == ScoreStep::Kind::fill && std::isinf(step.value);
  });
  return {all_infinite ? visible_keys(b, steps) : addend(b, steps, wide)};
}

}  // namespace tcc::ir
