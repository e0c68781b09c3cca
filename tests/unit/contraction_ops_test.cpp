// matmul, linear, einsum and convolutions against plain loops.
#include <cmath>

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/ops/_index_loop.h"
#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

using test::f32;
using test::run;
using test::tensor;
using Numbers = std::vector<double>;
using Dims = std::vector<int64_t>;

// Small whole numbers without a pattern: sums of products are exact.
RefTensor mixed(Dims shape, int seed = 1, DType dtype = DType::f32) {
  RefTensor x(dtype, std::move(shape));
  uint32_t state = 12345u * static_cast<uint32_t>(seed);
  const auto next = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<int64_t>(state >> 24) % 9 - 4;
  };
  for (double& value : x.f) value = static_cast<double>(next());
  for (int64_t& value : x.i) value = next();
  return x;
}

TEST(MatMul, OfMatricesAndVectors) {
  const RefTensor a = f32({2, 3}, {1, 2, 3, 4, 5, 6}), b = f32({3, 2}, {7, 8, 9, 10, 11, 12});
  EXPECT_EQ(run("matmul", {a, b}).f, (Numbers{58, 64, 139, 154}));
  const RefTensor v = f32({3}, {1, 0, -1});
  EXPECT_EQ(run("matmul", {a, v}).f, (Numbers{-2, -2}));
  EXPECT_EQ(run("matmul", {v, b}).f, (Numbers{-4, -4}));
  EXPECT_EQ(run("matmul", {v, v}).shape, Dims{});
  EXPECT_EQ(run("matmul", {v, v}).f, Numbers{2});
  EXPECT_EQ(run("matmul", {f32({2, 0}, {}), f32({0, 2}, {})}).f, (Numbers{0, 0, 0, 0}));
}

TEST(MatMul, BroadcastsBatchDims) {
  const RefTensor a = mixed({2, 1, 3, 4}, 1), b = mixed({5, 4, 2}, 2), c = run("matmul", {a, b});
  ASSERT_EQ(c.shape, (Dims{2, 5, 3, 2}));
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 5; ++j)
      for (size_t m = 0; m < 3; ++m)
        for (size_t n = 0; n < 2; ++n) {
          double sum = 0;
          for (size_t k = 0; k < 4; ++k) sum += a.f[(i * 3 + m) * 4 + k] * b.f[(j * 4 + k) * 2 + n];
          EXPECT_EQ(c.f[((i * 5 + j) * 3 + m) * 2 + n], sum);
        }
}

TEST(MatMul, OfMixedIntegersIsExactInItsOutDtype) {
  const RefTensor a = tensor(DType::u8, {1, 3}, {255, 255, 1});
  const RefTensor b = tensor(DType::i8, {3, 1}, {-128, 127, 5});
  const RefTensor c = run("matmul", {a, b}, {{"out_dtype", "i32"}});
  EXPECT_EQ(c.dtype, DType::i32);
  EXPECT_EQ(c.i, (std::vector<int64_t>{-250}));
  const RefTensor bias = tensor(DType::i32, {1}, {1000});
  const RefTensor weight = tensor(DType::i8, {1, 3}, {-128, 127, 5});
  EXPECT_EQ(run("linear", {a, weight, bias}, {{"out_dtype", "i32"}}).i,
            (std::vector<int64_t>{750}));
  EXPECT_ERROR(test::infer("matmul", {{DType::u8, {1, 3}}, {DType::i8, {3, 1}}}),
               "the operands differ in dtype: u8 and i8; out_dtype would join them");
  EXPECT_ERROR(
      test::infer("matmul", {{DType::f32, {1, 3}}, {DType::f32, {3, 1}}}, {{"out_dtype", "i32"}}),
      "out_dtype is for integers and f8, not f32 and f32");
}

