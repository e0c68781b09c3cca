// Comparisons, logic, Where.
#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"

namespace tcc::onnx {
namespace {

template <const char* op>
Results compare(OpNode& n) {
  Value* a = n.in(0);
  return {n.b.op(op, {a, broadcast_operand(n, a, n.in(1))})};
}

Results where(OpNode& n) { return {n.b.op("where", {n.in(0), n.in(1), n.in(2)})}; }

Results is_inf(OpNode& n) {
  Value* x = n.in(0);
  const bool negative = n.flag("detect_negative", true), positive = n.flag("detect_positive", true);
  if (negative && positive) return {n.b.op("isinf", {x})};
  if (negative || positive) return {n.b.op(negative ? "isneginf" : "isposinf", {x})};
  return {n.b.splat(DType::boolean, x->shape(), 0)};
}

constexpr char kLogicalAnd[] = "logical_and", kEq[] = "eq", kGe[] = "ge", kGt[] = "gt",
               kNan[] = "isnan", kLe[] = "le", kLt[] = "lt", kLogicalNot[] = "logical_not",
               kLogicalOr[] = "logical_or", kLogicalXor[] = "logical_xor";

constexpr Rule kComparisonRules[] = {
    {"And", compare<kLogicalAnd>},
    {"Equal", compare<kEq>},
    {"Greater", compare<kGt>},
    {"GreaterOrEqual", compare<kGe>},
    {"IsInf", is_inf},
    {"IsNaN", unary<kNan>},
    {"Less", compare<kLt>},
    {"LessOrEqual", compare<kLe>},
    {"Not", unary<kLogicalNot>},
    {"Or", compare<kLogicalOr>},
    {"Where", where},
    {"Xor", compare<kLogicalXor>},
};

}  // namespace

std::span<const Rule> comparison_rules() { return kComparisonRules; }

}  // namespace tcc::onnx
