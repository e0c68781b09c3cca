#include "ir/ops/_cosine_window.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "ir/ops/_attributes.h"
#include "ir/ops/_creation.h"
#include "ir/ops/_elementwise.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

// The angle from one element to the next; of a window of one element any would do.
double step_of(const Node& node) {
  const int64_t length = node.attr<int64_t>("window_length");
  const int64_t period = node.attr<bool>("periodic") ? length : length - 1;
  return 2 * std::numbers::pi / static_cast<double>(std::max<int64_t>(1, period));
}

bool is_single(const Node& node) { return node.attr<int64_t>("window_length") == 1; }

}  // namespace

OpDef cosine_window(std::string name, std::string doc,
                    std::function<std::array<double, 3>(const Node&)> coefficients) {
  OpDef op;
  op.name = std::move(name);
  op.attrs = {{"window_length", AttrType::integer, std::nullopt},
              {"periodic", AttrType::boolean, true},
              {"dtype", AttrType::dtype, DType::f32}};
  op.doc = std::move(doc);
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const auto dtype = context.node.attr<DType>("dtype");
    const auto length = context.node.attr<int64_t>("window_length");
    context.require(is_float(dtype), str("dtype must be a float type, not ", tcc::name(dtype)));
    context.require(length >= 0 && length < (int64_t{1} << 31),
                    str("window_length must lie between 0 and 2^31, not ", length));
    return {{dtype, {length}}};
  };
  op.element = [coefficients](ElementContext& context, std::span<const SymInt> index) {
    const Node& node = context.node();
    const auto dtype = node.attr<DType>("dtype");
    const auto number = [&](double value) { return constant_of(dtype, value); };
    if (is_single(node)) return number(1);
    const auto [a, b, c] = coefficients(node);
    const Expr angle = mul(converted(index_value(index[0]), dtype), number(step_of(node)));
    const Expr first = sub(number(a), mul(number(b), unary(Fn::cos, angle)));
    if (c == 0) return first;
    return add(first, mul(number(c), unary(Fn::cos, mul(angle, number(2)))));
  };
  op.reference = [coefficients](EvalContext& context) {
    const auto [a, b, c] = coefficients(context.node);
    RefTensor& out = context.outputs[0];
    for (size_t k = 0; k < out.f.size(); ++k) {
      const double angle = static_cast<double>(k) * step_of(context.node);
      out.f[k] = is_single(context.node) ? 1 : a - b * std::cos(angle) + c * std::cos(2 * angle);
    }
  };
  using enum DType;
  op.samples = {{.inputs = {}, .attrs = {{"window_length", 10}}},
                {.inputs = {}, .attrs = {{"window_length", 33}, {"periodic", false}}},
                {.inputs = {}, .attrs = {{"window_length", 1}, {"periodic", false}}},
                {.inputs = {}, .attrs = {{"window_length", 0}}},
                {.inputs = {}, .attrs = {{"window_length", 9}, {"dtype", f16}}},
                {.inputs = {}, .attrs = {{"window_length", 400}, {"dtype", f64}}}};
  return op;
}

}  // namespace tcc::ir::ops