TEST(MatMul, OfF8HasTheOutDtypeAsked) {
  const RefTensor a = tensor(DType::f8e4m3, {1, 3}, {448, 0.5, -2});
  const RefTensor b = tensor(DType::f8e5m2, {3, 1}, {57344, 4, 0x1p-16});
  const RefTensor c = run("matmul", {a, b}, {{"out_dtype", "f32"}});
  EXPECT_EQ(c.dtype, DType::f32);
  EXPECT_EQ(c.f, (std::vector<double>{448.0 * 57344 + 2 - 0x1p-15}));
  const RefTensor bias = tensor(DType::bf16, {1}, {8});
  const RefTensor ones = tensor(DType::f8e4m3, {1, 3}, {0, 1, 1});
  EXPECT_EQ(run("linear", {a, ones, bias}, {{"out_dtype", "bf16"}}).f, (std::vector<double>{6.5}));
  const auto refused = [](DType x, DType y, const Attrs& attrs, const std::string& reason) {
    EXPECT_ERROR(test::infer("matmul", {{x, {1, 3}}, {y, {3, 1}}}, attrs), reason);
  };
  refused(DType::f8e4m3, DType::f8e4m3, {}, "a product of f8 needs an out_dtype: f32, f16 or bf16");
  refused(DType::f8e4m3, DType::f8e5m2, {{"out_dtype", "i32"}},
          "the product of f8e4m3 and f8e5m2 cannot have out_dtype i32");
  refused(DType::f8e4m3, DType::f16, {}, "the operands differ in dtype: f8e4m3 and f16");
  refused(DType::f8e4m3, DType::f16, {{"out_dtype", "f16"}}, "out_dtype is for integers and f8");
  refused(DType::i8, DType::i8, {{"out_dtype", "f32"}},
          "the product of i8 and i8 cannot have out_dtype f32");
}

TEST(Convolution, OfMixedIntegersPadsWithZero) {
  const RefTensor x = tensor(DType::u8, {1, 1, 3}, {200, 201, 202});
  const RefTensor weight = tensor(DType::i8, {1, 1, 3}, {-1, 2, -1});
  EXPECT_EQ(run("conv1d", {x, weight}, {{"padding", 1}, {"out_dtype", "i32"}}).i,
            (std::vector<int64_t>{199, 0, 203}));
}

TEST(MatMul, OfIntegersWraps) {
  const RefTensor c =
      run("matmul", {tensor(DType::i8, {1, 2}, {100, 100}), tensor(DType::i8, {2, 1}, {1, 1})});
  EXPECT_EQ(c.dtype, DType::i8);
  EXPECT_EQ(c.i, std::vector<int64_t>{-56});
  const RefTensor u = run("matmul", {mixed({3, 4}, 1, DType::i32), mixed({4, 2}, 2, DType::i32)});
  const RefTensor f = run("matmul", {mixed({3, 4}, 1), mixed({4, 2}, 2)});
  EXPECT_EQ(test::values(u), f.f);
}

TEST(MatMul, ChecksItsOperands) {
  const Type a = {DType::f32, {2, 3}};
  EXPECT_ERROR(test::infer("matmul", {a, {DType::f32, {4, 2}}}),
               "the inner dims of [2, 3] and [4, 2] differ: 3 and 4");
  EXPECT_ERROR(test::infer("matmul", {a, {DType::f16, {3, 2}}}), "differ in dtype: f32 and f16");
  EXPECT_ERROR(test::infer("matmul", {{DType::f32, {2, 2, 3}}, {DType::f32, {3, 3, 1}}}),
               "do not broadcast");
  const SymInt B = SymInt::symbol("B");
  EXPECT_EQ(test::infer("matmul", {{DType::f32, {B, 3}}, {DType::f32, {3, 4}}}), "f32[B, 4]");
}

TEST(Linear, AddsABiasToTheProductWithTheTranspose) {
  const RefTensor x = f32({1, 2}, {1, 2}), weight = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run("linear", {x, weight}).f, (Numbers{5, 11, 17}));
  EXPECT_EQ(run("linear", {x, weight, f32({3}, {1, 0, -1})}).f, (Numbers{6, 11, 16}));
  EXPECT_EQ(run("linear", {mixed({2, 5, 2}), weight}).shape, (Dims{2, 5, 3}));
  EXPECT_ERROR(test::infer("linear", {{DType::f32, {1, 4}}, {DType::f32, {3, 2}}}),
               "differ: 4 and 2");
}

