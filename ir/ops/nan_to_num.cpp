#include <cmath>
#include <limits>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_nan_to_num {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Gives what stands for an infinity: the attribute, or the largest number where it was left out.
double replacement(const Node& node, const char* key, double infinity, DType dtype) {
  const double given = number_attr(node, key);
  if (given != infinity) return given;
  const double largest = info(dtype).largest;
  return infinity > 0 ? largest : -largest;
}

Expr lower(const Exprs& x) {
  if (!is_float(x.dtype)) return x[0];
  const auto replace = [&](const char* key, double infinity, const Expr& otherwise) {
    const Expr by = literal(x[0], replacement(x.node, key, infinity, x.dtype));
    return select(equal(x[0], literal(x[0], infinity)), by, otherwise);
  };
  const Expr finite = replace("posinf", kInfinity, replace("neginf", -kInfinity, x[0]));
  return select(unary(Fn::isnan, x[0]), literal(x[0], x.number("nan")), finite);
}

double reference(const Floats& x) {
  if (std::isnan(x[0])) return x.number("nan");
  if (x[0] == kInfinity) return replacement(x.node, "posinf", kInfinity, x.dtype);
  if (x[0] == -kInfinity) return replacement(x.node, "neginf", -kInfinity, x.dtype);
  return x[0];
}

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "nan_to_num",
                        .operands = {"x"},
                        .doc = "NaN and infinities replaced, infinities by the largest finite "
                               "numbers unless posinf or neginf is given; torch.nan_to_num",
                        .attrs = {{"nan", AttrType::number, 0.0},
                                  {"posinf", AttrType::number, kInfinity},
                                  {"neginf", AttrType::number, -kInfinity}},
                        .element = lower,
                        .on_floats = reference,
                        .on_integers = [](const Ints& x) { return x[0]; }});
  op.samples = unary_samples() + unary_int_samples() +
               with_attrs(unary_samples(), {{"nan", 3.0}, {"posinf", 9.0}, {"neginf", -9.0}});
  return op;
}

}  // namespace tcc::ir::ops::op_nan_to_num
