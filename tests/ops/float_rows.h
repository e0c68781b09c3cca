// Reductions, scans, sorts, windows and products over rows with NaN, infinities and zeros in them.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/tensor.h"
#include "support/error.h"

namespace tcc::test {

// Rows of ones with signs behind four other numbers, so that products stay small in every order;
// some of them are replaced.
inline Tensor special_rows(DType dtype, int64_t columns) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  using Row = std::function<double(int64_t column, double otherwise)>;
  const auto at = [](int64_t where, double value) -> Row {
    return [=](int64_t c, double x) { return c == where ? value : x; };
  };
  const auto all = [](double value) -> Row { return [=](int64_t, double) { return value; }; };
  const Row rows[] = {
      [](int64_t, double x) { return x; },
      at(0, nan),
      at(columns - 1, nan),
      at(columns / 2, inf),
      at(columns / 2, -inf),
      [=](int64_t c, double x) { return c == 0             ? inf
                                        : c == columns - 1 ? -inf
                                                           : x; },
      [=](int64_t c, double x) { return c == 1             ? inf
                                        : c == columns - 1 ? nan
                                                           : x; },
      [=](int64_t c, double x) { return c % 2 ? x : -inf; },
      [=](int64_t c, double x) { return c == columns / 3   ? 0
                                        : c == columns / 2 ? inf
                                                           : x; },
      all(nan),
      all(inf),
      all(-inf),
      all(0),
  };
  const auto count = static_cast<int64_t>(std::size(rows));
  Tensor x(dtype, {count, columns});
  for (int64_t r = 0; r < count; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      const double factors[] = {2, -0.5, 0.5, -2};
      const double plain = c < 4 ? factors[(r + c) % 4] : (r * 7 + c * 5) % 3 ? 1 : -1;
      x.set(r * columns + c, rows[r](c, plain));
    }
  return x;
}

struct NamedRowOp {
  std::string name;
  std::function<ir::Value*(ir::Builder&, ir::Value* x)> build;
};

// The operation on x[rows, columns].
inline std::vector<NamedRowOp> row_ops(int64_t columns) {
  using B = ir::Builder&;
  using V = ir::Value*;
  std::vector<NamedRowOp> ops;
  for (const int64_t dim : {int64_t{1}, int64_t{0}}) {
    const std::string end = str(" over ", dim);
    for (const std::string name : {"sum", "mean", "prod", "amax", "amin", "logsumexp", "var"})
      ops.push_back({name + end, [=](B b, V x) { return b.reduce(name, x, {dim}); }});
    for (const std::string name : {"argmax", "argmin", "softmax", "log_softmax", "softmin",
                                   "cumsum", "cumprod", "sort", "argsort"})
      ops.push_back({name + end, [=](B b, V x) { return b.op(name, {x}, {{"dim", dim}}); }});
    ops.push_back({"softmax of x * 2 - x" + end, [=](B b, V x) {
                     V twice = b.mul(x, b.scalar(x->dtype(), 2));
                     return b.op("softmax", {b.sub(twice, x)}, {{"dim", dim}});
                   }});
    ops.push_back({"relu of x * 0 summed" + end, [=](B b, V x) {
                     V zero = b.mul(x, b.scalar(x->dtype(), 0));
                     return b.reduce("sum", b.unary("relu", zero), {dim});
                   }});
  }
  ops.push_back({"layer_norm", [=](B b, V x) {
                   return b.op("layer_norm", {x}, {{"normalized_shape", ir::ints({columns})}});
                 }});
  ops.push_back({"rms_norm", [=](B b, V x) {
                   return b.op("rms_norm", {x}, {{"normalized_shape", ir::ints({columns})}});
                 }});
  // A diagonal of 1 and zeros beside it: NaN and infinities meet zeros.
  ops.push_back({"matmul", [=](B b, V x) {
                   V ones = b.splat(x->dtype(), {ir::SymInt(columns), ir::SymInt(7)}, 1);
                   return b.matmul(x, b.op("triu", {ones}));
                 }});
  for (const std::string name : {"max_pool1d", "avg_pool1d"})
    ops.push_back({name, [=](B b, V x) {
                     V image = b.unsqueeze(x, 0);
                     return b.op(name, {image},
                                 {{"kernel_size", ir::ints({3})},
                                  {"stride", ir::ints({1})},
                                  {"padding", ir::ints({1})}});
                   }});
  return ops;
}

}  // namespace tcc::test