TEST(AddMm, ScalesBothParts) {
  const RefTensor a = f32({1, 2}, {1, 2}), b = f32({2, 2}, {1, 2, 3, 4}), x = f32({2}, {10, 20});
  EXPECT_EQ(run("addmm", {x, a, b}).f, (Numbers{17, 30}));
  EXPECT_EQ(run("addmm", {x, a, b}, {{"alpha", 2.0}, {"beta", 0.5}}).f, (Numbers{19, 30}));
  const RefTensor nan = f32({2}, {std::nan(""), 0});
  EXPECT_EQ(run("addmm", {nan, a, b}, {{"beta", 0.0}}).f, (Numbers{7, 10}));
}

// ---- einsum

RefTensor einsum(const char* equation, const std::vector<RefTensor>& operands) {
  return run("einsum", operands, {{"equation", std::string(equation)}});
}

TEST(Einsum, SumsProducts) {
  const RefTensor a = mixed({2, 3}, 1), b = mixed({3, 4}, 2);
  EXPECT_EQ(einsum("ij,jk->ik", {a, b}).f, run("matmul", {a, b}).f);
  EXPECT_EQ(einsum("ij, jk", {a, b}).f, run("matmul", {a, b}).f);
  EXPECT_EQ(einsum("ij->ji", {f32({2, 2}, {1, 2, 3, 4})}).f, (Numbers{1, 3, 2, 4}));
  EXPECT_EQ(einsum("ij->", {f32({2, 2}, {1, 2, 3, 4})}).f, Numbers{10});
  EXPECT_EQ(einsum("i,j->ij", {f32({2}, {1, 2}), f32({3}, {1, 10, 100})}).f,
            (Numbers{1, 10, 100, 2, 20, 200}));
  EXPECT_EQ(einsum("ii", {f32({2, 2}, {1, 2, 3, 4})}).f, Numbers{5});
  EXPECT_EQ(einsum("ii->i", {f32({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})}).f, (Numbers{1, 5, 9}));
}

TEST(Einsum, AgreesWithLoops) {
  // b is a batch label, h and d are contracted, the output is transposed, l is summed out of one
  // operand alone.
  const RefTensor x = mixed({2, 3, 4}, 1), y = mixed({5, 4, 3, 2}, 2), z = mixed({2, 3}, 3);
  const RefTensor out = einsum("bhd,odhb,bl->ob", {x, y, z});
  ASSERT_EQ(out.shape, (Dims{5, 2}));
  for (size_t o = 0; o < 5; ++o)
    for (size_t b = 0; b < 2; ++b) {
      double sum = 0;
      for (size_t h = 0; h < 3; ++h)
        for (size_t d = 0; d < 4; ++d)
          for (size_t l = 0; l < 3; ++l)
            sum += x.f[(b * 3 + h) * 4 + d] * y.f[((o * 4 + d) * 3 + h) * 2 + b] * z.f[b * 3 + l];
      EXPECT_EQ(out.f[o * 2 + b], sum);
    }
}

TEST(Einsum, HasAnEllipsisAndBroadcasts) {
  const RefTensor a = mixed({2, 3, 4, 5}, 1), b = mixed({3, 5, 6}, 2);
  EXPECT_EQ(einsum("...ij,...jk->...ik", {a, b}).f, run("matmul", {a, b}).f);
  EXPECT_EQ(einsum("i,i->i", {f32({3}, {1, 2, 3}), f32({1}, {2})}).f, (Numbers{2, 4, 6}));
  EXPECT_EQ(einsum("i,i", {f32({3}, {1, 2, 3}), f32({1}, {2})}).f, Numbers{12});
}

TEST(Einsum, ChecksItsEquation) {
  const auto fails = [](const char* equation) {
    return test::infer("einsum", {{DType::f32, {2, 3}}, {DType::f32, {3, 4}}},
                       {{"equation", std::string(equation)}});
  };
  EXPECT_ERROR(fails("ij->i"), "einsum: the equation has 1 operands, the node 2");
  EXPECT_ERROR(fails("ij,jkl->i"), "'jkl' does not fit an operand of the shape [3, 4]");
  EXPECT_ERROR(fails("ij,ik->jk"), "a label of 'ik' stands for both 2 and 3");
  EXPECT_ERROR(fails("ij,jk->iz"), "a label of the output 'iz' is in no operand");
  EXPECT_ERROR(fails("ij,jk->ii"), "a label occurs twice in the output 'ii'");
  EXPECT_ERROR(fails("i!,jk->i"), "unexpected '!'");
}

