// Tests what the values of a graph are known to be: numbers, expressions of dims, or nothing.
#include "ir/known_values.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::ir {
namespace {

class KnownValuesTest : public ::testing::Test {
 protected:
  KnownValuesTest() { graph.dims = {{"B", 1}, {"S", 1}}; }

  SymInt dim(const std::string& name) const { return SymInt::symbol(name); }
  // i64 [n] of expressions of dims.
  Value* sizes(const std::vector<SymInt>& dims) {
    std::vector<Value*> elements;
    for (const SymInt& value : dims)
      elements.push_back(b.op("size_value", {}, {{"size", std::vector<SymInt>{value}}}));
    return b.op("stack", elements, {{"dim", 0}});
  }
  Value* number(int64_t value) { return b.scalar(DType::i64, static_cast<double>(value)); }
  // "[B, 3]", or "?" where they are not known.
  std::string integers(const Value* value) {
    const auto known = values.integers(value);
    return known ? to_string(std::span<const SymInt>(*known)) : "?";
  }

  Graph graph;
  Builder b{graph};
  KnownValues values;
};

TEST_F(KnownValuesTest, ConstantsAndDims) {
  EXPECT_EQ(integers(number(7)), "[7]");
  EXPECT_EQ(integers(sizes({dim("B"), 3})), "[B, 3]");
  EXPECT_EQ(integers(b.scalar(DType::f32, 1)), "?");
  EXPECT_EQ(integers(nullptr), "?");
  EXPECT_EQ(integers(graph.add_input("x", {DType::i64, {2}})), "?");
}

TEST_F(KnownValuesTest, ElementwiseArithmetic) {
  Value* x = sizes({dim("B"), dim("S") * 4});
  EXPECT_EQ(integers(b.add(x, number(1))), "[B+1, S*4+1]");
  EXPECT_EQ(integers(b.mul(x, x)), "[B*B, S*S*16]");
  EXPECT_EQ(integers(b.op("floor_divide", {x, number(4)})), "[(B//4), S]");
  EXPECT_EQ(integers(b.op("remainder", {x, number(4)})), "[(B%4), 0]");
  EXPECT_EQ(integers(b.op("div", {x, number(2)}, {{"rounding_mode", std::string("trunc")}})),
            "[(B//2), S*2]");
  EXPECT_EQ(integers(b.op("neg", {x})), "[-B, -S*4]");
  // The sign of a number that may be negative decides how it is rounded.
  Value* difference = b.sub(x, number(1));
  EXPECT_EQ(
      integers(b.op("div", {difference, number(2)}, {{"rounding_mode", std::string("trunc")}})),
      "?");
}

TEST_F(KnownValuesTest, ComparisonsThatHoldForEveryDim) {
  Value* x = sizes({dim("B")});
  EXPECT_EQ(integers(b.op("eq", {x, number(-1)})), "[0]");
  EXPECT_EQ(integers(b.op("ge", {x, number(0)})), "[1]");
  EXPECT_EQ(integers(b.op("lt", {x, b.add(x, number(1))})), "[1]");
  EXPECT_EQ(integers(b.op("eq", {x, x})), "[1]");
  EXPECT_EQ(integers(b.op("eq", {x, number(3)})), "?");
  Value* minus = b.op("eq", {x, number(-1)});
  EXPECT_EQ(integers(b.op("where", {minus, number(1), x})), "[B]");
  EXPECT_EQ(integers(b.op("logical_not", {minus})), "[1]");
}

TEST_F(KnownValuesTest, WhatIsNotReadNeedNotBeKnown) {
  Value* unknown = graph.add_input("x", {DType::i64, {1}});
  Value* x = sizes({dim("B")});
  Value* both = b.op("cat", {unknown, x}, {{"dim", 0}});
  EXPECT_EQ(integers(both), "?");
  EXPECT_EQ(integers(b.slice(both, 0, 1, 2)), "?");
  Value* never = b.op("eq", {x, number(-1)});
  EXPECT_EQ(integers(b.op("where", {never, unknown, x})), "?");
}

TEST_F(KnownValuesTest, Movement) {
  Value* x = sizes({dim("B"), dim("S"), 12});
  EXPECT_EQ(integers(b.slice(x, 0, 1, 3)), "[S, 12]");
  EXPECT_EQ(integers(b.op("flip", {x}, {{"dims", ints({0})}})), "[12, S, B]");
  EXPECT_EQ(integers(b.op("cat", {x, sizes({5})}, {{"dim", 0}})), "[B, S, 12, 5]");
  Value* picks = b.op("cat", {b.reshape(number(-1), {1}), b.reshape(number(0), {1})}, {{"dim", 0}});
  EXPECT_EQ(integers(b.op("index_select", {x, picks}, {{"dim", 0}})), "[12, B]");
}

TEST_F(KnownValuesTest, ReductionsOfWholeShapes) {
  Value* x = sizes({dim("B"), dim("S"), 12});
  EXPECT_EQ(integers(b.reduce("prod", x, {0})), "[B*S*12]");
  EXPECT_EQ(integers(b.reduce("sum", x, {0})), "[B+S+12]");
}

TEST_F(KnownValuesTest, CastsKeepWhatFits) {
  Value* x = sizes({dim("B"), 300});
  EXPECT_EQ(integers(b.cast(b.cast(x, DType::i32), DType::i64)), "[B, 300]");
  EXPECT_EQ(integers(b.cast(x, DType::u8)), "?");
  EXPECT_EQ(integers(b.cast(number(300), DType::u8)), "[44]");
  EXPECT_EQ(integers(b.cast(x, DType::boolean)), "?");
}

TEST_F(KnownValuesTest, LongChains) {
  Value* x = sizes({dim("B")});
  Value* y = number(0);
  for (int k = 0; k < 20000; ++k) x = b.add(x, number(1)), y = b.add(y, number(1));
  EXPECT_EQ(integers(x), "[B+20000]");
  ASSERT_TRUE(values.tensor(y));
  EXPECT_EQ(values.tensor(y)->get_int(0), 20000);
}

TEST_F(KnownValuesTest, TensorsOfConstantsOnly) {
  Value* x = b.splat(DType::f32, {2}, 1.5);
  const TensorPtr doubled = values.tensor(b.add(x, x));
  ASSERT_TRUE(doubled);
  EXPECT_EQ(doubled->get(1), 3);
  EXPECT_FALSE(values.tensor(b.add(x, graph.add_input("x", {DType::f32, {2}}))));
  EXPECT_FALSE(values.tensor(sizes({dim("B")})));
  EXPECT_FALSE(values.tensor(nullptr));
}

TEST_F(KnownValuesTest, AMutableWeightIsNotKnown) {
  Value* weight = b.scalar(DType::i64, 3);
  weight->is_mutable = true;
  EXPECT_EQ(integers(weight), "?");
}

TEST_F(KnownValuesTest, WorkIsBounded) {
  // 10^12 elements, and a product of 10^12 steps: neither is begun.
  Value* ones = b.splat(DType::i64, {1000000, 1000000}, 1);
  EXPECT_FALSE(values.tensor(b.reduce("sum", ones, {0, 1})));
  Value* matrix = b.splat(DType::f32, {2000, 2000}, 1);
  EXPECT_FALSE(values.tensor(b.matmul(matrix, matrix)));
  // Many steps, each small enough.
  Value* x = b.splat(DType::i64, {1 << 20}, 1);
  for (int k = 0; k < 100; ++k) x = b.add(x, x);
  EXPECT_FALSE(values.tensor(x));
  Value* y = b.expand(sizes({dim("B")}), {4096});
  for (int k = 0; k < 500; ++k) y = b.add(y, number(1));
  EXPECT_EQ(integers(y), "?");
}

TEST_F(KnownValuesTest, AnInputThatBecomesAConstantIsLookedAtAgain) {
  Value* x = graph.add_input("x", {DType::i64, {1}});
  Value* y = b.add(x, number(1));
  EXPECT_EQ(integers(y), "?");
  EXPECT_EQ(KnownValues::inputs_of(y), std::vector<const Value*>{x});
  x->kind = Value::Kind::constant;
  x->data = make_splat(DType::i64, {1}, 4);
  values.forget_unknown();
  EXPECT_EQ(integers(y), "[5]");
}

}  // namespace
}  // namespace tcc::ir
