// lstm, gru and rnn against ONNX's reference evaluator and against themselves.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/pipeline.h"
#include "ir/builder.h"
#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

using test::f32;
using test::run_all;
using Numbers = std::vector<double>;

void expect_near(const Numbers& values, const Numbers& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t k = 0; k < values.size(); ++k) EXPECT_NEAR(values[k], expected[k], 1e-4) << k;
}

// Some numbers in [-5/8, 5/8].
RefTensor shifted(std::vector<int64_t> shape, int64_t k) {
  RefTensor result(DType::f32, std::move(shape));
  for (size_t a = 0; a < result.f.size(); ++a)
    result.f[a] = static_cast<double>((static_cast<int64_t>(a) * 7 + k) % 11 - 5) / 8;
  return result;
}

const RefTensor kX = f32({3, 2, 1}, {1, -1, 0.5, 2, -2, 0.25});

std::vector<RefTensor> layer(int64_t gates) {
  return {kX, shifted({1, 2 * gates, 1}, 1), shifted({1, 2 * gates, 2}, 2),
          shifted({1, 4 * gates}, 3)};
}

TEST(Lstm, AgreesWithOnnx) {
  const auto out = run_all("lstm", layer(4));
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(out[0].shape, (std::vector<int64_t>{3, 1, 2, 2}));
  expect_near(out[0].f, {-0.04044, 0.09421, -0.27818, 0.12655, -0.13835, 0.16201, -0.17203, 0.09329,
                         -0.43289, 0.36051, -0.28346, 0.21454});
  expect_near(out[1].f, {-0.43289, 0.36051, -0.28346, 0.21454});
  expect_near(out[2].f, {-0.8327, 0.5908, -0.5498, 0.73427});
}

TEST(Lstm, HasStatesLengthsAndPeepholes) {
  auto inputs = layer(4);
  inputs.push_back(test::i64({2}, {3, 3}));
  inputs.push_back(shifted({1, 2, 2}, 4));
  inputs.push_back(shifted({1, 2, 2}, 5));
  inputs.push_back(shifted({1, 6}, 6));
  const auto out = run_all("lstm", inputs);
  expect_near(out[0].f, {-0.04105, 0.04958, -0.1234, 0.0629, -0.13003, 0.1368, -0.05363, 0.07848,
                         -0.36397, 0.32197, -0.17091, 0.19357});
  expect_near(out[2].f, {-0.82634, 0.51718, -0.3296, 0.68456});
}

// Both directions keep their initial states.
TEST(Lstm, OfNoStepsKeepsItsStates) {
  const auto out = run_all(
      "lstm",
      {RefTensor(DType::f32, {0, 2, 1}), shifted({2, 8, 1}, 1), shifted({2, 8, 2}, 2),
       shifted({2, 16}, 3), test::i64({2}, {0, 0}), shifted({2, 2, 2}, 4), shifted({2, 2, 2}, 5)},
      {{"direction", "bidirectional"}});
  EXPECT_EQ(out[0].shape, (std::vector<int64_t>{0, 2, 2, 2}));
  EXPECT_EQ(out[1].f, shifted({2, 2, 2}, 4).f);
  EXPECT_EQ(out[2].f, shifted({2, 2, 2}, 5).f);
}

TEST(Gru, AgreesWithOnnx) {
  expect_near(run_all("gru", layer(3))[0].f,
              {0.59199, -0.09326, 0.25979, 0, 0.64193, -0.14394, 0.76069, -0.09269, 0.36689,
               0.04833, 0.6382, -0.13028});
  expect_near(run_all("gru", layer(3), {{"linear_before_reset", true}})[1].f,
              {0.30425, 0.12895, 0.57582, -0.04333});
}

TEST(Rnn, AgreesWithOnnx) {
  expect_near(run_all("rnn", layer(1))[0].f,
              {-0.5546, 0.5546, 0.35836, -0.12435, 0.10983, 0.15884, -0.86717, 0.7865, 0.72268,
               -0.52225, 0.43694, -0.04946});
}

