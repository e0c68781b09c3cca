// The rule of --check on whole graphs: right results of sums that cancel afterwards pass, planted
// defects do not.
#include "ir/reference/check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "frontend/random_init.h"
#include "ir/reference/interpreter.h"
#include "ir/reference/noise.h"
#include "ir/text.h"

namespace tcc::ir {
namespace {

constexpr int64_t kRows = 4, kSum = 512, kColumns = 16;

// y = x w, then y - c, where c is y but for a part in 2^14: what remains is as small as that.
constexpr const char* kCancelling = R"(graph @g {
  %x: f32[4, 512] = input
  %w: f32[512, 16] = input
  %c: f32[4, 16] = input
  %y: f32[4, 16] = matmul(%x, %w)
  %z: f32[4, 16] = sub(%y, %c)
  return %z
})";

enum class Defect { none, wrong_index, dropped_term, f16_sums, tf32 };

float truncated(float value) {  // to tf32
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xffffe000u);
}

// Computes the result as a device does: sums in f32, one term after the other.
Tensor computed(std::span<const Tensor> inputs, Defect defect) {
  const auto x = inputs[0].as<float>(), w = inputs[1].as<float>(), c = inputs[2].as<float>();
  Tensor out(DType::f32, {kRows, kColumns});
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < kSum; ++k) {
        if (defect == Defect::dropped_term && k == 100) continue;
        const int64_t row = defect == Defect::wrong_index && k == 100 ? 101 : k;
        float a = x[static_cast<size_t>(i * kSum + k)],
              b = w[static_cast<size_t>(row * kColumns + j)];
        if (defect == Defect::tf32) {
          a = truncated(a);
          b = truncated(b);
        }
        sum += a * b;
        if (defect == Defect::f16_sums) sum = static_cast<float>(round_to(DType::f16, sum));
      }
      const auto at = static_cast<size_t>(i * kColumns + j);
      out.as<float>()[at] = sum - c[at];
    }
  return out;
}

std::vector<Tensor> cancelling_inputs(const Graph& graph, const Init& init) {
  std::vector<Tensor> inputs;
  for (uint64_t i = 0; i < 2; ++i)
    inputs.push_back(random_tensor(DType::f32, const_shape(*graph.inputs[i]), init, 7 + i));
  inputs.emplace_back(DType::f32, const_shape(*graph.inputs[2]));
  std::vector<RefTensor> given;
  for (const Tensor& tensor : inputs) given.push_back(to_ref(tensor));
  const RefTensor y = interpret(graph, given, RefMode::ideal)[0];  // c is zeros still
  for (size_t i = 0; i < y.f.size(); ++i)
    inputs[2].set(static_cast<int64_t>(i), y.f[i] * (1 - 0x1p-14));
  return inputs;
}

Comparison checked(const Graph& graph, std::span<const Tensor> inputs, Defect defect) {
  const Tensor out = computed(inputs, defect);
  return check_outputs(graph, inputs, std::span(&out, 1))[0];
}

TEST(CheckRule, RightSumsThatCancelAfterwardsPassAndDefectsDoNot) {
  const Graph graph = parse_graph(kCancelling);
  // Terms of both signs, and of one: partial sums that grow as fast as the sum.
  for (const Init& init : {Init::normal(1), Init::uniform(0.1, 1)}) {
    const std::vector<Tensor> inputs = cancelling_inputs(graph, init);
    const Comparison right = checked(graph, inputs, Defect::none);
    EXPECT_TRUE(right.pass) << right.reason;
    EXPECT_GT(right.noise, 0);
    // Without the noise it does not pass: the test is about that.
    EXPECT_GT(right.rmse_out, 2 * right.rmse_stepwise);
    for (const Defect defect :
         {Defect::wrong_index, Defect::dropped_term, Defect::f16_sums, Defect::tf32}) {
      const Comparison wrong = checked(graph, inputs, defect);
      EXPECT_FALSE(wrong.pass) << static_cast<int>(defect);
      EXPECT_GT(wrong.rmse_out, 3 * wrong.limit) << static_cast<int>(defect);
    }
  }
}

// If nothing cancels, the noise changes nothing: the rule is as strict as without it.
TEST(CheckRule, WellConditionedResultsKeepTheirLimit) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const std::string type(name(dtype));
    const Graph graph =
        parse_graph("graph @g {\n  %x: " + type + "[8, 64] = input\n  %w: " + type +
                    "[64, 8] = input\n  %y: " + type + "[8, 8] = matmul(%x, %w)\n  return %y\n}");
    std::vector<RefTensor> given;
    for (const Value* input : graph.inputs)
      given.push_back(to_ref(random_tensor(dtype, const_shape(*input), Init::normal(1), 3)));
    const RefTensor ideal = interpret(graph, given, RefMode::ideal)[0],
                    stepwise = interpret(graph, given, RefMode::stepwise)[0];
    std::vector<RefTensor> noisy;
    for (uint64_t seed = 1; seed <= kNoiseDraws; ++seed)
      noisy.push_back(interpret(graph, given, RefMode::noisy, {.observe = {}, .seed = seed})[0]);
    EXPECT_LT(compare(stepwise, ideal, stepwise, noisy).limit,
              1.5 * compare(stepwise, ideal, stepwise).limit)
        << type;
  }
}

RefTensor noisy_result(const char* text, const std::vector<RefTensor>& inputs, uint64_t seed) {
  return interpret(parse_graph(text), inputs, RefMode::noisy, {.observe = {}, .seed = seed})[0];
}

