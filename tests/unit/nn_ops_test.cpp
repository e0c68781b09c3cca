// Softmaxes, normalisations, losses, attention and resampling against numbers written down and
// plain loops.
#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "ir/builder.h"
#include "support/error.h"
#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

using test::f32;
using test::i64;
using test::run;
using test::run_all;
using test::tensor;
using Numbers = std::vector<double>;
using Dims = std::vector<int64_t>;

constexpr double kInf = std::numeric_limits<double>::infinity();

void expect_near(const Numbers& actual, const Numbers& expected, double tolerance = 1e-6) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k) EXPECT_NEAR(actual[k], expected[k], tolerance) << k;
}

// Numbers without a pattern, in [-2, 2).
RefTensor mixed(Dims shape, int seed = 1) {
  RefTensor x(DType::f32, std::move(shape));
  uint32_t state = 12345u * static_cast<uint32_t>(seed);
  for (double& value : x.f) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<double>(state >> 8) / (1 << 22) - 2;
  }
  return x;
}

TEST(Softmax, SumsToOneAndSurvivesLargeNumbers) {
  const RefTensor x = f32({2, 3}, {1, 2, 3, 1000, 1000, -1000});
  const double e = std::exp(1), sum = 1 + e + e * e;
  expect_near(run("softmax", {x}, {{"dim", 1}}).f, {1 / sum, e / sum, e * e / sum, 0.5, 0.5, 0});
  expect_near(run("log_softmax", {f32({2}, {0, std::log(3)})}, {{"dim", 0}}).f,
              {std::log(0.25), std::log(0.75)});
  expect_near(run("softmin", {f32({2}, {0, -std::log(3)})}, {{"dim", 0}}).f, {0.25, 0.75});
  EXPECT_EQ(run("softmax", {f32({}, {3})}, {{"dim", 0}}).f, Numbers{1});
  EXPECT_EQ(run("softmax", {f32({2, 0}, {})}, {{"dim", 1}}).shape, (Dims{2, 0}));
  EXPECT_TRUE(std::isnan(run("softmax", {f32({2}, {-kInf, -kInf})}, {{"dim", 0}}).f[0]));
  EXPECT_EQ(run("softmax", {f32({2}, {-kInf, 5})}, {{"dim", 0}}).f, (Numbers{0, 1}));
}

TEST(LayerNorm, NormalisesTheTrailingDims) {
  const RefTensor x = f32({2, 4}, {1, 2, 3, 4, 10, 10, 10, 10});
  const double s = 1 / std::sqrt(1.25 + 1e-5);
  expect_near(run("layer_norm", {x}, {{"normalized_shape", 4}}).f,
              {-1.5 * s, -0.5 * s, 0.5 * s, 1.5 * s, 0, 0, 0, 0});
  const Numbers scaled =
      run("layer_norm", {f32({1, 4}, {1, 2, 3, 4}), f32({4}, {1, 2, 3, 4}), f32({4}, {0, 0, 1, 1})},
          {{"normalized_shape", 4}, {"eps", 0.0}})
          .f;
  const double u = 1 / std::sqrt(1.25);
  expect_near(scaled, {-1.5 * u, -u, 1.5 * u + 1, 6 * u + 1});
  // A mean that dwarfs the spread does not swamp it.
  const Numbers far =
      run("layer_norm", {f32({2}, {1e6, 1e6 + 2})}, {{"normalized_shape", 2}, {"eps", 0.0}}).f;
  expect_near(far, {-1, 1});
  EXPECT_ERROR(test::infer("layer_norm", {{DType::f32, {2, 4}}}, {{"normalized_shape", 3}}),
               "normalized_shape [3] differs from the trailing dims of x, [4]");
}

