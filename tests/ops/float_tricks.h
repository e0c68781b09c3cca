// Computations that are right only if every operation rounds, overflows and makes NaN where it is
// written.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "tests/ops/float_values.h"

namespace tcc::test {

// Tricks are made of these: operands, whose type may be wider than `type`, and constants of `type`.
struct Trick {
  ir::Builder& b;
  DType type;
  ir::Value* x;
  ir::Value* y;

  ir::Value* number(double value) const { return b.scalar(x->dtype(), round_to(type, value)); }
  ir::Value* add(ir::Value* p, ir::Value* q) const { return b.add(p, q); }
  ir::Value* sub(ir::Value* p, ir::Value* q) const { return b.sub(p, q); }
  ir::Value* mul(ir::Value* p, ir::Value* q) const { return b.mul(p, q); }
  ir::Value* div(ir::Value* p, ir::Value* q) const { return b.div(p, q); }
  ir::Value* neg(ir::Value* p) const { return b.unary("neg", p); }
  ir::Value* times(ir::Value* p, double factor) const { return b.mul(p, number(factor)); }
  ir::Value* pow(double exponent) const { return b.op("pow", {x, number(exponent)}); }
  ir::Value* to(ir::Value* p, DType dtype) const { return b.cast(p, dtype); }
  // 1.5 * 2^mantissa_bits: adding it rounds to a whole number.
  double magic() const { return std::ldexp(1.5, info(type).mantissa_bits); }
  // Its square overflows, its inverse's underflows; a power of two.
  double huge() const { return std::exp2(std::floor(std::log2(info(type).largest) * 0.75)); }
};

struct NamedTrick {
  std::string name;
  std::function<ir::Value*(const Trick&)> build;
  Agreement how = Agreement::bits;
};

// The error of p + q, which is exact (Knuth).
inline ir::Value* error_of_sum(const Trick& t, ir::Value* p, ir::Value* q) {
  ir::Value* sum = t.add(p, q);
  ir::Value* second = t.sub(sum, p);
  return t.add(t.sub(p, t.sub(sum, second)), t.sub(q, second));
}

// The upper half of p's digits (Veltkamp).
inline ir::Value* upper_half(const Trick& t, ir::Value* p) {
  const int bits = info(t.type).mantissa_bits + 1;
  ir::Value* scaled = t.times(p, std::ldexp(1.0, (bits + 1) / 2) + 1);
  return t.sub(scaled, t.sub(scaled, p));
}

// The error of x * y, which is exact (Dekker).
inline ir::Value* error_of_product(const Trick& t) {
  ir::Value *xh = upper_half(t, t.x), *yh = upper_half(t, t.y);
  ir::Value *xl = t.sub(t.x, xh), *yl = t.sub(t.y, yh), *product = t.mul(t.x, t.y);
  ir::Value* rest = t.sub(t.mul(xh, yh), product);
  return t.add(t.add(t.add(rest, t.mul(xh, yl)), t.mul(xl, yh)), t.mul(xl, yl));
}

// x + y + x + 1 with a running compensation (Kahan).
inline ir::Value* compensated_sum(const Trick& t) {
  ir::Value *sum = t.x, *lost = t.number(0);
  for (ir::Value* next : {t.y, t.x, t.number(1)}) {
    ir::Value* corrected = t.sub(next, lost);
    ir::Value* grown = t.add(sum, corrected);
    lost = t.sub(t.sub(grown, sum), corrected);
    sum = grown;
  }
  return sum;
}

inline std::vector<NamedTrick> tricks() {
  using T = const Trick&;
  return {
      {"x * 0", [](T t) { return t.times(t.x, 0); }},
      {"x * -0", [](T t) { return t.times(t.x, -0.0); }},
      {"max(x * 0, -1)",
       [](T t) {
         return t.b.op("maximum", {t.times(t.x, 0), t.number(-1)});
       }},
      {"relu(x - x)", [](T t) { return t.b.unary("relu", t.sub(t.x, t.x)); }},
      {"x - x", [](T t) { return t.sub(t.x, t.x); }},
      {"x + -x", [](T t) { return t.add(t.x, t.neg(t.x)); }},
      {"-x + x", [](T t) { return t.add(t.neg(t.x), t.x); }},
      {"x / x", [](T t) { return t.div(t.x, t.x); }},
      {"0 / x", [](T t) { return t.div(t.number(0), t.x); }},
      {"0 - x", [](T t) { return t.sub(t.number(0), t.x); }},
      {"-x", [](T t) { return t.neg(t.x); }},
      {"-(-x)", [](T t) { return t.neg(t.neg(t.x)); }},
      {"-(x - y)", [](T t) { return t.neg(t.sub(t.x, t.y)); }},
      {"x + 0", [](T t) { return t.add(t.x, t.number(0)); }},
      {"x + -0", [](T t) { return t.add(t.x, t.number(-0.0)); }},
      {"x - 0", [](T t) { return t.sub(t.x, t.number(0)); }},
      {"x - -0", [](T t) { return t.sub(t.x, t.number(-0.0)); }},
      {"x * 1", [](T t) { return t.times(t.x, 1); }},
      {"x * -1", [](T t) { return t.times(t.x, -1); }},
      {"x / 1", [](T t) { return t.div(t.x, t.number(1)); }},
      {"x / -2", [](T t) { return t.div(t.x, t.number(-2)); }},
      {"x / 3", [](T t) { return t.div(t.x, t.number(3)); }},
      {"x / 3 * 3", [](T t) { return t.times(t.div(t.x, t.number(3)), 3); }},
      {"x * 3 / 3", [](T t) { return t.div(t.times(t.x, 3), t.number(3)); }},
      {"1 / (1 / x)", [](T t) { return t.div(t.number(1), t.b.unary("reciprocal", t.x)); }},
      {"x / y * y", [](T t) { return t.mul(t.div(t.x, t.y), t.y); }},
      {"x * y / y", [](T t) { return t.div(t.mul(t.x, t.y), t.y); }},
      {"x * (1 / y)", [](T t) { return t.mul(t.x, t.b.unary("reciprocal", t.y)); }},
      {"(x + magic) - magic",
       [](T t) { return t.sub(t.add(t.x, t.number(t.magic())), t.number(t.magic())); }},
      {"(x - magic) + magic",
       [](T t) { return t.add(t.sub(t.x, t.number(t.magic())), t.number(t.magic())); }},
      {"(x + y) - y", [](T t) { return t.sub(t.add(t.x, t.y), t.y); }},
      {"(x + y) - x", [](T t) { return t.sub(t.add(t.x, t.y), t.x); }},
      {"(x - y) + y", [](T t) { return t.add(t.sub(t.x, t.y), t.y); }},
      {"x * huge * huge / huge",
       [](T t) { return t.times(t.times(t.times(t.x, t.huge()), t.huge()), 1 / t.huge()); }},
      {"x / huge / huge * huge",
       [](T t) { return t.times(t.times(t.times(t.x, 1 / t.huge()), 1 / t.huge()), t.huge()); }},
      {"x + huge - huge",
       [](T t) { return t.sub(t.add(t.x, t.number(t.huge())), t.number(t.huge())); }},
      {"x + 1 + 1", [](T t) { return t.add(t.add(t.x, t.number(1)), t.number(1)); }},
      {"x * 0.1 * 10", [](T t) { return t.times(t.times(t.x, 0.1), 10); }},
      {"x * y + 1", [](T t) { return t.add(t.mul(t.x, t.y), t.number(1)); }},
      {"x * y - x * y", [](T t) { return t.sub(t.mul(t.x, t.y), t.mul(t.x, t.y)); }},
      {"x * y - y * x", [](T t) { return t.sub(t.mul(t.x, t.y), t.mul(t.y, t.x)); }},
      {"x * x - y * y", [](T t) { return t.sub(t.mul(t.x, t.x), t.mul(t.y, t.y)); }},
      {"x * y + x", [](T t) { return t.add(t.mul(t.x, t.y), t.x); }},
      {"x * y + x * 3", [](T t) { return t.add(t.mul(t.x, t.y), t.times(t.x, 3)); }},
      {"x * 2 - x", [](T t) { return t.sub(t.times(t.x, 2), t.x); }},
      {"x * 0.5 + x * 0.5", [](T t) { return t.add(t.times(t.x, 0.5), t.times(t.x, 0.5)); }},
      {"(x * y) * y", [](T t) { return t.mul(t.mul(t.x, t.y), t.y); }},
      {"x * (y * y)", [](T t) { return t.mul(t.x, t.mul(t.y, t.y)); }},
      {"error of x + y", [](T t) { return error_of_sum(t, t.x, t.y); }},
      {"error of x * y", [](T t) { return error_of_product(t); }},
      {"compensated sum", [](T t) { return compensated_sum(t); }},
      {"sqrt(x * x)", [](T t) { return t.b.unary("sqrt", t.mul(t.x, t.x)); }},
      {"sqrt(x) * sqrt(x)",
       [](T t) { return t.mul(t.b.unary("sqrt", t.x), t.b.unary("sqrt", t.x)); }},
      {"abs(-x)", [](T t) { return t.b.unary("abs", t.neg(t.x)); }},
      {"abs(x) * abs(y)", [](T t) { return t.mul(t.b.unary("abs", t.x), t.b.unary("abs", t.y)); }},
      {"sign(x) * x", [](T t) { return t.mul(t.b.unary("sign", t.x), t.x); }},
      {"x - floor(x)", [](T t) { return t.sub(t.x, t.b.unary("floor", t.x)); }},
      {"floor(x + 0.5)", [](T t) { return t.b.unary("floor", t.add(t.x, t.number(0.5))); }},
      {"pow(x, 0)", [](T t) { return t.pow(0); }},
      {"pow(x, 1)", [](T t) { return t.pow(1); }},
      {"pow(x, 2)", [](T t) { return t.pow(2); }},
      {"pow(x, 0.5)", [](T t) { return t.pow(0.5); }, Agreement::kinds},
      {"pow(x, -0.5)", [](T t) { return t.pow(-0.5); }, Agreement::kinds},
      {"pow(x, -1)", [](T t) { return t.pow(-1); }, Agreement::kinds},
      {"pow(x, 3)", [](T t) { return t.pow(3); }, Agreement::kinds},
      {"x != x",
       [](T t) {
         return t.b.op("ne", {t.x, t.x});
       }},
      {"x == x",
       [](T t) {
         return t.b.op("eq", {t.x, t.x});
       }},
      {"x <= x",
       [](T t) {
         return t.b.op("le", {t.x, t.x});
       }},
      {"not x < y",
       [](T t) {
         return t.b.unary("logical_not", t.b.op("lt", {t.x, t.y}));
       }},
      {"not x >= y",
       [](T t) {
         return t.b.unary("logical_not", t.b.op("ge", {t.x, t.y}));
       }},
      {"x - y == 0",
       [](T t) {
         return t.b.op("eq", {t.sub(t.x, t.y), t.number(0)});
       }},
      {"x + y < x",
       [](T t) {
         return t.b.op("lt", {t.add(t.x, t.y), t.x});
       }},
      {"x * x >= 0",
       [](T t) {
         return t.b.op("ge", {t.mul(t.x, t.x), t.number(0)});
       }},
      {"isnan(x - x)", [](T t) { return t.b.unary("isnan", t.sub(t.x, t.x)); }},
      {"where(x == x, x, 7)",
       [](T t) {
         return t.b.op("where", {t.b.op("eq", {t.x, t.x}), t.x, t.number(7)});
       }},
      {"where(x < y, x, y)",
       [](T t) {
         return t.b.op("where", {t.b.op("lt", {t.x, t.y}), t.x, t.y});
       }},
      {"where(x > 0, x, 0)",
       [](T t) {
         return t.b.op("where", {t.b.op("gt", {t.x, t.number(0)}), t.x, t.number(0)});
       }},
      {"max(x, x)",
       [](T t) {
         return t.b.op("maximum", {t.x, t.x});
       }},
      {"min(x, inf)",
       [](T t) {
         return t.b.op("minimum", {t.x, t.number(std::numeric_limits<double>::infinity())});
       }},
      {"max(x, -largest)",
       [](T t) {
         return t.b.op("maximum", {t.x, t.number(-info(t.type).largest)});
       }},
      {"clamp(x * 3)",
       [](T t) {
         return t.b.op("clamp", {t.times(t.x, 3)}, {{"min", -1.0}, {"max", 1.0}});
       }},
      {"x to f16 and back", [](T t) { return t.to(t.to(t.x, DType::f16), t.x->dtype()); }},
      {"x to bf16 and back", [](T t) { return t.to(t.to(t.x, DType::bf16), t.x->dtype()); }},
      {"x to f32 and back", [](T t) { return t.to(t.to(t.x, DType::f32), t.x->dtype()); }},
      {"x to i32", [](T t) { return t.to(t.x, DType::i32); }},
      {"(x + 0.5) to i64", [](T t) { return t.to(t.add(t.x, t.number(0.5)), DType::i64); }},
  };
}

}  // namespace tcc::test
