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

constexpr char kAnd[] = "logical_and", kEq[] = "eq", kGe[] = "ge", kGt[] = "gt", kNan[] = "isnan",
               kLe[] = "le", kLt[] = "lt", kNot[] = "logical_not", kOr[] = "logical_or",
               kXor[] = "logical_xor";

constexpr Rule kRules[] = {
    {"And", compare<kAnd>},    {"Equal", compare<kEq>},
    {"Greater", compare<kGt>}, {"GreaterOrEqual", compare<kGe>},
    {"IsInf", is_inf},         {"IsNaN", unary<kNan>},
    {"Less", compare<kLt>},    {"LessOrEqual", compare<kLe>},
    {"Not", unary<kNot>},      {"Or", compare<kOr>},
    {"Where", where},          {"Xor", compare<kXor>},
};

}  // namespace

std::span<const Rule> comparison_rules() { return kRules; }

}  // namespace tcc::onnx