// ---- convolution

struct Conv2d {
  Dims stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  int64_t groups = 1;
};

// Computes the convolution by its definition: every output element gathers its window.
RefTensor conv2d(const RefTensor& x, const RefTensor& w, const Conv2d& c) {
  const auto extent = [&](size_t d) {
    return (x.shape[2 + d] + 2 * c.padding[d] - c.dilation[d] * (w.shape[2 + d] - 1) - 1) /
               c.stride[d] +
           1;
  };
  RefTensor out(x.dtype, {x.shape[0], w.shape[0], extent(0), extent(1)});
  const int64_t channels = w.shape[1], group_size = w.shape[0] / c.groups;
  size_t at = 0;
  for (int64_t n = 0; n < out.shape[0]; ++n)
    for (int64_t o = 0; o < out.shape[1]; ++o)
      for (int64_t i = 0; i < out.shape[2]; ++i)
        for (int64_t j = 0; j < out.shape[3]; ++j, ++at)
          for (int64_t k = 0; k < channels; ++k)
            for (int64_t p = 0; p < w.shape[2]; ++p)
              for (int64_t q = 0; q < w.shape[3]; ++q) {
                const int64_t y = i * c.stride[0] - c.padding[0] + p * c.dilation[0];
                const int64_t z = j * c.stride[1] - c.padding[1] + q * c.dilation[1];
                if (y < 0 || y >= x.shape[2] || z < 0 || z >= x.shape[3]) continue;
                const int64_t channel = o / group_size * channels + k;
                const auto from = ((n * x.shape[1] + channel) * x.shape[2] + y) * x.shape[3] + z;
                const auto weight = ((o * channels + k) * w.shape[2] + p) * w.shape[3] + q;
                out.f[at] += x.f[static_cast<size_t>(from)] * w.f[static_cast<size_t>(weight)];
              }
  return out;
}

Attrs attrs_of(const Conv2d& c) {
  return {{"stride", ints(c.stride)},
          {"padding", ints(c.padding)},
          {"dilation", ints(c.dilation)},
          {"groups", c.groups}};
}

TEST(Conv2d, AgreesWithLoops) {
  const RefTensor x = mixed({2, 4, 7, 6}, 1);
  const struct {
    Dims weight;
    Conv2d conv;
  } cases[] = {
      {{3, 4, 3, 3}, {}},
      {{3, 4, 1, 1}, {{2, 3}}},
      {{6, 2, 3, 2}, {{1, 2}, {1, 0}, {1, 1}, 2}},
      {{4, 1, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, 4}},
      {{2, 4, 2, 3}, {{1, 1}, {2, 3}, {3, 2}}},
  };
  for (const auto& c : cases) {
    const RefTensor w = mixed(c.weight, 2), expected = conv2d(x, w, c.conv);
    const RefTensor actual = run("conv2d", {x, w}, attrs_of(c.conv));
    EXPECT_EQ(actual.shape, expected.shape);
    EXPECT_EQ(actual.f, expected.f);
  }
}

TEST(Conv2d, AddsItsBiasPerChannel) {
  const RefTensor x = f32({1, 1, 1, 2}, {1, 2}), w = f32({2, 1, 1, 1}, {1, 10});
  EXPECT_EQ(run("conv2d", {x, w, f32({2}, {100, 200})}).f, (Numbers{101, 102, 210, 220}));
  const RefTensor unbatched = run("conv2d", {f32({1, 1, 2}, {1, 2}), w, f32({2}, {100, 200})});
  EXPECT_EQ(unbatched.shape, (Dims{2, 1, 2}));
  EXPECT_EQ(unbatched.f, (Numbers{101, 102, 210, 220}));
}

TEST(Conv1d, PadsToTheSameExtent) {
  const RefTensor x = f32({1, 1, 4}, {1, 2, 3, 4}), w = f32({1, 1, 2}, {1, 10});
  // An odd padding goes behind.
  EXPECT_EQ(run("conv1d", {x, w}, {{"auto_pad", "same"}}).f, (Numbers{21, 32, 43, 4}));
  EXPECT_EQ(run("conv1d", {x, w}, {{"auto_pad", "valid"}, {"padding", 5}}).f,
            (Numbers{21, 32, 43}));
  EXPECT_ERROR(test::infer("conv1d", {test::type_of(x), test::type_of(w)},
                           {{"auto_pad", "same"}, {"stride", 2}}),
               "auto_pad same needs stride 1");
}

