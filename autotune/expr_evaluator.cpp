// Running an ExprProgram.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "autotune/expr_program.h"
#include "ir/bit_cast.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_philox.h"
#include "ir/reference/noise.h"
#include "support/error.h"

namespace tcc::autotune {

using ir::Fn;
using ir::Number;
using ir::ReduceKind;

namespace {

constexpr size_t kMostMemos = 1 << 16;  // of one reduction
constexpr size_t kMostArgs = 3;

bool differ(double a, double b) { return std::isnan(a) != std::isnan(b); }

Number identity_of(ReduceKind kind, DType dtype) {
  if (is_float(dtype)) return {ir::identity(kind, dtype), 0};
  return {0, ir::identity_int(kind, dtype)};
}

Fn combining(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum: return Fn::add;
    case ReduceKind::prod: return Fn::mul;
    case ReduceKind::min: return Fn::minimum;
    case ReduceKind::any: return Fn::logical_or;
    case ReduceKind::all: return Fn::logical_and;
    default: return Fn::maximum;
  }
}

// Returns whether `value` takes the place of `best`, which comes before it: NaN is best of all.
bool is_better(ReduceKind kind, DType dtype, Number value, Number best) {
  if (is_float(dtype) && differ(value.number, best.number)) return std::isnan(value.number);
  const std::array<Number, 2> pair = {value, best};
  const Fn test = kind == ReduceKind::argmax ? Fn::gt : Fn::lt;
  return ir::evaluate_call(test, dtype, pair)->integer != 0;
}

// Computes what evaluate_call leaves to its callers.
Number call_more(Fn fn, DType dtype, std::span<const Number> x) {
  switch (fn) {
    case Fn::pow: return {0, ir::ops::integer_power(dtype, x[0].integer, x[1].integer)};
    case Fn::floordiv: return {ir::ops::floor_quotient(x[0].number, x[1].number), 0};
    case Fn::remainder: return {ir::ops::floor_remainder(x[0].number, x[1].number), 0};
    case Fn::rand_uniform:
    case Fn::rand_normal: {
      const ir::ops::RandomStream stream{static_cast<uint64_t>(x[0].integer),
                                         static_cast<uint64_t>(x[1].integer)};
      return {fn == Fn::rand_uniform ? ir::ops::random_uniform(stream, x[2].integer)
                                     : ir::ops::random_normal(stream, x[2].integer),
              0};
    }
    default: throw InternalError(str("the reference lacks ", name(fn), " of ", name(dtype)));
  }
}

}  // namespace

ExprEvaluator::ExprEvaluator(const ExprProgram& program, std::span<const ExprBuffer> buffers,
                             Rounding rounding)
    : program_(program),
      buffers_(buffers),
      rounding_(rounding),
      axes_(static_cast<size_t>(program.num_axes_)),
      changed_(axes_.size()),
      memo_(program.steps_.size()),
      reductions_(program.steps_.size()) {}

Number ExprEvaluator::operator()(std::span<const int64_t> axes) {
  for (size_t d = 0; d < axes.size(); ++d)
    if (program_.free_axes_[d] >= 0) set_axis(program_.free_axes_[d], axes[d]);
  return value(static_cast<int>(program_.steps_.size()) - 1);
}

void ExprEvaluator::set_axis(int axis, int64_t value) {
  const auto at = static_cast<size_t>(axis);
  if (axes_[at] == value) return;
  axes_[at] = value;
  changed_[at] = ++now_;
}

int64_t ExprEvaluator::index(int id) {
  const ExprProgram::Index& index = program_.indices_[static_cast<size_t>(id)];
  int64_t sum = index.constant;
  for (const ExprProgram::Term& term : index.terms) {
    int64_t product = term.coefficient;
    for (const int factor : term.atoms) product *= atom(factor);
    sum += product;
  }
  return sum;
}

int64_t ExprEvaluator::atom(int id) {
  const ExprProgram::Atom& atom = program_.atoms_[static_cast<size_t>(id)];
  using Kind = ir::Atom::Kind;
  if (atom.kind == Kind::axis) return axes_[static_cast<size_t>(atom.axis)];
  if (atom.kind == Kind::indirect)
    return std::clamp(value(atom.value).integer, atom.range.lo, atom.range.hi);
  const int64_t a = index(atom.a), b = index(atom.b);
  if (atom.kind == Kind::min) return std::min(a, b);
  if (atom.kind == Kind::max) return std::max(a, b);
  // b > 0; both round towards minus infinity.
  const int64_t rest = a % b, below = rest < 0 ? 1 : 0;
  return atom.kind == Kind::floordiv ? a / b - below : rest + below * b;
}

Number ExprEvaluator::value(int id) {
  const Step& step = program_.steps_[static_cast<size_t>(id)];
  if (step.kind == ir::ExprNode::Kind::reduce) return reduce(id, step);
  if (!step.shared) return compute(step);
  Memo& memo = memo_[static_cast<size_t>(id)];
  const bool stands = memo.time >= 0 && std::ranges::all_of(step.axes, [&](int axis) {
                        return changed_[static_cast<size_t>(axis)] <= memo.time;
                      });
  if (!stands) memo = {compute(step), now_};
  return memo.value;
}

