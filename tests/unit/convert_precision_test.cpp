#include "ir/passes/convert_precision.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/verify.h"

namespace tcc::ir {
namespace {

TEST(ConvertPrecision, WhatIsAddedLaterGetsNamesOfItsOwn) {
  Graph graph;
  Value* x = graph.add_input("x", {DType::f32, {4}});
  Builder b(graph);
  Value* half = b.scalar(DType::f32, 0.5);  // nameless: const.0
  graph.outputs = {b.op("mul", {x, half})};
  graph.output_names = {"y"};
  Graph converted = convert_precision(graph, DType::bf16);
  Builder later(converted);
  for (int k = 0; k < 4; ++k)
    converted.outputs = {later.op("add", {converted.outputs[0], later.scalar(DType::bf16, 1 + k)})};
  verify(converted);  // names are unique
}

TEST(ConvertPrecision, ChangesEveryFloat) {
  Graph graph;
  Value* x = graph.add_input("x", {DType::f64, {4}});
  Value* k = graph.add_input("k", {DType::i32, {4}});
  Builder b(graph);
  Value* as_f64 = b.op("cast", {k}, {{"dtype", DType::f64}});
  graph.outputs = {b.op("add", {x, as_f64}), b.op("cast", {x}, {{"dtype", DType::i64}})};
  graph.output_names = {"y", "n"};
  const Graph converted = convert_precision(graph, DType::f16);
  verify(converted);
  EXPECT_EQ(to_string(converted.outputs[0]->type), "f16[4]");
  EXPECT_EQ(to_string(converted.outputs[1]->type), "i64[4]");
  EXPECT_EQ(to_string(converted.inputs[1]->type), "i32[4]");
}

TEST(ConvertPrecision, LeavesF8) {
  Graph graph;
  Value* x = graph.add_input("x", {DType::f8e4m3, {4, 8}});
  Value* w = graph.add_input("w", {DType::f8e5m2, {2, 8}});
  Value* bias = graph.add_input("bias", {DType::f32, {2}});
  Builder b(graph);
  Value* y = b.op("linear", {x, w, bias}, {{"out_dtype", "f32"}});
  graph.outputs = {y, b.op("to", {y}, {{"dtype", DType::f8e4m3}, {"saturate", true}})};
  graph.output_names = {"y", "q"};
  for (const DType dtype : {DType::bf16, DType::f64}) {
    const Graph converted = convert_precision(graph, dtype);
    verify(converted);
    EXPECT_EQ(converted.inputs[0]->dtype(), DType::f8e4m3);
    EXPECT_EQ(converted.inputs[1]->dtype(), DType::f8e5m2);
    EXPECT_EQ(converted.inputs[2]->dtype(), dtype);
    EXPECT_EQ(converted.outputs[0]->dtype(), dtype);
    EXPECT_EQ(converted.outputs[1]->dtype(), DType::f8e4m3);
  }
}

}  // namespace
}  // namespace tcc::ir
