// Add to Tanh: elementwise arithmetic and functions.
#include <limits>

#include "frontend/onnx/narrow_types.h"
#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

template <const char* op>
Results binary(OpNode& n) {
  Value* a = n.in(0);
  return {n.b.op(op, {a, broadcast_operand(n, a, n.in(1))})};
}

// Integers are divided as in C.
Results div(OpNode& n) {
  Value* a = n.in(0);
  Value* b = broadcast_operand(n, a, n.in(1));
  if (is_float(a->dtype())) return {n.b.div(a, b)};
  return {n.b.op("div", {a, b}, {{"rounding_mode", std::string("trunc")}})};
}

Results mod(OpNode& n) {
  const bool as_c = n.flag("fmod", false);
  n.require(as_c || n.opset >= 28 || !is_float(n.in(0)->dtype()), "floating point needs fmod=1");
  return {n.b.op(as_c ? "fmod" : "remainder", {n.in(0), n.in(1)})};
}

// The result has the base's type, whatever the exponent's is.
Results pow(OpNode& n) {
  Value *base = n.in(0), *exponent = broadcast_operand(n, base, n.in(1));
  const DType dtype = base->dtype();
  if (!is_float(dtype) && is_float(exponent->dtype())) {
    base = n.b.cast(base, exponent->dtype());
  } else if (is_float(dtype)) {
    exponent = n.b.cast(exponent, dtype);
  } else {
    exponent = n.b.cast(exponent, dtype);
  }
  return {n.b.cast(n.b.op("pow", {base, exponent}), dtype)};
}

template <const char* op>
Results variadic(OpNode& n) {
  n.ignore("consumed_inputs");  // of opset 1
  const std::vector<Value*> xs = n.all_inputs();
  Value* result = xs[0];
  for (size_t k = 1; k < xs.size(); ++k) result = n.b.op(op, {result, xs[k]});
  return {result};
}

Results mean(OpNode& n) {
  const std::vector<Value*> xs = n.all_inputs();
  Value* sum = n.b.compute(xs[0]);
  for (size_t k = 1; k < xs.size(); ++k) sum = n.b.add(sum, n.b.compute(xs[k]));
  Value* count = like(n, sum, static_cast<double>(xs.size()));
  return {n.b.cast(n.b.div(sum, count), xs[0]->dtype())};
}

Results clip(OpNode& n) {
  Value* x = n.in(0);
  n.ignore("consumed_inputs");
  if (n.opset < 11) {
    ir::Attrs attrs;
    if (n.has("min")) attrs["min"] = n.number("min", 0);
    if (n.has("max")) attrs["max"] = n.number("max", 0);
    return {n.b.op("clamp", {x}, attrs)};
  }
  if (Value* low = n.maybe(1)) x = n.b.op("maximum", {x, low});
  if (Value* high = n.maybe(2)) x = n.b.op("minimum", {x, high});
  return {x};
}

Results bit_shift(OpNode& n) {
  const std::string direction = n.text("direction", "");
  n.require(direction == "LEFT" || direction == "RIGHT", "direction must be LEFT or RIGHT");
  const char* op = direction == "LEFT" ? "bitwise_left_shift" : "bitwise_right_shift";
  return {n.b.op(op, {n.in(0), n.in(1)})};
}

Value* cast_to(OpNode& n, DType dtype) {
  n.ignore("round_mode");  // of FLOAT8E8M0 alone
  if (!is_f8(dtype)) {
    n.ignore("saturate");
    return n.b.cast(n.in(0), dtype);
  }
  return n.b.op("to", {n.in(0)}, {{"dtype", dtype}, {"saturate", n.integer("saturate", 1) != 0}});
}

// To a narrow type, of which x may be already.
Operand cast_to_narrow(OpNode& n, const NarrowType& type) {
  for (const char* name : {"saturate", "round_mode"}) n.ignore(name);
  if (n.operand(0).narrow == type.code) return n.operand(0);
  return with_element_type(to_narrow(n, n.in(0), type), type.code);
}