Number ExprEvaluator::compute(const Step& step) {
  using Kind = ir::ExprNode::Kind;
  ++work_;
  switch (step.kind) {
    case Kind::constant: return step.constant;
    case Kind::index: return {0, index(step.index)};
    case Kind::load: return load(step);
    case Kind::cast: {
      if (step.constant.integer != 0)
        return ir::bit_cast(value(step.args[0]), step.from[0], step.dtype);
      const Number cast = ir::evaluate_cast(value(step.args[0]), step.from[0], step.dtype);
      if (!is_float(step.dtype)) return {0, wrap_to(step.dtype, cast.integer)};
      if (is_low_precision(step.dtype)) return {round_to(step.dtype, cast.number), 0};
      return finished(cast, step.dtype, step);
    }
    default: return call(step);
  }
}

Number ExprEvaluator::load(const Step& step) {
  const ExprBuffer& buffer = buffers_[static_cast<size_t>(step.buffer)];
  const int64_t offset = index(step.index);
  TCC_CHECK(offset >= 0 && offset < buffer.elements, "the reference loads element ", offset, " of ",
            buffer.elements);
  const auto at = static_cast<size_t>(offset);
  if (is_float(buffer.dtype)) {
    const Number number{buffer.floats[at % buffer.floats.size()], 0};
    return is_float(step.stored) ? number : ir::bit_cast(number, buffer.dtype, step.stored);
  }
  return {0, buffer.integers[at % buffer.integers.size()]};
}

Number ExprEvaluator::call(const Step& step) {
  // Only the chosen operand is evaluated: the other one may read outside of its buffer.
  if (step.fn == Fn::select) return value(step.args[value(step.args[0]).integer != 0 ? 1 : 2]);
  std::array<Number, kMostArgs> numbers;
  for (size_t k = 0; k < step.args.size(); ++k) numbers[k] = value(step.args[k]);
  const std::span<const Number> given(numbers.data(), step.args.size());
  const DType operand = step.from[0];
  const auto result = ir::evaluate_call(step.fn, operand, given);
  return finished(result ? *result : call_more(step.fn, operand, given), step.dtype, step);
}

double ExprEvaluator::with_noise(double value, double size, const Step& step,
                                 int64_t position) const {
  if (!std::isfinite(value)) return value;
  const auto place = static_cast<uint64_t>(&step - program_.steps_.data());
  const uint64_t stream = (place << 32) + static_cast<uint64_t>(position);
  return value * (1 + size * ir::noise_draw(stream, std::bit_cast<uint64_t>(value)));
}

Number ExprEvaluator::finished(Number value, DType dtype, const Step& step) const {
  if (!is_float(dtype)) return {0, wrap_to(dtype, value.integer)};
  if (rounding_ == Rounding::noisy && !ir::is_exact(value.number, dtype))
    return {with_noise(value.number, ir::stored_noise(dtype), step), 0};
  if (rounding_ == Rounding::each && dtype == DType::f32)
    return {static_cast<double>(static_cast<float>(value.number)), 0};
  return value;
}

Number ExprEvaluator::reduce(int id, const Step& step) {
  std::vector<int64_t> key;
  for (const int axis : step.axes) key.push_back(axes_[static_cast<size_t>(axis)]);
  auto& memo = reductions_[static_cast<size_t>(id)];
  if (const auto found = memo.find(key); found != memo.end()) return found->second;
  const Number result = reduce_now(step);
  if (memo.size() >= kMostMemos) memo.clear();
  return memo[std::move(key)] = result;
}

Number ExprEvaluator::reduce_now(const Step& step) {
  const DType dtype = step.from[0];
  const bool arg = ir::is_arg(step.reduce), is_sum = step.reduce == ReduceKind::sum;
  Number total = identity_of(step.reduce, dtype);
  int64_t count = 1, best = 0;
  for (const auto& loop : step.loops) count *= loop.extent;
  const double noise = rounding_ == Rounding::noisy && is_float(dtype)
                           ? ir::sum_noise(dtype, static_cast<double>(count))
                           : 0;
  for (int64_t position = 0; position < count; ++position) {
    int64_t rest = position;
    for (size_t k = step.loops.size(); k-- > 0; rest /= step.loops[k].extent)
      set_axis(step.loops[k].axis, rest % step.loops[k].extent);
    const Number next = value(step.args[0]);
    if (is_sum && is_float(dtype)) {
      total.number += noise > 0 && !ir::is_exact_term(next.number)
                          ? with_noise(next.number, noise, step, position)
                          : next.number;
    } else if (!arg) {
      const std::array<Number, 2> pair = {total, next};
      total = *ir::evaluate_call(combining(step.reduce), dtype, pair);
      if (!is_float(dtype)) total.integer = wrap_to(dtype, total.integer);
    } else if (position == 0 || is_better(step.reduce, dtype, next, total)) {
      total = next;
      best = position;
    }
  }
  if (arg) return {0, best};
  const bool combines = is_sum || step.reduce == ReduceKind::prod;
  if (noise > 0 && combines && !ir::is_exact(total.number, dtype))
    return {with_noise(total.number, std::max(noise, ir::stored_noise(dtype)), step), 0};
  return finished(total, dtype, step);
}

}  // namespace tcc::autotune
