#include "ir/passes/fold_batch_norm.h"

#include "ir/passes/fold_constants.h"
#include "ir/reference/interpreter.h"
#include "tests/check/check_pass.h"

namespace tcc::ir {
namespace {

using test::expect_pass;
using test::expect_unchanged;

constexpr std::string_view kLayer = R"(
  graph @layer(N = 2) {
    %x: f32[N, 3, 5, 5] = input
    %w: f32[4, 3, 3, 3] = weight
    %bias: f32[4] = weight
    %mean: f32[4] = weight
    %var: f32[4] = weight
    %gamma: f32[4] = weight
    %beta: f32[4] = weight
    %c = conv2d(%x, %w, %bias) {stride = 2, padding = 1}
    %n = batch_norm(%c, %mean, %var, %gamma, %beta) {eps = 0.001}
    %y = relu(%n)
    return %y
  })";

TEST(FoldBatchNorm, ScalesTheWeightsOfTheConvolution) {
  expect_pass(fold_batch_norm, kLayer, R"(
    graph @layer(N = 2) {
      %x: f32[N, 3, 5, 5] = input
      %w: f32[4, 3, 3, 3] = weight
      %bias: f32[4] = weight
      %mean: f32[4] = weight
      %var: f32[4] = weight
      %gamma: f32[4] = weight
      %beta: f32[4] = weight
      %const.3: f32[] = const 0.001
      %add.4 = add(%var, %const.3)
      %rsqrt.5 = rsqrt(%add.4)
      %mul.6 = mul(%rsqrt.5, %gamma)
      %sub.7 = sub(%bias, %mean)
      %mul.8 = mul(%sub.7, %mul.6)
      %add.9 = add(%mul.8, %beta)
      %reshape.10 = reshape(%mul.6) {shape = [4, 1, 1, 1]}
      %mul.11 = mul(%w, %reshape.10)
      %n = conv2d(%x, %mul.11, %add.9) {stride = 2, padding = 1}
      %y = relu(%n)
      return %y
    })");
}

TEST(FoldBatchNorm, GivesABiasWhereThereIsNone) {
  expect_pass(fold_batch_norm, R"(
    graph @g {
      %x: f16[6, 3] = input
      %w: f16[4, 3] = weight
      %mean: f16[4] = weight
      %var: f16[4] = weight
      %c = linear(%x, %w)
      %y = batch_norm(%c, %mean, %var)
      return %y
    })",
              R"(
    graph @g {
      %x: f16[6, 3] = input
      %w: f16[4, 3] = weight
      %mean: f16[4] = weight
      %var: f16[4] = weight
      %const.4: f32[] = const 1e-05
      %cast.2 = cast(%mean) {dtype = f32}
      %cast.3 = cast(%var) {dtype = f32}
      %add.5 = add(%cast.3, %const.4)
      %rsqrt.6 = rsqrt(%add.5)
      %neg.7 = neg(%cast.2)
      %mul.8 = mul(%neg.7, %rsqrt.6)
      %cast.9 = cast(%w) {dtype = f32}
      %reshape.10 = reshape(%rsqrt.6) {shape = [4, 1]}
      %mul.11 = mul(%cast.9, %reshape.10)
      %cast.12 = cast(%mul.11) {dtype = f16}
      %cast.13 = cast(%mul.8) {dtype = f16}
      %y = linear(%x, %cast.12, %cast.13)
      return %y
    })");
}

TEST(FoldBatchNorm, NeedsFixedWeightsAndNoOtherUser) {
  expect_unchanged(fold_batch_norm, R"(
    graph @g {
      %x: f32[1, 3, 5, 5] = input
      %w: f32[4, 3, 3, 3] = weight
      %moving: f32[4, 3, 3, 3] = mutable weight
      %mean: f32[4] = weight
      %var: f32[4] = weight
      %state: f32[4] = mutable weight
      %a = conv2d(%x, %moving)
      %b = batch_norm(%a, %mean, %var)
      %c = conv2d(%x, %w)
      %d = batch_norm(%c, %mean, %var)
      %e = conv2d(%x, %w) {padding = 1}
      %f = batch_norm(%e, %state, %var)
      return %b, %c, %d, %f
    })");
}

// Numbers in [0.5, 1.5) for each weight by its name.
ConstantPtr numbers(const std::string& name, const Type& type) {
  Tensor tensor(type.dtype, const_shape(type.shape));
  uint64_t state = std::hash<std::string>{}(name) | 1;
  for (int64_t k = 0; k < tensor.numel(); ++k) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    tensor.set(k, 0.5 + static_cast<double>(state >> 33) / 2147483648.0);
  }
  return make_constant(std::make_shared<Tensor>(std::move(tensor)));
}

TEST(FoldBatchNorm, KeepsTheResult) {
  const Graph before = parse_graph(kLayer, {.weight = numbers}).bind({});
  Graph after = before.clone();
  fold_batch_norm(after);
  fold_constants(after);
  EXPECT_EQ(after.nodes().size(), 2u);
  RefTensor x(DType::f32, {2, 3, 5, 5});
  for (size_t k = 0; k < x.f.size(); ++k) x.f[k] = static_cast<double>(k % 13) / 7 - 1;
  const auto expected = interpret(before, {x}, RefMode::ideal),
             actual = interpret(after, {x}, RefMode::ideal);
  for (size_t k = 0; k < expected[0].f.size(); ++k)
    EXPECT_NEAR(actual[0].f[k], expected[0].f[k], 2e-5) << k;
}

}  // namespace
}  // namespace tcc::ir