Results cast(OpNode& n) {
  if (n.opset < 6) n.fail("Cast before opset 6 names its type by text, which is not supported");
  const auto code = n.element_type_attr("to");
  n.require(code.has_value(), "attribute 'to' is missing");
  if (const NarrowType* narrow = narrow_type(*code)) return {cast_to_narrow(n, *narrow)};
  return {cast_to(n, *n.dtype_attr("to"))};
}

Results cast_like(OpNode& n) {
  const Operand like = n.operand(1);
  if (const NarrowType* narrow = narrow_type(like.narrow)) return {cast_to_narrow(n, *narrow)};
  return {cast_to(n, n.in(1)->dtype())};
}

// Bools are bytes of 0 or 1.
Results bit_cast(OpNode& n) {
  Value* x = n.in(0);
  const auto to = n.dtype_attr("to");
  n.require(to.has_value(), "attribute 'to' is missing");
  n.require(size_bytes(*to) == size_bytes(x->dtype()),
            str(name(x->dtype()), " and ", name(*to), " differ in their width"));
  if (*to == DType::boolean || x->dtype() == DType::boolean) {
    n.require(!is_float(x->dtype()) && !is_float(*to), "bool has no bits of a float");
    return {n.b.cast(x, *to)};
  }
  return {n.b.op("bit_cast", {x}, {{"dtype", *to}})};
}

Results identity(OpNode& n) { return {n.operand(0)}; }

constexpr char kAbs[] = "abs", kAcos[] = "acos", kAcosh[] = "acosh", kAdd[] = "add",
               kAsin[] = "asin", kAsinh[] = "asinh", kAtan[] = "atan", kAtanh[] = "atanh",
               kAnd[] = "bitwise_and", kNot[] = "bitwise_not", kOr[] = "bitwise_or",
               kXor[] = "bitwise_xor", kCeil[] = "ceil", kCos[] = "cos", kCosh[] = "cosh",
               kErf[] = "erf", kExp[] = "exp", kFloor[] = "floor", kLog[] = "log",
               kMaximum[] = "maximum", kMinimum[] = "minimum", kMul[] = "mul", kNeg[] = "neg",
               kReciprocal[] = "reciprocal", kRound[] = "round", kSign[] = "sign", kSin[] = "sin",
               kSinh[] = "sinh", kSqrt[] = "sqrt", kSub[] = "sub", kTan[] = "tan", kTanh[] = "tanh";

constexpr Rule kArithmeticRules[] = {
    {"Abs", old_unary<kAbs>},
    {"Acos", unary<kAcos>},
    {"Acosh", unary<kAcosh>},
    {"Add", binary<kAdd>},
    {"Asin", unary<kAsin>},
    {"Asinh", unary<kAsinh>},
    {"Atan", unary<kAtan>},
    {"Atanh", unary<kAtanh>},
    {"BitCast", bit_cast},
    {"BitShift", bit_shift},
    {"BitwiseAnd", binary<kAnd>},
    {"BitwiseNot", unary<kNot>},
    {"BitwiseOr", binary<kOr>},
    {"BitwiseXor", binary<kXor>},
    {"Cast", cast},
    {"CastLike", cast_like},
    {"Ceil", old_unary<kCeil>},
    {"Clip", clip},
    {"Cos", unary<kCos>},
    {"Cosh", unary<kCosh>},
    {"Div", div},
    {"Erf", unary<kErf>},
    {"Exp", old_unary<kExp>},
    {"Floor", old_unary<kFloor>},
    {"Identity", identity},
    {"Log", old_unary<kLog>},
    {"Max", variadic<kMaximum>},
    {"Mean", mean},
    {"Min", variadic<kMinimum>},
    {"Mod", mod},
    {"Mul", binary<kMul>},
    {"Neg", old_unary<kNeg>},
    {"Pow", pow},
    {"Reciprocal", old_unary<kReciprocal>},
    {"Round", unary<kRound>},
    {"Sign", unary<kSign>},
    {"Sin", unary<kSin>},
    {"Sinh", unary<kSinh>},
    {"Sqrt", old_unary<kSqrt>},
    {"Sub", binary<kSub>},
    {"Sum", variadic<kAdd>},
    {"Tan", unary<kTan>},
    {"Tanh", old_unary<kTanh>},
};

}  // namespace

std::span<const Rule> arithmetic_rules() { return kArithmeticRules; }

}  // namespace tcc::onnx
