// Rules on casts and arithmetic.
#include <cmath>
#include <initializer_list>
#include <limits>

#include "ir/op.h"
#include "ir/passes/simplify_rules.h"

namespace tcc::ir {
namespace {

// `value` as what the node's result is typed as, where it differs by promotion or broadcasting.
Value* as_result(Builder& b, const Node& node, Value* value) {
  const Type& type = node.outputs[0]->type;
  return b.expand(b.cast(value, type.dtype), type.shape);
}

bool is_cast(const Node& node) {
  return node.op_name() == "cast" || (node.op_name() == "to" && !node.attr<bool>("saturate"));
}

// Bits of magnitude that every value of `dtype` fits into.
int value_bits(DType dtype) {
  const DTypeInfo& type = info(dtype);
  if (type.is_float) return type.mantissa_bits + 1;
  if (!type.is_integer) return 1;
  return 8 * type.bytes - (type.is_signed ? 1 : 0);
}

// Returns whether every value of `from` is one of `to`.
bool holds(DType from, DType to) {
  if (from == to) return true;
  if (!is_float(to) && !is_integer(to)) return false;
  if (is_float(from)) {
    // Two floats of one width hold only a part of each other's values; else the wider one holds the
    // narrower.
    return is_float(to) && size_bytes(to) > size_bytes(from);
  }
  if (is_float(to)) return value_bits(from) <= value_bits(to);
  const bool loses_sign = is_integer(from) && info(from).is_signed && !info(to).is_signed;
  return !loses_sign && value_bits(from) <= value_bits(to);
}

Value* cast_to_same(Builder&, const Node& node) {
  return is_cast(node) && node.inputs[0]->dtype() == node.outputs[0]->dtype() ? node.inputs[0]
                                                                              : nullptr;
}

Value* cast_of_exact_cast(Builder& b, const Node& node) {
  if (!is_cast(node)) return nullptr;
  const Node* inner = node.inputs[0]->producer;
  if (!inner || !is_cast(*inner)) return nullptr;
  const DType from = inner->inputs[0]->dtype(), through = inner->outputs[0]->dtype();
  const DType to = node.outputs[0]->dtype();
  // To an integer, floats saturate and integers wrap: the kind of the operand matters.
  const bool same_rule = is_float(from) == is_float(through) || !is_integer(to);
  if (!same_rule || !holds(from, through)) return nullptr;
  return b.cast(inner->inputs[0], to);
}

// Every attribute has its default: div does not round, and so on.
bool has_default_attrs(const Node& node) {
  for (const AttrDef& def : node.op->attrs)
    if (def.default_value && node.attrs.at(def.name) != *def.default_value) return false;
  return true;
}

// The operand that a neutral other operand leaves unchanged.
Value* neutral_operand(Builder&, const Node& node) {
  if (node.inputs.size() != 2 || !has_default_attrs(node)) return nullptr;
  const std::string_view op = node.op_name();
  Value* result = node.outputs[0];
  const bool floats = is_float(result->dtype());
  // 0 only in the form that keeps -0.0: x - 0.0 and x + -0.0.
  const auto is_zero = [&](double value, bool negative) {
    return value == 0 && (!floats || std::signbit(value) == negative);
  };
  const auto is_neutral = [&](double value, bool on_the_right) {
    if (op == "add") return is_zero(value, true);
    if (op == "mul") return value == 1;
    if (!on_the_right) return false;
    if (op == "sub") return is_zero(value, false);
    return (op == "div" || op == "pow") && value == 1;
  };
  for (const size_t kept : {size_t{0}, size_t{1}}) {
    if (!node.inputs[kept] || node.inputs[kept]->type != result->type) continue;
    const auto other = known_splat(node.inputs[1 - kept]);
    if (other && is_neutral(*other, kept == 0)) return node.inputs[kept];
  }
  return nullptr;
}

Value* double_negation(Builder&, const Node& node) {
  for (const std::string_view op : {"neg", "logical_not", "bitwise_not"}) {
    if (node.op_name() != op) continue;
    const Node* inner = producer_of(node.inputs[0], op);
    // logical_not of a number is a bool.
    if (inner && inner->inputs[0]->type == node.outputs[0]->type) return inner->inputs[0];
  }
  return nullptr;
}

Value* idempotent(Builder&, const Node& node) {
  for (const std::string_view op : {"abs", "relu", "floor", "ceil", "trunc", "sign"})
    if (node.op_name() == op && producer_of(node.inputs[0], op)) return node.inputs[0];
  return nullptr;
}

Value* abs_of_neg(Builder& b, const Node& node) {
  const Node* inner = node.op_name() == "abs" ? producer_of(node.inputs[0], "neg") : nullptr;
  return inner ? b.unary("abs", inner->inputs[0]) : nullptr;
}

Value* where_decided(Builder& b, const Node& node) {
  if (node.op_name() != "where") return nullptr;
  if (node.inputs[1] == node.inputs[2]) return as_result(b, node, node.inputs[1]);
  const auto condition = known_splat(node.inputs[0]);
  return condition ? as_result(b, node, node.inputs[*condition != 0 ? 1 : 2]) : nullptr;
}

Value* square_for_pow(Builder& b, const Node& node) {
  if (node.op_name() != "pow" || known_splat(node.inputs[1]) != 2.0) return nullptr;
  return node.inputs[0]->type == node.outputs[0]->type ? b.unary("square", node.inputs[0])
                                                       : nullptr;
}

// x / 2^n is x * 2^-n, rounded alike, where 2^-n is a normal number.
Value* multiplication_for_division(Builder& b, const Node& node) {
  if (node.op_name() != "div" || !has_default_attrs(node) ||
      node.inputs[0]->type != node.outputs[0]->type)
    return nullptr;
  const Value* divisor = node.inputs[1];
  const DType dtype = divisor->dtype();
  const auto value = known_splat(divisor);
  if (!value || !is_float(dtype) || !is_float(node.inputs[0]->dtype())) return nullptr;
  int exponent = 0;
  const bool power_of_two = std::fabs(std::frexp(*value, &exponent)) == 0.5;
  constexpr int limit = 13;  // normal in f16, too
  if (!power_of_two || *value == 1 || std::abs(exponent) > limit) return nullptr;
  return b.mul(node.inputs[0], b.scalar(node.outputs[0]->dtype(), 1 / *value));
}

}  // namespace

std::span<const SimplifyRule> arithmetic_rules() {
  static constexpr SimplifyRule rules[] = {
      cast_to_same,    cast_of_exact_cast, neutral_operand,
      double_negation, idempotent,         abs_of_neg,
      where_decided,   square_for_pow,     multiplication_for_division,
  };
  return rules;
}

}  // namespace tcc::ir
