// Copies between orders of dims, and constants that are moved without a detour through numbers.
#include "support/strided_copy.h"

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/reference/interpreter.h"
#include "ir/reference/moves.h"

namespace tcc {
namespace {

using Sizes = std::vector<int64_t>;

TEST(StridedCopy, AnyOrderOfDims) {
  std::mt19937 engine(7);
  const auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(engine);
  };
  for (int draw = 0; draw < 200; ++draw) {
    const auto rank = static_cast<size_t>(number(0, 4));
    Sizes shape(rank), order(rank), from(rank), to(rank);
    for (int64_t& size : shape)
      size = number(0, 9) == 0 ? number(0, 1) : number(1, rank < 3 ? 150 : 20);
    std::iota(order.begin(), order.end(), 0);
    const auto strides = [&](Sizes& of, int64_t padding) {
      std::shuffle(order.begin(), order.end(), engine);
      int64_t stride = 1;
      for (const int64_t d : order) {
        of[static_cast<size_t>(d)] = stride;
        stride *= shape[static_cast<size_t>(d)];
        stride += padding;
      }
      return stride;
    };
    const int64_t read = strides(from, number(0, 3)), written = strides(to, number(0, 3));
    const int element = 1 << number(0, 3);
    std::vector<std::byte> source(static_cast<size_t>(std::max<int64_t>(read, 1) * element));
    for (std::byte& byte : source) byte = static_cast<std::byte>(engine());
    std::vector<std::byte> got(static_cast<size_t>(std::max<int64_t>(written, 1) * element),
                               std::byte{0});
    std::vector<std::byte> wanted = got;
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, a = 0, b = 0;
      for (size_t d = rank; d-- > 0;) {
        a += rest % shape[d] * from[d];
        b += rest % shape[d] * to[d];
        rest /= shape[d];
      }
      std::memcpy(&wanted[static_cast<size_t>(b * element)],
                  &source[static_cast<size_t>(a * element)], static_cast<size_t>(element));
    }
    copy_strided(source.data(), from, got.data(), to, shape, element);
    ASSERT_EQ(got, wanted) << "draw " << draw;
  }
}

// Permutations, reshapes and concatenations of constants, as the interpreter has them.
TEST(StridedCopy, ConstantsAreMovedByBits) {
  ir::Graph graph;
  const auto constant = [&](DType dtype, const Sizes& shape) {
    auto tensor = std::make_shared<Tensor>(dtype, shape);
    for (int64_t i = 0; i < tensor->numel(); ++i) tensor->set(i, static_cast<double>(i % 97) - 40);
    return graph.add_constant("", {dtype, ir::Shape(shape.begin(), shape.end())},
                              ir::make_constant(tensor));
  };
  ir::Builder b(graph);
  ir::Value* turned = b.transpose(constant(DType::bf16, {40, 33}), 0, -1);
  ir::Value* joined =
      b.op("cat", {turned, constant(DType::bf16, {33, 0}), constant(DType::bf16, {33, 7})},
           {{"dim", -1}});
  graph.outputs = {b.permute(b.reshape(joined, {3, 11, 47}), {2, 0, 1})};
  graph.output_names = {"y"};
  graph.make_names_unique();
  const std::optional<Tensor> moved = ir::move_elements(graph);
  ASSERT_TRUE(moved);
  const Tensor wanted = ir::to_tensor(ir::interpret(graph, {}, ir::RefMode::ideal).at(0));
  ASSERT_EQ(moved->shape(), wanted.shape());
  EXPECT_EQ(std::memcmp(moved->data(), wanted.data(), wanted.bytes()), 0);
  graph.outputs = {b.unary("neg", graph.outputs[0])};
  EXPECT_FALSE(ir::move_elements(graph));
}

// Values that nothing is moved from are left to the interpreter.
TEST(StridedCopy, GeneratorsAreNotMoved) {
  ir::Graph graph;
  ir::Builder b(graph);
  graph.outputs = {
      b.op("iota", {},
           {{"size", std::vector<ir::SymInt>{4}}, {"dim", int64_t{0}}, {"dtype", DType::i64}})};
  EXPECT_FALSE(ir::move_elements(graph));
}

}  // namespace
}  // namespace tcc
