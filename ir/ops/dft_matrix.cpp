#include <cmath>
#include <numbers>
#include <optional>

#include "ir/ops/_creation.h"
#include "ir/ops/_elementwise.h"
#include "ir/ops/_index_loop.h"
#include "support/error.h"

namespace tcc::ir::ops::op_dft_matrix {
namespace {

// Entry [j, c, k, d] is what part c (0 real, 1 imaginary) of input j adds to part d of output k.
struct Matrix {
  explicit Matrix(const Node& node)
      : inputs(node.attr<int64_t>("inputs")),
        outputs(node.attr<int64_t>("outputs")),
        length(node.attr<int64_t>("length")),
        sign(node.attr<bool>("inverse") ? 1 : -1),
        is_complex(node.attr<bool>("is_complex")),
        is_half(node.attr<bool>("is_half")),
        scale(number_attr(node, "scale")) {}
  // The angle of one of `length` parts of a turn.
  double step() const { return sign * 2 * std::numbers::pi / static_cast<double>(length); }

  int64_t inputs, outputs, length;
  int sign;
  bool is_complex, is_half;
  double scale;
};

std::vector<Type> infer(const InferContext& context) {
  const Matrix m(context.node);
  const auto dtype = context.node.attr<DType>("dtype");
  context.require(is_float(dtype), str("dtype must be a float type, not ", name(dtype)));
  constexpr int64_t limit = int64_t{1} << 31;
  context.require(m.length > 0 && m.length < limit, "length must lie between 1 and 2^31");
  context.require(m.inputs >= 0 && m.inputs <= m.length && m.outputs >= 0 && m.outputs <= m.length,
                  "inputs and outputs must lie between 0 and length");
  return {{dtype, checked_shape(context, {m.inputs, m.is_complex ? 2 : 1, m.outputs, 2})}};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Matrix m(context.node());
  const auto dtype = context.node().attr<DType>("dtype");
  const auto number = [&](double value) { return constant_of(dtype, value); };
  const auto whole = [](int64_t value) { return constant_int(DType::i64, value); };
  // j k of `length` parts of a turn, as a whole number between minus half a turn and half a turn.
  const Expr product = mul(index_value(index[0]), index_value(index[2]));
  const Expr parts = call(Fn::remainder, {product, whole(m.length)});
  const Expr near =
      select(greater(mul(parts, whole(2)), whole(m.length)), sub(parts, whole(m.length)), parts);
  const Expr angle = mul(converted(near, dtype), number(m.step()));
  const Expr sine = unary(Fn::sin, angle);
  const Expr is_imaginary = equal(index_value(index[1]), whole(1));
  const Expr same = equal(index_value(index[1]), index_value(index[3]));
  const Expr other = select(is_imaginary, unary(Fn::neg, sine), sine);
  Expr value = mul(select(same, unary(Fn::cos, angle), other), number(m.scale));
  if (!m.is_half) return value;
  // Every input but the first, and the middle one of an even length, stands for its mirror image
  // too.
  const Expr twice = mul(index_value(index[0]), whole(2));
  const Expr is_own = call(Fn::logical_or, {equal(twice, whole(0)), equal(twice, whole(m.length))});
  return select(is_own, value, mul(value, number(2)));
}

void reference(EvalContext& context) {
  const Matrix m(context.node);
  RefTensor& out = context.outputs[0];
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    const int64_t j = index[0], k = index[2];
    const double angle = static_cast<double>(j * k % m.length) * m.step();
    double value = index[1] == index[3] ? std::cos(angle) : std::sin(angle);
    if (index[1] > index[3]) value = -value;
    const bool is_own = j == 0 || 2 * j == m.length;
    out.f[static_cast<size_t>(offset)] = value * m.scale * (m.is_half && !is_own ? 2 : 1);
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "dft_matrix";
  op.attrs = {{"inputs", AttrType::integer, std::nullopt},
              {"outputs", AttrType::integer, std::nullopt},
              size_attr({"length", AttrType::integer, std::nullopt}),
              {"inverse", AttrType::boolean, false},
              {"is_complex", AttrType::boolean, false},
              {"is_half", AttrType::boolean, false},
              {"scale", AttrType::number, 1.0},
              {"dtype", AttrType::dtype, DType::f32}};
  op.doc =
      "The matrix [inputs, 1 or 2 (is_complex), outputs, 2] of the first inputs and outputs of a "
      "discrete Fourier transform of `length`, times scale; with is_half its inputs are the first "
      "half of a spectrum whose other half mirrors it: what fft and stft multiply by";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  using enum DType;
  op.samples = {
      {.inputs = {}, .attrs = {{"inputs", 5}, {"outputs", 3}, {"length", 5}}},
      {.inputs = {},
       .attrs = {{"inputs", 7}, {"outputs", 9}, {"length", 12}, {"is_complex", true}}},
      {.inputs = {},
       .attrs = {{"inputs", 4},
                 {"outputs", 6},
                 {"length", 6},
                 {"inverse", true},
                 {"is_complex", true},
                 {"is_half", true},
                 {"scale", 0.25}}},
      {.inputs = {}, .attrs = {{"inputs", 3}, {"outputs", 40}, {"length", 100000}, {"dtype", f64}}},
      {.inputs = {}, .attrs = {{"inputs", 1}, {"outputs", 0}, {"length", 1}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_dft_matrix