// The second sequence is one step long: its state stays, and its output is 0 from then on;
// backwards its only step comes last.
TEST(Recurrent, EndsEachSequenceAtItsLength) {
  auto inputs = layer(1);
  const Numbers whole = run_all("rnn", inputs)[0].f;
  inputs.push_back(test::i64({2}, {3, 1}));
  const auto out = run_all("rnn", inputs);
  expect_near(out[0].f, {whole[0], whole[1], whole[2], whole[3], whole[4], whole[5], 0, 0, whole[8],
                         whole[9], 0, 0});
  expect_near(out[1].f, {whole[8], whole[9], whole[2], whole[3]});
  const auto back = run_all("rnn", inputs, {{"direction", "reverse"}});
  expect_near({back[0].f[2], back[0].f[3]}, {whole[2], whole[3]});
  expect_near({back[1].f[2], back[1].f[3]}, {whole[2], whole[3]});
}

TEST(Recurrent, RunsBothWays) {
  const std::vector<RefTensor> both = {kX, shifted({2, 6, 1}, 1), shifted({2, 6, 2}, 2),
                                       shifted({2, 12}, 3)};
  const auto half = [&](size_t side) {
    std::vector<RefTensor> inputs = {kX};
    for (size_t k = 1; k < both.size(); ++k) {
      std::vector<int64_t> shape = both[k].shape;
      shape[0] = 1;
      const auto size = both[k].f.size() / 2;
      const auto first = both[k].f.begin() + static_cast<std::ptrdiff_t>(side * size);
      inputs.push_back(f32(shape, {first, first + static_cast<std::ptrdiff_t>(size)}));
    }
    return inputs;
  };
  const Numbers out = run_all("gru", both, {{"direction", "bidirectional"}})[0].f;
  const Numbers ahead = run_all("gru", half(0))[0].f;
  const Numbers back = run_all("gru", half(1), {{"direction", "reverse"}})[0].f;
  Numbers expected;
  for (size_t t = 0; t < 3; ++t)
    for (const Numbers* side : {&ahead, &back})
      expected.insert(expected.end(), side->begin() + static_cast<std::ptrdiff_t>(4 * t),
                      side->begin() + static_cast<std::ptrdiff_t>(4 * t + 4));
  expect_near(out, expected);
}

// Many rows are a matrix product, few are sums; both directions step together where they are alike.
TEST(Recurrent, OfManyRowsAreThoseOfEachRow) {
  const auto check = [](const std::string& op, int64_t gates, Attrs attrs) {
    constexpr int64_t batch = 11, steps = 3, inputs = 2, hidden = 3, d = 2;
    attrs["direction"] = "bidirectional";
    const std::vector<RefTensor> weights = {shifted({d, gates * hidden, inputs}, 1),
                                            shifted({d, gates * hidden, hidden}, 2),
                                            shifted({d, 2 * gates * hidden}, 3)};
    const auto layer_of = [&](const RefTensor& x) {
      std::vector<RefTensor> operands = {x};
      operands.insert(operands.end(), weights.begin(), weights.end());
      return run_all(op, operands, attrs)[0];
    };
    const RefTensor x = shifted({steps, batch, inputs}, 4), all = layer_of(x);
    for (int64_t row = 0; row < batch; ++row) {
      RefTensor one(DType::f32, {steps, 1, inputs});
      for (int64_t t = 0; t < steps; ++t)
        for (int64_t i = 0; i < inputs; ++i)
          one.f[static_cast<size_t>(t * inputs + i)] =
              x.f[static_cast<size_t>((t * batch + row) * inputs + i)];
      const RefTensor out = layer_of(one);
      Numbers expected;
      for (int64_t k = 0; k < steps * d; ++k)
        for (int64_t i = 0; i < hidden; ++i)
          expected.push_back(all.f[static_cast<size_t>((k * batch + row) * hidden + i)]);
      expect_near(out.f, expected);
    }
  };
  check("lstm", 4, {});
  check("gru", 3, {});
  check("gru", 3, {{"linear_before_reset", true}});
  check("rnn", 1, {});
}

TEST(Recurrent, DirectionsOfOtherFunctionsStepApart) {
  const std::vector<RefTensor> both = {kX, shifted({2, 2, 1}, 1), shifted({2, 2, 2}, 2)};
  const auto half = [&](size_t side, const Attrs& attrs) {
    const auto part = [&](const RefTensor& x) {
      const auto size = static_cast<std::ptrdiff_t>(x.f.size() / 2),
                 first = static_cast<std::ptrdiff_t>(side) * size;
      return f32({1, x.shape[1], x.shape[2]}, {x.f.begin() + first, x.f.begin() + first + size});
    };
    return run_all("rnn", {kX, part(both[1]), part(both[2])}, attrs)[1].f;
  };
  Numbers expected = half(0, {{"activations", "tanh"}});
  const Numbers back = half(1, {{"activations", "relu"}, {"direction", "reverse"}});
  expected.insert(expected.end(), back.begin(), back.end());
  expect_near(
      run_all("rnn", both, {{"activations", "tanh relu"}, {"direction", "bidirectional"}})[1].f,
      expected);
}

