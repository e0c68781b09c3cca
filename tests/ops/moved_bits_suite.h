// Copies of floats narrower than f32 keep their bits, payloads of NaN included: every bit pattern
// through ops that move elements. A file that includes this says on which devices.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/reference/interpreter.h"
#include "tests/run_graph.h"

namespace tcc::test {

// Builds a graph that moves elements of two squares of `side` and `type`. `computed` adds an
// output that is computed of the first.
inline ir::Graph graph_of_copies(DType type, int64_t side, bool computed) {
  ir::Graph graph;
  ir::Builder b(graph);
  ir::Value* x = graph.add_input("x", {type, {side, side}});
  ir::Value* y = graph.add_input("y", {type, {side, side}});
  ir::Value* mask = graph.add_input("mask", {DType::boolean, {side, side}});
  ir::Value* rows = graph.add_input("rows", {DType::i64, {7}});
  rows->random_range = {0, side};
  const auto add = [&](const char* name, ir::Value* value) {
    graph.outputs.push_back(value);
    graph.output_names.push_back(name);
  };
  const DType bits = size_bytes(type) == 1 ? DType::u8 : DType::u16;
  add("permute", b.permute(x, {1, 0}));
  add("flip", b.op("flip", {x}, {{"dims", std::vector<ir::SymInt>{1}}}));
  add("cat", b.op("cat", {x, y}, {{"dim", 1}}));
  add("slice", b.slice(x, 1, 1, side - 2));
  add("index_select", b.op("index_select", {x, rows}, {{"dim", 0}}));
  add("where", b.op("where", {mask, x, b.permute(y, {1, 0})}));
  add("bit_cast", b.op("bit_cast", {x}, {{"dtype", bits}}));
  add("there and back",
      b.op("bit_cast", {b.op("bit_cast", {y}, {{"dtype", bits}})}, {{"dtype", type}}));
  if (computed) add("computed", b.op("gelu", {x}));
  return graph;
}

class MovedBits : public ::testing::TestWithParam<std::string> {};

TEST_P(MovedBits, AreThoseThatWereGiven) {
  for (const DType type : {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    const bool byte = size_bytes(type) == 1;
    const DType bits = byte ? DType::u8 : DType::u16;
    const int64_t side = byte ? 16 : 256;
    const ir::Graph integers = graph_of_copies(bits, side, false);
    std::vector<Tensor> inputs = draw_inputs(integers, {});
    for (int64_t i = 0; i < side * side; ++i) {
      inputs[0].set_int(i, i);
      inputs[1].set_int(i, side * side - 1 - i);
    }
    std::vector<ir::RefTensor> given;
    for (const Tensor& tensor : inputs) given.push_back(ir::to_ref(tensor));
    const std::vector<ir::RefTensor> expected = ir::interpret(integers, given, ir::RefMode::ideal);
    for (Tensor* x : {&inputs[0], &inputs[1]}) {
      Tensor typed(type, x->shape());
      std::copy_n(x->data(), x->bytes(), typed.data());
      *x = std::move(typed);
    }
    for (const bool computed : {false, true}) {
      const ir::Graph graph = graph_of_copies(type, side, computed && !byte);
      const std::vector<Tensor> outputs = run_on_device(graph, GetParam(), inputs, {});
      for (size_t k = 0; k < expected.size(); ++k) {
        // A kernel that also computes may convert its copies, but not what bit_cast takes.
        if (computed && graph.output_names[k].find("bit_cast") == std::string::npos) continue;
        const Tensor wanted = ir::to_tensor(expected[k]);
        EXPECT_TRUE(std::equal(wanted.data(), wanted.data() + wanted.bytes(), outputs[k].data()))
            << graph.output_names[k] << " of " << name(type);
      }
    }
  }
}

}  // namespace tcc::test
