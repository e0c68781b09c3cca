#include <algorithm>
#include <cmath>

#include "ir/ops/_attributes.h"
#include "ir/ops/_fourier.h"
#include "support/error.h"

namespace tcc::ir::ops::op_fft {
namespace {

struct Transform {
  size_t dim;
  int64_t length, used;  // `used`: how many inputs count
  bool inverse, onesided;

  // Half of a spectrum whose other half mirrors it.
  int64_t half() const { return length / 2 + 1; }
  bool to_real() const { return inverse && onesided; }
  int64_t outputs() const { return onesided && !inverse ? half() : length; }
};

Transform transform_of(const Node& node, const Shape& x) {
  Transform t{};
  t.dim = static_cast<size_t>(dim_attr(node, "dim", static_cast<int>(x.size())));
  t.inverse = node.attr<bool>("inverse");
  t.onesided = node.attr<bool>("onesided");
  const int64_t extent = x[t.dim].value();
  const int64_t given = node.attr<int64_t>("n");
  t.length = given > 0 ? given : t.to_real() ? 2 * (extent - 1) : extent;
  t.used = std::min(extent, t.to_real() ? t.half() : t.length);
  return t;
}

double scale_of(const Node& node, const Transform& t) {
  const auto& norm = node.attr<std::string>("norm");
  const auto n = static_cast<double>(t.length);
  if (norm == "ortho") return 1 / std::sqrt(n);
  return (norm == "backward") == t.inverse ? 1 / n : 1;
}

std::vector<Type> infer(const InferContext& context) {
  const Type& x = *context.inputs[0];
  const int rank = static_cast<int>(x.shape.size());
  context.require(is_float(x.dtype), str("x must be a float tensor, not ", to_string(x)));
  context.require(
      rank >= 2 && (x.shape.back().is(1) || x.shape.back().is(2)),
      str("x must be [..., 1] (real) or [..., 2] (complex), not ", shape_text(x.shape)));
  const int dim = dim_attr(context, "dim", rank);
  context.require(dim != rank - 1, "dim must not be the last one, which holds the parts");
  context.require(x.shape[static_cast<size_t>(dim)].is_const(), "dim must have a constant extent");
  context.require(context.node.attr<int64_t>("n") >= 0, "n must not be negative");
  const Transform t = transform_of(context.node, x.shape);
  context.require(t.length >= 1 && t.length < (int64_t{1} << 31),
                  str("a transform of length ", t.length));
  if (t.onesided)
    context.require(x.shape.back().is(t.inverse ? 2 : 1),
                    t.inverse ? "an inverse onesided transform takes a complex x"
                              : "a onesided transform takes a real x");
  Shape out = x.shape;
  out[t.dim] = t.outputs();
  out.back() = t.to_real() ? 1 : 2;
  return {{x.dtype, checked_shape(context, out)}};
}

// The whole spectrum [rows, length, 2] of real numbers, whose first half is x: what is missing at
// its end is 0.
Value* mirrored(Builder& b, Value* x, const Transform& t) {
  if (t.used < t.half()) x = b.op("pad", {x}, {{"pad", ints({0, 0, 0, t.half() - t.used})}});
  Value* tail = b.slice(x, 1, 1, t.length - t.half() + 1);
  tail = b.op("flip", {tail}, {{"dims", ints({1})}});
  Value* conjugate =
      b.op("cat", {b.slice(tail, 2, 0, 1), b.unary("neg", b.slice(tail, 2, 1, 2))}, {{"dim", 2}});
  return b.op("cat", {x, conjugate}, {{"dim", 1}});
}

// The real numbers [rows, length, 1] whose spectrum begins with x [rows, used, 2].
Value* to_real(Builder& b, Value* x, const Transform& t, double scale) {
  const SymInt rows = x->shape()[0];
  const int64_t used = t.used;
  if (!is_direct(t.length))
    return b.slice(fourier(b, mirrored(b, x, t), {t.length, t.length, true, scale}), 2, 0, 1);
  Value* m = b.op("dft_matrix", {},
                  {{"inputs", used},
                   {"outputs", t.length},
                   {"length", t.length},
                   {"inverse", true},
                   {"is_complex", true},
                   {"is_half", true},
                   {"scale", scale},
                   {"dtype", x->dtype()}});
  m = b.reshape(b.slice(m, 3, 0, 1), {used * 2, t.length});
  return b.reshape(b.matmul(b.reshape(x, {rows, used * 2}), m), {rows, t.length, 1});
}

std::vector<Value*> compose(Builder& b, const Node& node) {
  Value* x = b.compute(node.inputs[0]);
  const Transform t = transform_of(node, x->shape());
  if (!x->shape()[t.dim].is(t.used)) x = b.slice(x, static_cast<int64_t>(t.dim), 0, t.used);
  // [rest..., n, parts] as [rows, n, parts] and back.
  const int rank = x->rank();
  std::vector<int64_t> order, back(static_cast<size_t>(rank));
  Shape rest;
  for (int d = 0; d < rank - 1; ++d) {
    if (static_cast<size_t>(d) == t.dim) continue;
    order.push_back(d);
    rest.push_back(x->shape()[static_cast<size_t>(d)]);
  }
  order.insert(order.end(), {static_cast<int64_t>(t.dim), rank - 1});
  for (size_t d = 0; d < order.size(); ++d)
    back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  x = b.reshape(b.permute(x, order), {product(rest), t.used, x->shape().back()});
  const double scale = scale_of(node, t);
  Value* y = t.to_real() ? to_real(b, x, t, scale)
                         : fourier(b, x, {t.length, t.outputs(), t.inverse, scale});
  rest.insert(rest.end(), {y->shape()[1], y->shape()[2]});
  return {b.cast(b.permute(b.reshape(y, rest), back), node.inputs[0]->dtype())};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "fft";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"dim", AttrType::integer, int64_t{-2}},
              {"n", AttrType::integer, int64_t{0}},
              {"inverse", AttrType::boolean, false},
              {"onesided", AttrType::boolean, false},
              {"norm", AttrType::text, "backward", {"backward", "ortho", "forward"}}};
  op.doc =
      "Discrete Fourier transform along `dim` of x [..., 1] (real) or [..., 2] (complex) to [..., "
      "2], cut or padded with zeros to n elements unless that is 0; onesided: of a real x the "
      "first "
      "n / 2 + 1 results, and inverse from those to [..., 1]; torch.fft.fft, ifft, rfft, irfft";
  op.infer = infer;
  op.compose = compose;
  op.samples = {
      {{{DType::f32, {3, 10, 1}}}},
      {{{DType::f32, {2, 7, 2}}}, {{"inverse", true}}},
      {{{DType::f32, {5, 3, 1}}}, {{"dim", 0}, {"onesided", true}, {"n", 8}}},
      {{{DType::f32, {2, 5, 2}}}, {{"onesided", true}, {"inverse", true}}},
      {{{DType::f32, {2, 5, 2}}}, {{"onesided", true}, {"inverse", true}, {"n", 9}}},
      {{{DType::f32, {2, 256, 1}}}, {{"onesided", true}, {"norm", "ortho"}}},
      {{{DType::f32, {1, 100, 2}}}, {{"onesided", true}, {"inverse", true}, {"n", 270}}},
      {{{DType::f32, {300, 2}}}, {{"dim", 0}, {"n", 512}, {"inverse", true}}},
      {{{DType::f32, {0, 4, 2}}}},
      {{{DType::f16, {2, 12, 2}}}, {{"n", 6}, {"norm", "forward"}}},
      {{{DType::f64, {1, 1}}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_fft
