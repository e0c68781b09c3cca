// Vector accesses, on expressions that are written out.
#include "scheduler/vectorize.h"

#include <gtest/gtest.h>

namespace tcc::sched {
namespace {

class Vectorize : public ::testing::Test {
 protected:
  // The statements as text, in a loop over `i`.
  std::string text(const std::vector<Sink>& sinks, const SymInt& lane) {
    Kernel kernel;
    kernel.name = "k";
    for (const bool written : {false, false, true})
      kernel.arguments.push_back(
          {.dtype = DType::f32,
           .access = written ? Argument::Access::write : Argument::Access::read,
           .elements = 4096});
    kernel.body = {loop(i, vectorize(sinks, lane))};
    verify(kernel);
    const std::string whole = to_string(kernel);
    return whole.substr(whole.find("  for i"));
  }

  static Expr at(int buffer, const SymInt& offset) { return ir::load(buffer, DType::f32, offset); }

  const SymInt i = SymInt::axis("i", 128), v = SymInt::axis("v", 4);
};

TEST_F(Vectorize, ContiguousAccessesBecomeVectors) {
  EXPECT_EQ(
      text({{.buffer = 2, .offset = i * 4 + v, .value = ir::call(ir::Fn::exp, {at(0, i * 4 + v)})}},
           v),
      R"(  for i < 128
    array y: f32[4]
    array x: f32[4]
    x[0..4) = b0[i*4..]
    unroll v < 4
      y[v] = exp(x[v])
    b2[i*4..] = y[0..4)
)");
}

TEST_F(Vectorize, WhatTheLaneDoesNotChangeIsReadOnce) {
  EXPECT_EQ(text({{.buffer = 2, .offset = i + v * 8, .value = ir::add(at(0, i), at(1, v * 2))}}, v),
            R"(  for i < 128
    var s: f32 = load(b0, i)
    unroll v < 4
      b2[i+v*8] = (s + load(b1, v*2))
)");
}

// One of two operands that lie side by side, as in a cat.
Expr beside(const SymInt& at, int64_t boundary, int64_t end) {
  const auto within = [](const SymInt& index, int64_t extent) {
    return ir::max(ir::min(index, extent - 1), 0);
  };
  return ir::select(ir::index_less(at, boundary), ir::load(0, DType::f32, within(at, boundary)),
                    ir::load(1, DType::f32, within(at - boundary, end - boundary)));
}

TEST_F(Vectorize, OperandsThatBeginAtWholeVectorsAreReadInVectors) {
  EXPECT_EQ(text({{.buffer = 2, .offset = i * 4 + v, .value = beside(i * 4 + v, 192, 512)}}, v),
            R"(  for i < 128
    array y: f32[4]
    array x: f32[4]
    x[0..4) = b0[min(188, i*4)..]
    array x1: f32[4]
    x1[0..4) = b1[max(0, i*4-192)..]
    unroll v < 4
      y[v] = select(([i*4] < 192), x[v], x1[v])
    b2[i*4..] = y[0..4)
)");
}

TEST_F(Vectorize, OperandsThatBeginInsideOfAVectorAreReadOneByOne) {
  EXPECT_EQ(text({{.buffer = 2, .offset = i * 4 + v, .value = beside(i * 4 + v, 190, 512)}}, v),
            R"(  for i < 128
    array y: f32[4]
    unroll v < 4
      y[v] = select(([i*4+v] < 190), load(b0, min(189, i*4+v)), load(b1, max(0, i*4+v-190)))
    b2[i*4..] = y[0..4)
)");
}

// A window that reaches over a border: zeros where it does.
TEST_F(Vectorize, VectorsAreMaskedAsAWhole) {
  const Expr value = ir::select(ir::index_less(0, i), at(0, ir::max(i - 1, 0) * 4 + v),
                                ir::constant(DType::f32, 0));
  EXPECT_EQ(text({{.buffer = 2, .offset = i * 4 + v, .value = ir::mul(value, at(1, v))}}, v),
            R"(  for i < 128
    array y: f32[4]
    array x: f32[4]
    x[0..4) = b0[max(0, i-1)*4..] where (0 < [i])
    array x1: f32[4]
    x1[0..4) = b1[0..]
    unroll v < 4
      y[v] = (x[v] * x1[v])
    b2[i*4..] = y[0..4)
)");
}

// A border of other values than zero is selected for each element.
TEST_F(Vectorize, OtherBordersAreSelected) {
  const Expr value =
      ir::select(ir::index_less(0, i), at(0, i * 4 + v), ir::constant(DType::f32, 1));
  EXPECT_EQ(text({{.buffer = 2, .offset = i * 4 + v, .value = value}}, v),
            R"(  for i < 128
    array y: f32[4]
    array x: f32[4]
    x[0..4) = b0[i*4..]
    unroll v < 4
      y[v] = select((0 < [i]), x[v], 1.0)
    b2[i*4..] = y[0..4)
)");
}

// A replicated border's reads are not selected against anything: the clamp stays.
TEST_F(Vectorize, ClampsWithoutASelectStay) {
  EXPECT_EQ(text({{.buffer = 2, .offset = i * 4 + v, .value = at(0, ir::min(i * 4 + v, 191))}}, v),
            R"(  for i < 128
    array y: f32[4]
    unroll v < 4
      y[v] = load(b0, min(191, i*4+v))
    b2[i*4..] = y[0..4)
)");
}

TEST_F(Vectorize, ALaneOfOneElementNeedsNoLoop) {
  EXPECT_EQ(text({{.buffer = 2, .offset = i, .value = at(0, i)}}, 0),
            R"(  for i < 128
    b2[i] = load(b0, i)
)");
}

TEST_F(Vectorize, WhatSeveralSinksComputeIsSharedByTheLane) {
  const Expr e = ir::call(ir::Fn::exp, {at(0, i * 4 + v)});
  const Block block = vectorize({{.buffer = 2, .offset = i * 4 + v, .value = e},
                                 {.buffer = 2, .offset = i * 4 + v + 1024, .value = ir::mul(e, e)}},
                                v);
  int declared = 0;
  for (const Stmt& stmt : block)
    for (const Stmt& inner : stmt.body) declared += inner.kind == Stmt::Kind::declare;
  EXPECT_EQ(declared, 1);
}

// The lanes of a serial sum go through its steps together: each step reads their neighbours at
// once, as far as the index is a multiple of vectors.
TEST_F(Vectorize, LanesOfAReductionReadTogether) {
  const SymInt r = SymInt::axis("r", 3, ir::AxisRole::reduction);
  EXPECT_EQ(text({{.buffer = 2,
                   .offset = i * 4 + v,
                   .value = ir::reduce(ir::ReduceKind::sum, {r}, at(0, i * 4 + v + r))}},
                 v),
            R"(  for i < 128
    array y: f32[4]
    array acc: f32[4]
    unroll v < 4
      acc[v] = 0.0
    unroll r < 3
      array x: f32[4]
      x[0..4) = b0[i*4+r..]
      unroll v < 4
        acc[v] = (acc[v] + x[v])
    unroll v < 4
      y[v] = acc[v]
    b2[i*4..] = y[0..4)
)");
}

TEST_F(Vectorize, HoistsWhatDoesNotVary) {
  std::vector<Expr> values = {ir::add(at(0, v), ir::call(ir::Fn::exp, {at(1, i)}))};
  const Block hoisted = hoist_invariants(values, {v});
  ASSERT_EQ(hoisted.size(), 1u);
  EXPECT_EQ(ir::to_string(hoisted[0].value), "exp(load(b1, i))");
  EXPECT_EQ(ir::to_string(values[0]), "(load(b0, v) + h)");
}

// Another axis of the same name is another axis.
TEST_F(Vectorize, NamesDoNotMatter) {
  const SymInt other = SymInt::axis("v", 4);
  std::vector<Expr> values = {at(0, other)};
  EXPECT_EQ(hoist_invariants(values, {v}).size(), 1u);
  values = {at(0, other)};
  EXPECT_EQ(hoist_invariants(values, {other}).size(), 0u);
}

}  // namespace
}  // namespace tcc::sched
