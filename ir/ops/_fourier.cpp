#include "ir/ops/_fourier.h"

#include <cmath>

namespace tcc::ir::ops {
namespace {

constexpr int64_t kShortest = 256;  // below, one product is cheaper than two and a transpose

// The largest divisor of n up to its root; 1 for a prime.
int64_t smaller_factor(int64_t n) {
  auto d = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % d != 0) --d;
  return d;
}

Value* matrix(Builder& b, const Fourier& f, int64_t inputs, bool is_complex, DType dtype) {
  return b.op("dft_matrix", {},
              {{"inputs", inputs},
               {"outputs", f.outputs},
               {"length", f.length},
               {"inverse", f.inverse},
               {"is_complex", is_complex},
               {"scale", f.scale},
               {"dtype", dtype}});
}

Value* direct(Builder& b, Value* x, const Fourier& f) {
  const SymInt rows = x->shape()[0];
  const int64_t inputs = x->shape()[1].value(), parts = x->shape()[2].value();
  Value* m = matrix(b, f, inputs, parts == 2, x->dtype());
  m = b.reshape(m, {inputs * parts, f.outputs * 2});
  return b.reshape(b.matmul(b.reshape(x, {rows, inputs * parts}), m), {rows, f.outputs, 2});
}

// x [rows, n2, n1, 2], element [j, k] turned by j k of n1 n2 parts of a turn.
Value* twiddle(Builder& b, Value* x, bool inverse) {
  const int64_t n2 = x->shape()[1].value(), n1 = x->shape()[2].value();
  Value* m = matrix(b, {n1 * n2, n1, inverse, 1}, n2, true, x->dtype());
  const auto part = [&](int64_t c) {
    return b.mul(b.slice(x, 3, c, c + 1), b.reshape(b.slice(m, 1, c, c + 1), {n2, n1, 2}));
  };
  return b.add(part(0), part(1));
}

}  // namespace

bool is_direct(int64_t length) { return length < kShortest || smaller_factor(length) == 1; }

Value* fourier(Builder& b, Value* x, const Fourier& f) {
  if (is_direct(f.length)) return direct(b, x, f);
  const int64_t n1 = smaller_factor(f.length), n2 = f.length / n1;
  const SymInt rows = x->shape()[0], parts = x->shape()[2];
  if (const int64_t missing = f.length - x->shape()[1].value(); missing > 0)
    x = b.op("pad", {x}, {{"pad", ints({0, 0, 0, missing})}});
  // Input j = n2 j1 + j2, output k = k1 + n1 k2: over j1 first, then over j2.
  x = b.permute(b.reshape(x, {rows, n1, n2, parts}), {0, 2, 1, 3});
  x = fourier(b, b.reshape(x, {rows * n2, n1, parts}), {n1, n1, f.inverse, 1});
  x = twiddle(b, b.reshape(x, {rows, n2, n1, 2}), f.inverse);
  x = b.reshape(b.permute(x, {0, 2, 1, 3}), {rows * n1, n2, 2});
  x = fourier(b, x, {n2, n2, f.inverse, f.scale});
  x = b.permute(b.reshape(x, {rows, n1, n2, 2}), {0, 2, 1, 3});
  x = b.reshape(x, {rows, f.length, 2});
  return f.outputs == f.length ? x : b.slice(x, 1, 0, f.outputs);
}

}  // namespace tcc::ir::ops