TEST(RmsNorm, DividesByTheRootMeanSquare) {
  const double r = std::sqrt(12.5);
  expect_near(run("rms_norm", {f32({1, 2}, {3, 4}), f32({2}, {1, 10})},
                  {{"normalized_shape", 2}, {"eps", 0.0}})
                  .f,
              {3 / r, 40 / r});
  // The default of eps is the machine epsilon of the dtype, 2^-10 for f16.
  const RefTensor half = tensor(DType::f16, {1, 2}, {0.03125, 0.03125});
  const double x = 0.03125;
  expect_near(run("rms_norm", {half}, {{"normalized_shape", 2}}).f,
              Numbers(2, x / std::sqrt(x * x + std::ldexp(1, -10))));
}

TEST(Norms, TakeSymbolicSizesThatMayBeTheSame) {
  for (const char* op : {"rms_norm", "layer_norm"}) {
    const auto graph = [&](const std::string& shape) {
      return parse_yaml_graph(str(R"(tcc: 1
dims: {B: 2, H: 4, W: 4}
inputs:
  x: {dtype: f32, shape: [B, H]}
  w: {dtype: f32, shape: [)",
                                  shape, R"(]}
nodes:
  - {out: y, op: )",
                                  op, ", in: [x, w], normalized_shape: [", shape, R"(]}
outputs: [y]
)"),
                              "norm.yaml", "");
    };
    for (const char* same : {"H", "W", "4"})
      EXPECT_EQ(const_shape(*graph(same).bind({}).outputs[0]), (Dims{2, 4})) << op << " " << same;
    EXPECT_ERROR(graph("W").bind({{"W", 5}}), "differs from the trailing dims of x");
    EXPECT_ERROR(graph("3").bind({}), "differs from the trailing dims of x");
  }
}

// One size under two names is a size that the numbers must confirm.
TEST(Products, TakeSymbolicSizesThatMayBeTheSame) {
  struct Case {
    const char *a, *b, *node;
    Dims out;
  };
  const std::vector<Case> cases = {
      {"[B, H]", "[W, 3]", "op: matmul, in: [a, b]", {2, 3}},
      {"[B, H]", "[3, W]", "op: linear, in: [a, b]", {2, 3}},
      {"[5, B, H]", "[5, W, 3]", "op: bmm, in: [a, b]", {5, 2, 3}},
      {"[B, H, 5]", "[3, W, 2]", "op: conv1d, in: [a, b]", {2, 3, 4}},
      {"[B, H, 5]", "[W, 3, 2]", "op: conv_transpose1d, in: [a, b]", {2, 3, 6}},
      {"[7, H]", "[5, W]", "op: scaled_dot_product_attention, in: [a, b, b], scale: 1", {7, 4}},
      {"[B, H]", "[W, 3]", "op: einsum, in: [a, b], equation: 'ij,jk->ik'", {2, 3}},
      {"[B, H]", "[B, W]", "op: cat, in: [a, b]", {4, 4}},
      {"[H]", "[W]", "op: stack, in: [a, b]", {2, 4}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.node);
    const Graph graph = parse_yaml_graph(
        str("tcc: 1\ndims: {B: 2, H: 4, W: 4}\ninputs:\n  a: {dtype: f32, shape: ", c.a,
            "}\n  b: {dtype: f32, shape: ", c.b, "}\nnodes:\n  - {out: y, ", c.node,
            "}\noutputs: [y]\n"),
        "g.yaml", "");
    EXPECT_EQ(const_shape(*graph.bind({}).outputs[0]), c.out);
    EXPECT_EQ(const_shape(*graph.bind({{"H", 6}, {"W", 6}}).outputs[0]).size(), c.out.size());
    EXPECT_ERROR(graph.bind({{"W", 5}}), "g.yaml:7: ");
  }
}

TEST(GroupNorm, NormalisesGroupsOfChannels) {
  const RefTensor x = f32({1, 4, 1}, {1, 3, 10, 30});
  expect_near(run("group_norm", {x, f32({4}, {1, 1, 2, 2}), f32({4}, {0, 5, 0, 5})},
                  {{"num_groups", 2}, {"eps", 0.0}})
                  .f,
              {-1, 6, -2, 7});
  const RefTensor image = f32({1, 2, 2}, {1, 3, 5, 9});
  expect_near(run("instance_norm", {image}, {{"eps", 0.0}}).f, {-1, 1, -1, 1});
  EXPECT_ERROR(test::infer("group_norm", {{DType::f32, {1, 4}}}, {{"num_groups", 3}}),
               "num_groups 3 does not divide the 4 channels");
}

TEST(BatchNorm, UsesTheRunningStatistics) {
  const RefTensor x = f32({1, 2, 2}, {1, 2, 3, 4}), mean = f32({2}, {1, 2}), var = f32({2}, {4, 1});
  expect_near(run("batch_norm", {x, mean, var}, {{"eps", 0.0}}).f, {0, 0.5, 1, 2});
  expect_near(
      run("batch_norm", {x, mean, var, f32({2}, {10, 1}), f32({2}, {1, 0})}, {{"eps", 0.0}}).f,
      {1, 6, 1, 2});
}

TEST(Glu, GatesTheFirstHalf) {
  expect_near(run("glu", {f32({1, 4}, {2, 3, 0, std::log(3)})}).f, {1, 2.25});
  EXPECT_ERROR(test::infer("glu", {{DType::f32, {3}}}), "the dim to split must be even, not 3");
}

TEST(Normalize, AndCosineSimilarity) {
  expect_near(run("normalize", {f32({2, 2}, {3, 4, 0, 0})}).f, {0.6, 0.8, 0, 0});
  expect_near(run("cosine_similarity", {f32({2, 2}, {3, 4, 1, 0}), f32({2, 2}, {4, 3, 0, 2})}).f,
              {0.96, 0});
  // Broadcast along the reduced dim, x counts as often as it is repeated.
  expect_near(run("cosine_similarity", {f32({1, 1}, {2}), f32({1, 4}, {1, 1, 1, 1})}).f, {1});
}

TEST(Losses, OnDifferences) {
  const RefTensor x = f32({3}, {1, 2, 3}), target = f32({3}, {1, 4, 0});
  expect_near(run("mse_loss", {x, target}).f, {13.0 / 3});
  expect_near(run("mse_loss", {x, target}, {{"reduction", "none"}}).f, {0, 4, 9});
  expect_near(run("l1_loss", {x, target}, {{"reduction", "sum"}}).f, {5});
}

TEST(CrossEntropy, CountsWhatIsNotIgnored) {
  const RefTensor x = f32({3, 2}, {0, std::log(3), 0, 0, 5, 5});
  const RefTensor target = i64({3}, {1, 0, -100});
  const double first = -std::log(0.75), second = std::log(2);
  expect_near(run("cross_entropy", {x, target}).f, {(first + second) / 2});
  expect_near(run("cross_entropy", {x, target}, {{"reduction", "none"}}).f, {first, second, 0});
  expect_near(run("cross_entropy", {x, target}, {{"reduction", "sum"}}).f, {first + second});
  // With smoothing s, the target has 1 - s + s/2 and the other class s/2.
  const double other = -std::log(0.25), smoothed = 0.95 * first + 0.05 * other;
  expect_near(
      run("cross_entropy", {x, target}, {{"reduction", "none"}, {"label_smoothing", 0.1}}).f,
      {smoothed, second, 0});
  const RefTensor ignored = i64({1}, {-100});
  EXPECT_TRUE(std::isnan(run("cross_entropy", {f32({1, 2}, {0, 1}), ignored}).f[0]));
}

TEST(CrossEntropy, WeighsClasses) {
  const RefTensor log_prob = f32({3, 2}, {-1, -2, -3, -4, -5, -6}), weight = f32({2}, {0.5, 2});
  const RefTensor target = i64({3}, {1, 0, 7});  // 7: no class, but ignored
  const Attrs ignored = {{"ignore_index", 7}};
  const auto with = [&](const char* reduction) {
    Attrs attrs = ignored;
    attrs["reduction"] = std::string(reduction);
    return run("nll_loss", {log_prob, target, weight}, attrs).f;
  };
  expect_near(with("none"), {4, 1.5, 0});
  expect_near(with("sum"), {5.5});
  expect_near(with("mean"), {5.5 / 2.5});
  // PyTorch's smoothing: the share of all classes is weighted class by class.
  const RefTensor x = f32({1, 2}, {0, std::log(3)});
  const double low = -std::log(0.25), high = -std::log(0.75);
  const double smoothed = 0.8 * 2 * high + 0.2 * (0.5 * low + 2 * high) / 2;
  expect_near(run("cross_entropy", {x, i64({1}, {1}), weight}, {{"label_smoothing", 0.2}}).f,
              {smoothed / 2});
  EXPECT_ERROR(
      test::infer("nll_loss", {{DType::f32, {4, 2}}, {DType::i64, {4}}, {DType::f32, {3}}}),
      "operand 2 has the shape [3]; one weight per class is [2]");
}

TEST(CrossEntropy, GivesItsLogProbabilitiesIfAsked) {
  const auto results = run_all("cross_entropy", {f32({1, 2}, {0, std::log(3)}), i64({1}, {1})},
                               {{"return_log_prob", true}});
  ASSERT_EQ(results.size(), 2u);
  expect_near(results[0].f, {-std::log(0.75)});
  expect_near(results[1].f, {std::log(0.25), std::log(0.75)});
}

TEST(CrossEntropy, HasItsClassesInDimOne) {
  const RefTensor x = f32({1, 2, 2}, {0, 1, std::log(3), 1});  // [N, C, d]
  expect_near(run("cross_entropy", {x, i64({1, 2}, {0, 1})}, {{"reduction", "none"}}).f,
              {-std::log(0.25), std::log(2)});
  expect_near(run("cross_entropy", {f32({2}, {0, 0}), i64({}, {1})}).f, {std::log(2)});
  expect_near(run("nll_loss", {f32({2, 2}, {-1, -2, -3, -4}), i64({2}, {1, 0})}).f, {2.5});
  EXPECT_ERROR(test::infer("cross_entropy", {{DType::f32, {4, 2}}, {DType::i64, {3}}}),
               "operand 1 has the shape [3]; the input's shape without the classes is [4]");
}

// ---- attention

// One head by loops: query [l, e], key [s, e], value [s, ev]; `bias` is added to the scores.
Numbers attend(const double* query, const double* key, const double* value, size_t l, size_t s,
               size_t e, size_t ev, double scale, const std::function<double(size_t, size_t)>& bias,
               Numbers* lse) {
  Numbers out(l * ev, 0.0);
  for (size_t i = 0; i < l; ++i) {
    Numbers weight(s);
    double sum = 0;
    for (size_t j = 0; j < s; ++j) {
      double score = 0;
      for (size_t d = 0; d < e; ++d) score += query[i * e + d] * key[j * e + d];
      sum += weight[j] = std::exp(score * scale + bias(i, j));
    }
    lse->push_back(std::log(sum));
    for (size_t j = 0; j < s; ++j)
      for (size_t d = 0; d < ev; ++d) out[i * ev + d] += weight[j] / sum * value[j * ev + d];
  }
  return out;
}

double no_bias(size_t, size_t) { return 0; }
double causal(size_t i, size_t j) { return j <= i ? 0 : -kInf; }

TEST(Attention, AgreesWithLoops) {
  const RefTensor q = mixed({3, 4}, 1), k = mixed({5, 4}, 2), v = mixed({5, 2}, 3);
  for (const bool is_causal : {false, true}) {
    const auto result =
        run_all("scaled_dot_product_attention", {q, k, v}, {{"is_causal", is_causal}});
    Numbers lse;
    expect_near(result[0].f, attend(q.f.data(), k.f.data(), v.f.data(), 3, 5, 4, 2, 0.5,
                                    is_causal ? causal : no_bias, &lse));
    expect_near(result[1].f, lse);
    EXPECT_EQ(result[1].dtype, DType::f32);
  }
}

TEST(Attention, SharesKeyHeadsAmongQueryHeads) {
  const RefTensor q = mixed({1, 4, 2, 3}, 1), k = mixed({1, 2, 5, 3}, 2),
                  v = mixed({1, 2, 5, 3}, 3);
  const auto result = run_all("scaled_dot_product_attention", {q, k, v},
                              {{"enable_gqa", true}, {"is_causal", true}, {"scale", 0.3}});
  EXPECT_EQ(result[0].shape, (Dims{1, 4, 2, 3}));
  EXPECT_EQ(result[1].shape, (Dims{1, 4, 2}));
  Numbers expected, lse;
  for (size_t head = 0; head < 4; ++head) {
    const size_t shared = head / 2;  // repeat_interleave
    const Numbers part = attend(q.f.data() + head * 6, k.f.data() + shared * 15,
                                v.f.data() + shared * 15, 2, 5, 3, 3, 0.3, causal, &lse);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  expect_near(result[0].f, expected);
  expect_near(result[1].f, lse);
}

TEST(Attention, TakesMasks) {
  const RefTensor q = mixed({2, 4}, 1), k = mixed({3, 4}, 2), v = mixed({3, 4}, 3);
  const RefTensor added = f32({2, 3}, {0, 1, -kInf, 2, -1, 0.5});
  Numbers lse;
  expect_near(run("scaled_dot_product_attention", {q, k, v, added}).f,
              attend(
                  q.f.data(), k.f.data(), v.f.data(), 2, 3, 4, 4, 0.5,
                  [&](size_t i, size_t j) { return added.f[i * 3 + j]; }, &lse));
  const RefTensor seen = tensor(DType::boolean, {2, 3}, {1, 0, 1, 0, 0, 0});
  const auto masked = run_all("scaled_dot_product_attention", {q, k, v, seen});
  const Numbers first(masked[0].f.begin(), masked[0].f.begin() + 4);
  lse.clear();
  expect_near(first, attend(
                         q.f.data(), k.f.data(), v.f.data(), 1, 3, 4, 4, 0.5,
                         [](size_t, size_t j) { return j == 1 ? -kInf : 0; }, &lse));
  EXPECT_TRUE(std::isnan(masked[0].f[4]));  // the second query sees no key
  EXPECT_EQ(masked[1].f[1], -kInf);
  EXPECT_NEAR(masked[1].f[0], lse[0], 1e-6);
}

TEST(Attention, IsZeroWithoutKeys) {
  const RefTensor q = mixed({2, 3, 4}), k = f32({2, 0, 4}, {}), v = f32({2, 0, 5}, {});
  for (const bool is_causal : {false, true}) {
    const auto result =
        run_all("scaled_dot_product_attention", {q, k, v}, {{"is_causal", is_causal}});
    EXPECT_EQ(result[0].shape, (Dims{2, 3, 5}));
    EXPECT_EQ(result[0].f, Numbers(30, 0));
    EXPECT_EQ(result[1].f, Numbers(6, -kInf));
  }
}

TEST(Attention, ChecksItsShapes) {
  const Type q = {DType::f32, {2, 4, 8}}, k = {DType::f32, {2, 6, 8}};
  EXPECT_ERROR(test::infer("scaled_dot_product_attention", {q, k, {DType::f32, {2, 5, 8}}}),
               "key has length 6, value 5");
  EXPECT_ERROR(test::infer("scaled_dot_product_attention", {q, k, k, {DType::f32, {4, 5}}}),
               "do not broadcast");
  EXPECT_ERROR(test::infer("scaled_dot_product_attention", {q, k, k, {DType::f32, {4, 6}}},
                           {{"is_causal", true}}),
               "exclude each other");
  EXPECT_ERROR(test::infer("scaled_dot_product_attention", {{DType::f32, {3, 4, 8}}, k, k},
                           {{"enable_gqa", true}}),
               "the 3 query heads are no multiple of the 2 key heads");
  EXPECT_ERROR(
      test::infer("scaled_dot_product_attention", {{DType::f32, {8, 4, 8}}, k, k}),
      "8 query heads and 2 key heads do not broadcast; with enable_gqa, 4 query heads share a key "
      "head");
  EXPECT_ERROR(test::infer("scaled_dot_product_attention", {{DType::f32, {3, 4, 8}}, k, k}),
               "do not broadcast");
}

TEST(Attention, TakesSymbolicHeadsAndDepths) {
  const SymInt heads = SymInt::symbol("H"), shared = SymInt::symbol("G"), d = SymInt::symbol("D");
  const Type q = {DType::f32, {heads, 4, d}}, k = {DType::f32, {shared, 6, d}};
  EXPECT_EQ(test::infer("scaled_dot_product_attention", {q, k, k}, {{"enable_gqa", true}}),
            "f32[H, 4, D]");
}

// ---- interpolate

TEST(Interpolate, Nearest) {
  const RefTensor x = f32({1, 1, 4}, {0, 1, 2, 3});
  EXPECT_EQ(run("interpolate", {x}, {{"size", 6}}).f, (Numbers{0, 0, 1, 2, 2, 3}));
  EXPECT_EQ(run("interpolate", {x}, {{"size", 2}}).f, (Numbers{0, 2}));
  EXPECT_EQ(run("interpolate", {x}, {{"size", 2}, {"mode", "nearest-exact"}}).f, (Numbers{1, 3}));
  EXPECT_EQ(run("interpolate", {x}, {{"scale_factor", 2.0}}).f, (Numbers{0, 0, 1, 1, 2, 2, 3, 3}));
  // A step is 1 / 1.3, not 4 / 5.
  EXPECT_EQ(run("interpolate", {x}, {{"scale_factor", 1.3}}).f, (Numbers{0, 0, 1, 2, 3}));
  const RefTensor image = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(run("interpolate", {image}, {{"size", ints({2, 4})}}).f,
            (Numbers{1, 1, 2, 2, 3, 3, 4, 4}));
}

TEST(Interpolate, Linear) {
  const RefTensor x = f32({1, 1, 2}, {0, 4});
  expect_near(run("interpolate", {x}, {{"size", 4}, {"mode", "linear"}}).f, {0, 1, 3, 4});
  expect_near(run("interpolate", {x}, {{"size", 5}, {"mode", "linear"}, {"align_corners", true}}).f,
              {0, 1, 2, 3, 4});
  expect_near(
      run("interpolate", {f32({1, 1, 4}, {0, 1, 2, 3})}, {{"size", 2}, {"mode", "linear"}}).f,
      {0.5, 2.5});
  const RefTensor image = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  // torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear")
  expect_near(run("interpolate", {image}, {{"scale_factor", 2.0}, {"mode", "bilinear"}}).f,
              {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4});
}

TEST(Interpolate, ChecksItsAttributes) {
  const Type x = {DType::f32, {1, 1, 4, 4}};
  EXPECT_ERROR(test::infer("interpolate", {x}),
               "exactly one of size and scale_factor must be given");
  EXPECT_ERROR(test::infer("interpolate", {x}, {{"size", ints({1, 2, 3})}}),
               "must have 1 or 2 entries, not 3");
  EXPECT_ERROR(test::infer("interpolate", {x}, {{"size", 2}, {"mode", "linear"}}),
               "mode linear needs 1 spatial dims");
  EXPECT_ERROR(test::infer("interpolate", {x}, {{"scale_factor", 0.1}}),
               "a spatial dim of 4 would become 0");
}

}  // namespace
}  // namespace tcc::ir