TEST(Conv3d, IsConvolutionInThreeDims) {
  // One window that covers the input is an inner product.
  const RefTensor x = mixed({1, 2, 2, 3, 2}, 1), w = mixed({1, 2, 2, 3, 2}, 2);
  double sum = 0;
  for (size_t k = 0; k < x.f.size(); ++k) sum += x.f[k] * w.f[k];
  EXPECT_EQ(run("conv3d", {x, w}).f, Numbers{sum});
}

TEST(ConvTranspose, ScattersTheKernel) {
  const RefTensor x = f32({1, 1, 2}, {1, 10}), w = f32({1, 1, 3}, {1, 2, 3});
  EXPECT_EQ(run("conv_transpose1d", {x, w}).f, (Numbers{1, 12, 23, 30}));
  EXPECT_EQ(run("conv_transpose1d", {x, w}, {{"stride", 2}}).f, (Numbers{1, 2, 13, 20, 30}));
  EXPECT_EQ(
      run("conv_transpose1d", {x, w}, {{"stride", 2}, {"padding", 1}, {"output_padding", 1}}).f,
      (Numbers{2, 13, 20, 30}));
  EXPECT_EQ(run("conv_transpose1d", {x, w}, {{"dilation", 2}}).f, (Numbers{1, 10, 2, 20, 3, 30}));
}

TEST(ConvTranspose, AgreesWithScatteringLoops) {
  const int64_t groups = 2, stride = 2, padding = 1;
  const RefTensor x = mixed({2, 4, 3, 4}, 1), w = mixed({4, 3, 3, 2}, 2);
  const RefTensor out = run("conv_transpose2d", {x, w},
                            {{"groups", groups}, {"stride", stride}, {"padding", padding}});
  ASSERT_EQ(out.shape, (Dims{2, 6, 5, 6}));
  Numbers expected(out.f.size(), 0.0);
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t c = 0; c < 4; ++c)
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 4; ++j)
          for (int64_t o = 0; o < 3; ++o)
            for (int64_t p = 0; p < 3; ++p)
              for (int64_t q = 0; q < 2; ++q) {
                const int64_t y = i * stride - padding + p, z = j * stride - padding + q;
                if (y < 0 || y >= 5 || z < 0 || z >= 6) continue;
                const int64_t channel = c / 2 * 3 + o;
                expected[static_cast<size_t>(((n * 6 + channel) * 5 + y) * 6 + z)] +=
                    x.f[static_cast<size_t>(((n * 4 + c) * 3 + i) * 4 + j)] *
                    w.f[static_cast<size_t>(((c * 3 + o) * 3 + p) * 2 + q)];
              }
  EXPECT_EQ(out.f, expected);
}

TEST(Convolution, OfIntegersAndLargeImages) {
  // More columns than the im2col buffer holds at once.
  const RefTensor x = mixed({1, 16, 180, 180}, 1), w = mixed({2, 16, 3, 3}, 2);
  EXPECT_EQ(run("conv2d", {x, w}, {{"padding", 1}}).f, conv2d(x, w, {{1, 1}, {1, 1}}).f);
  const RefTensor xi = mixed({1, 2, 5, 5}, 3, DType::i32), wi = mixed({2, 2, 3, 3}, 4, DType::i32);
  EXPECT_EQ(test::values(run("convolution", {xi, wi})),
            conv2d(mixed({1, 2, 5, 5}, 3), mixed({2, 2, 3, 3}, 4), {}).f);
}

