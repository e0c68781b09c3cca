#include "autotune/user_kernel/expression.h"

#include <algorithm>

#include "autotune/user_kernel/expression_parser.h"
#include "support/error.h"

namespace tcc::autotune {

Expression::Expression(int64_t constant) : text_(std::to_string(constant)) {
  nodes_.push_back({Op::constant, -1, -1, constant, ""});
}

Expression Expression::parse(std::string_view text, std::string place) {
  try {
    return {parse_expression(text), std::string(text), std::move(place)};
  } catch (const Error& error) { fail_input(place, ": ", error.what()); }
}

void Expression::fail(const std::string& reason) const {
  fail_input(place_, place_.empty() ? "" : ": ", "'", text_, "': ", reason);
}

std::set<std::string> Expression::names() const {
  std::set<std::string> names;
  for (const Node& node : nodes_)
    if (node.op == Op::name) names.insert(node.name);
  return names;
}

int64_t Expression::evaluate(const Scope& scope) const {
  return value_of(static_cast<int>(nodes_.size()) - 1, scope);
}

// The depth is bounded by the text's length.
int64_t Expression::value_of(int number, const Scope& scope) const {
  const Node& node = nodes_[static_cast<size_t>(number)];
  if (node.op == Op::constant) return node.value;
  if (node.op == Op::name) {
    const std::optional<int64_t> value = scope(node.name);
    if (!value) fail("unknown name '" + node.name + "'");
    return *value;
  }
  const int64_t left = value_of(node.left, scope);
  if (node.op == Op::logical_not) return left == 0;
  if (node.op == Op::negate) return binary({Op::subtract, -1, -1, 0, ""}, 0, left);
  if (node.op == Op::logical_or && left != 0) return 1;
  if (node.op == Op::logical_and && left == 0) return 0;
  return binary(node, left, value_of(node.right, scope));
}

int64_t Expression::binary(const Node& node, int64_t left, int64_t right) const {
  int64_t result = 0;
  const auto result_unless = [&](bool overflow) {
    if (overflow) fail("the result does not fit in 64 bits");
    return result;
  };
  const auto floor_divide = [&](int64_t a) {
    if (right <= 0) fail(str("the divisor is ", right, ", not positive"));
    return a / right - (a % right < 0);
  };
  switch (node.op) {
    case Op::logical_or:
    case Op::logical_and: return right != 0;
    case Op::equal: return left == right;
    case Op::not_equal: return left != right;
    case Op::less: return left < right;
    case Op::less_equal: return left <= right;
    case Op::greater: return left > right;
    case Op::greater_equal: return left >= right;
    case Op::minimum: return std::min(left, right);
    case Op::maximum: return std::max(left, right);
    case Op::floor_divide: return floor_divide(left);
    case Op::modulo: return left - floor_divide(left) * right;
    case Op::ceil_divide: return floor_divide(left) + (left % right != 0);
    case Op::add: return result_unless(__builtin_add_overflow(left, right, &result));
    case Op::subtract: return result_unless(__builtin_sub_overflow(left, right, &result));
    case Op::multiply: return result_unless(__builtin_mul_overflow(left, right, &result));
    case Op::constant:
    case Op::name:
    case Op::negate:
    case Op::logical_not: break;
  }
  TCC_CHECK(false, "not a binary operator");
}

}  // namespace tcc::autotune
