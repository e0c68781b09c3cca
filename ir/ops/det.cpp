#include <cmath>
#include <utility>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_det {
namespace {

// Each row is a few kernels: a larger matrix would want a kernel of its own.
constexpr int64_t kLargest = 64;

std::vector<Type> infer(const InferContext& context) {
  require_float(context);
  Shape x = context.inputs[0]->shape;
  context.require(x.size() >= 2 && x[x.size() - 1] == x[x.size() - 2],
                  str("x must be [..., n, n], not ", shape_text(x)));
  context.require(x.back().is_const() && x.back().value() <= kLargest,
                  str("matrices have at most ", kLargest, " rows, not ", x.back()));
  x.resize(x.size() - 2);
  return {{context.inputs[0]->dtype, x}};
}

// Elimination with partial pivoting. `m` [B, n, n] loses a row and a column with each step.
Value* determinant(Builder& b, Value* m) {
  const auto column = [&](Value* x, int64_t from, int64_t to) { return b.slice(x, 2, from, to); };
  const auto rows = [&](Value* x, int64_t from, int64_t to) { return b.slice(x, 1, from, to); };
  Value* result = nullptr;
  for (int64_t n = m->shape()[1].value();; --n) {
    if (n == 1) return result ? b.mul(result, m) : m;  // [B, 1, 1]
    Value* sizes = b.unary("abs", column(m, 0, 1));
    Value* chosen = b.op("argmax", {sizes}, {{"dim", ints({1})}, {"keepdim", true}});
    const Shape row_shape = {m->shape()[0], 1, n};
    Value* pivot_row = b.op("gather", {m, b.expand(chosen, row_shape)}, {{"dim", 1}});
    Value* pivot = column(pivot_row, 0, 1);
    // The first row takes the place of the chosen one, which turns the sign unless they are one.
    Value* number = b.op("iota", {}, {{"size", ints({n, 1})}});
    Value* is_chosen = b.op("eq", {b.slice(number, 0, 1, n), chosen});
    Value* rest = b.op("where", {is_chosen, rows(m, 0, 1), rows(m, 1, n)});
    Value* zero = b.scalar(m->dtype(), 0);
    Value* is_first = b.op("eq", {chosen, b.scalar(DType::i64, 0)});
    Value* factor = b.op("where", {is_first, pivot, b.unary("neg", pivot)});
    result = result ? b.mul(result, factor) : factor;
    // A column of zeros has the determinant 0 already, and leaves the rest as it is.
    Value* divisor = b.op("where", {b.op("eq", {pivot, zero}), b.scalar(m->dtype(), 1), pivot});
    Value* share = b.div(column(rest, 0, 1), divisor);
    m = b.sub(column(rest, 1, n), b.mul(share, column(pivot_row, 1, n)));
  }
}

std::vector<Value*> compose(Builder& b, const Node& node) {
  Value* x = b.compute(node.inputs[0]);
  const Shape& shape = node.outputs[0]->shape();
  const SymInt n = x->shape().back();
  if (n.is(0)) return {b.splat(node.inputs[0]->dtype(), shape, 1)};
  Value* result = determinant(b, b.reshape(x, {product(shape), n, n}));
  return {b.cast(b.reshape(result, shape), node.inputs[0]->dtype())};
}

void reference(EvalContext& context) {
  const RefTensor& x = *context.inputs[0];
  const auto n = static_cast<size_t>(x.shape.back());
  for (size_t i = 0; i < context.outputs[0].f.size(); ++i) {
    std::vector<double> a(x.f.begin() + static_cast<std::ptrdiff_t>(i * n * n),
                          x.f.begin() + static_cast<std::ptrdiff_t>((i + 1) * n * n));
    double result = 1;
    for (size_t k = 0; k < n; ++k) {
      size_t best = k;
      for (size_t r = k + 1; r < n; ++r)
        if (std::fabs(a[r * n + k]) > std::fabs(a[best * n + k]) || std::isnan(a[r * n + k]))
          best = r;
      for (size_t c = 0; best != k && c < n; ++c) std::swap(a[k * n + c], a[best * n + c]);
      const double pivot = a[k * n + k];
      result *= best == k ? pivot : -pivot;
      for (size_t r = k + 1; r < n && pivot != 0; ++r) {
        const double share = a[r * n + k] / pivot;
        for (size_t c = k; c < n; ++c) a[r * n + c] -= share * a[k * n + c];
      }
    }
    context.outputs[0].f[i] = result;
  }
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "det";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.doc = str("Determinants of matrices [..., n, n] of up to ", kLargest,
               " rows, by elimination with partial pivoting, a few kernels per row; "
               "torch.linalg.det");
  op.infer = infer;
  op.compose = compose;
  op.reference = reference;
  using enum DType;
  op.samples = {{{{f32, {2, 2}}}},    {{{f32, {3, 1, 1}}}}, {{{f32, {2, 3, 3, 3}}}},
                {{{f32, {0, 4, 4}}}}, {{{f32, {2, 0, 0}}}}, {{{f64, {4, 5, 5}}}},
                {{{f16, {3, 2, 2}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_det