TEST(Vecdot, SumsProductsOverADim) {
  const RefTensor x = f32({2, 2}, {1, 2, 3, 4}), y = f32({2, 2}, {1, -1, 0.5, 2});
  EXPECT_EQ(run_all("vecdot", {x, y})[0].f, (Numbers{-1, 9.5}));
  EXPECT_EQ(run_all("vecdot", {x, y}, {{"dim", 0}})[0].f, (Numbers{2.5, 6}));
  EXPECT_EQ(run_all("vecdot", {x, f32({1}, {2})})[0].f, (Numbers{6, 14}));
  EXPECT_ERROR(test::infer("vecdot", {{DType::f32, {2}}, {DType::f16, {2}}}),
               "must be numbers of one dtype");
}

TEST(Recurrent, TakesTheBatchFirstInLayoutOne) {
  auto inputs = layer(3);
  const auto out = run_all("gru", inputs);
  inputs[0] = f32({2, 3, 1}, {1, 0.5, -2, -1, 2, 0.25});
  const auto batched = run_all("gru", inputs, {{"layout", 1}});
  EXPECT_EQ(batched[0].shape, (std::vector<int64_t>{2, 3, 1, 2}));
  EXPECT_EQ(batched[1].shape, (std::vector<int64_t>{2, 1, 2}));
  expect_near(batched[1].f, out[1].f);
  expect_near({batched[0].f[2], batched[0].f[8]}, {out[0].f[4], out[0].f[6]});
}

TEST(Recurrent, ClipsAndActivates) {
  const std::vector<RefTensor> inputs = {f32({1, 1, 1}, {4}), f32({1, 1, 1}, {1}),
                                         f32({1, 1, 1}, {0})};
  const auto out = [&](Attrs attrs) { return run_all("rnn", inputs, std::move(attrs))[1].f[0]; };
  EXPECT_EQ(out({{"activations", "Relu"}}), 4);
  EXPECT_EQ(out({{"activations", "relu"}, {"clip", 3.0}}), 3);
  EXPECT_EQ(out({{"activations", "Affine"},
                 {"activation_alpha", Numbers{0.5}},
                 {"activation_beta", Numbers{-1}}}),
            1);
  EXPECT_EQ(out({{"activations", "thresholded_relu"}, {"activation_alpha", Numbers{4}}}), 4);
  EXPECT_NEAR(out({{"activations", "HardSigmoid"}, {"activation_alpha", Numbers{0.1}}}), 0.9, 1e-6);
}

// An element of a kernel that joins tensors looks at all of them.
TEST(Recurrent, JoinsItsStepsInParts) {
  Graph graph = test::op_graph(
      "rnn", {{DType::f32, {200, 2, 1}}, {DType::f32, {1, 2, 1}}, {DType::f32, {1, 2, 2}}});
  const auto scheduled = backends::schedule(graph, {});
  size_t most = 0;
  for (const auto& region : scheduled.regions) most = std::max(most, region.region().inputs.size());
  EXPECT_LE(most, 33U);
}

TEST(Recurrent, ChecksItsOperands) {
  const Type x = {DType::f32, {3, 2, 1}}, w = {DType::f32, {1, 6, 1}}, r = {DType::f32, {1, 6, 2}};
  EXPECT_ERROR(test::infer("lstm", {x, w, r}), "[directions, gates * hidden, input]");
  EXPECT_ERROR(test::infer("gru", {{DType::f32, {5000, 2, 1}}, w, r}),
               "a sequence of 5000 steps is too long");
  EXPECT_ERROR(test::infer("gru", {x, w, r}, {{"activations", "tanh"}}),
               "activations must name 2 functions for each direction, separated by spaces, not 1");
  EXPECT_ERROR(test::infer("gru", {x, w, r}, {{"activations", "tanh swish"}}),
               "unknown activation 'swish'");
  EXPECT_ERROR(test::infer("gru", {x, w, r}, {{"activation_alpha", Numbers{1}}}),
               "more entries than the activations take");
}

}  // namespace
}  // namespace tcc::ir