RefTensor floats(std::vector<double> values) {
  RefTensor tensor(DType::f32, {static_cast<int64_t>(values.size())});
  tensor.f = std::move(values);
  return tensor;
}

TEST(Noise, StandsWhereRoundingDoes) {
  constexpr const char* kThird = R"(graph @g {
  %x: f32[4] = input
  %three: f32[] = const 3
  %y: f32[4] = div(%x, %three)
  return %y
})";
  const RefTensor x = floats({1, 3, 0, -INFINITY});
  const RefTensor a = noisy_result(kThird, {x}, 1), b = noisy_result(kThird, {x}, 2);
  EXPECT_NE(a.f[0], 1.0 / 3);
  EXPECT_NEAR(a.f[0], 1.0 / 3, 0x1p-24 / 3);
  EXPECT_NE(a.f[0], b.f[0]);
  EXPECT_EQ(a.f[0], noisy_result(kThird, {x}, 1).f[0]);
  EXPECT_EQ(a.f[1], 1);  // exact
  EXPECT_EQ(a.f[2], 0);
  EXPECT_EQ(a.f[3], -INFINITY);
}

// Arithmetic on whole numbers is exact, however it is written: noise must not move an index.
TEST(Noise, LeavesWholeNumbersAlone) {
  constexpr const char* kIndices = R"(graph @g {
  %x: f32[6] = input
  %c: f32[] = const 0.5
  %half: f32[6] = mul(%x, %c)
  %low: f32[6] = floor(%half)
  %total: f32[1] = sum(%low) {dim = [0], keepdim = true}
  %both: f32[6] = add(%low, %total)
  %i: i32[6] = cast(%both) {dtype = i32}
  return %i
})";
  for (uint64_t seed = 1; seed <= 8; ++seed)
    EXPECT_EQ(noisy_result(kIndices, {floats({0, 1, 2, 3, 4, 5})}, seed).i,
              (std::vector<int64_t>{6, 6, 7, 7, 8, 8}));
}

// An index of a maximum among values that are equal but for rounding may be any of theirs.
TEST(CheckRule, TiesMayBeDecidedByRounding) {
  const Graph graph = parse_graph(R"(graph @g {
  %x: f32[8] = input
  %three: f32[] = const 3
  %y: f32[8] = div(%x, %three)
  %z: f32[8] = mul(%y, %three)
  %i: i64[] = argmax(%z) {dim = 0}
  return %i
})");
  Tensor x(DType::f32, {8}), index(DType::i64, {});
  for (int64_t k = 0; k < 8; ++k) x.set(k, 0.7);
  x.set(5, 0.1);
  const auto passes = [&](int64_t value) {
    index.set_int(0, value);
    return check_outputs(graph, std::span(&x, 1), std::span(&index, 1))[0].pass;
  };
  std::set<int64_t> drawn;
  for (uint64_t seed = 1; seed <= kNoiseDraws; ++seed)
    drawn.insert(
        interpret(graph, {to_ref(x)}, RefMode::noisy, {.observe = {}, .seed = seed})[0].i[0]);
  EXPECT_GT(drawn.size(), 1u);
  for (const int64_t value : drawn) EXPECT_TRUE(passes(value)) << value;
  EXPECT_FALSE(passes(5));
}

TEST(CheckRule, ProgressEndsAtOne) {
  const Graph graph = parse_graph(kCancelling);
  const std::vector<Tensor> inputs = cancelling_inputs(graph, Init::normal(1));
  const Tensor out = computed(inputs, Defect::none);
  double last = 0;
  size_t calls = 0;
  check_outputs(graph, inputs, std::span(&out, 1), {.progress = [&](double share) {
                  last = share;
                  ++calls;
                  EXPECT_GT(share, 0);
                  EXPECT_LE(share, 1);
                }});
  EXPECT_EQ(last, 1);
  EXPECT_GE(calls, 6u);  // two nodes, three evaluations
}

// Far down, the error of gelu's function on a device is more than a few ulp of the result.
TEST(CheckRule, ErrorsOfFunctionsAreAllowed) {
  const Graph graph = parse_graph(R"(graph @g {
  %x: f32[4] = input
  %y: f32[4] = gelu(%x)
  return %y
})");
  Tensor x(DType::f32, {4});
  for (int64_t k = 0; k < 4; ++k) x.set(k, -3.5 - 0.01 * static_cast<double>(k));
  const auto passes = [&](double error) {
    Tensor y(DType::f32, {4});
    for (int64_t k = 0; k < 4; ++k) {
      const double at = x.get(k);
      y.set(k, at * (0.5 * std::erfc(-at * std::sqrt(0.5)) + error));
    }
    return check_outputs(graph, std::span(&x, 1), std::span(&y, 1))[0].pass;
  };
  EXPECT_TRUE(passes(0));
  EXPECT_TRUE(passes(1e-7));
  EXPECT_FALSE(passes(1e-6));
}

TEST(CheckRule, NaNsAreSaidFirst) {
  const Graph graph = parse_graph(R"(graph @g {
  %x: f32[4] = input
  %y: f32[4] = relu(%x)
  return %y
})");
  Tensor x(DType::f32, {4}), y(DType::f32, {4});
  y.set(1, 5);
  y.set(2, NAN);
  y.set(3, NAN);
  const Comparison result = check_outputs(graph, std::span(&x, 1), std::span(&y, 1))[0];
  EXPECT_FALSE(result.pass);
  EXPECT_EQ(
      result.reason.rfind("NaN in 2 of 4 elements, where the reference has 0; element [2]", 0), 0u)
      << result.reason;
}

}  // namespace
}  // namespace tcc::ir