TEST(Convolution, ChecksItsSizes) {
  const Type x = {DType::f32, {1, 4, 5, 5}};
  EXPECT_ERROR(test::infer("conv2d", {x, {DType::f32, {2, 3, 3, 3}}}), "x has 4 channels");
  EXPECT_ERROR(test::infer("conv2d", {x, {DType::f32, {2, 4, 7, 7}}}),
               "a window of 7 does not fit into the padded extent 5");
  EXPECT_ERROR(test::infer("conv2d", {x, {DType::f32, {3, 2, 1, 1}}}, {{"groups", 2}}),
               "groups 2 does not divide the 3 output channels");
  EXPECT_ERROR(test::infer("conv2d", {x, {DType::f32, {2, 4, 3}}}), "weight must have 4 dims");
  EXPECT_ERROR(test::infer("conv2d", {x, {DType::f32, {2, 4, 3, 3}}}, {{"stride", 0}}),
               "stride 0 is out of range");
  EXPECT_ERROR(
      test::infer("conv2d", {x, {DType::f32, {2, 4, 3, 3}}}, {{"dilation", ints({1, 1, 1})}}),
      "dilation must have 1 or 2 entries, not 3");
  EXPECT_ERROR(
      test::infer("conv_transpose2d", {x, {DType::f32, {4, 2, 3, 3}}}, {{"output_padding", 1}}),
      "output_padding must be smaller than stride or dilation");
}

// ---- index maps

// The sum of products that a node's index maps describe, walked over with numbers.
class ContractionWalk {
 public:
  ContractionWalk(const Node& node, const RefTensor& a, const RefTensor& b, RefTensor out)
      : c_(node.op->contraction(node)), a_(a), b_(b), out_(std::move(out)) {}

  RefTensor run() {
    each(c_.batch, [&](const Shape& batch) {
      each(c_.m, [&](const Shape& m) {
        each(c_.n,
             [&](const Shape& n) { out_.f[at(out_, c_.out(batch, m, n))] = sum(batch, m, n); });
      });
    });
    return std::move(out_);
  }
  // The number of products.
  double size() const {
    double product = 1;
    for (const auto* axes : {&c_.batch, &c_.m, &c_.n, &c_.k})
      for (const SymInt& extent : *axes) product *= static_cast<double>(extent.value());
    return product;
  }

 private:
  template <class Body>
  static void each(const std::vector<SymInt>& extents, const Body& body) {
    const auto shape = const_shape(extents);
    std::vector<int64_t> index(shape.size(), 0);
    for (int64_t k = ops::count_of(shape); k > 0; --k, ops::advance(index, shape))
      body(Shape(index.begin(), index.end()));
  }

  static size_t at(const RefTensor& t, const std::vector<SymInt>& index) {
    EXPECT_EQ(index.size(), t.shape.size());
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      EXPECT_TRUE(index[d].value() >= 0 && index[d].value() < t.shape[d]);
      offset = offset * t.shape[d] + index[d].value();
    }
    return static_cast<size_t>(offset);
  }

  double sum(const Shape& batch, const Shape& m, const Shape& n) const {
    double total = 0;
    each(c_.k, [&](const Shape& k) {
      const Access a = c_.a(batch, m, k), b = c_.b(batch, k, n);
      const double product = a_.f[at(a_, a.index)] * b_.f[at(b_, b.index)];
      if (!a.valid || is_true(a.valid)) total += product;
    });
    return total;
  }

  Contraction c_;
  const RefTensor& a_;
  const RefTensor& b_;
  RefTensor out_;
};

TEST(Contraction, IndexMapsSayWhatTheReferenceSays) {
  constexpr double limit = 1e5;
  for (const OpDef& op : all_ops()) {
    for (size_t k = 0; op.kind == OpKind::contraction && k < op.samples.size(); ++k) {
      const OpSample& sample = op.samples[k];
      if (!is_float(sample.inputs[0].dtype)) continue;
      SCOPED_TRACE(str(op.name, " sample ", k));
      const auto draw = [&](size_t operand) {
        return mixed(const_shape(sample.inputs[operand].shape), static_cast<int>(operand) + 1,
                     sample.inputs[operand].dtype);
      };
      const RefTensor a = draw(0), b = draw(1), expected = run(op.name, {a, b}, sample.attrs);
      const Graph graph = test::op_graph(op.name, sample.inputs, sample.attrs);
      ContractionWalk walk(*graph.nodes()[0], a, b, RefTensor(expected.dtype, expected.shape));
      if (walk.size() < limit) { EXPECT_EQ(walk.run().f, expected.f); }
    }
  }
}

}  // namespace
}  // namespace tcc::ir
