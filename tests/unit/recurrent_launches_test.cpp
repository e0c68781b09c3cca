// Counts the kernels of a step of a recurrent layer.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "support/error.h"
#include "tests/unit/op_runner.h"

namespace tcc {
namespace {

struct Case {
  std::string op, direction;
  int64_t gates, batch;
  ir::Attrs attrs = {};
  size_t launches;  // of a step, of all directions together
};

ir::Graph layer(const Case& c, int64_t steps) {
  const int64_t d = c.direction == "bidirectional" ? 2 : 1, hidden = 64, inputs = 2;
  const int64_t rows = c.gates * hidden;
  const bool quantized = c.op == "dynamic_quantized_lstm";
  const DType weight = quantized ? DType::i8 : DType::f32;
  std::vector<ir::Type> types = {{DType::f32, {steps, c.batch, inputs}},
                                 {weight, {d, rows, inputs}},
                                 {weight, {d, rows, hidden}},
                                 {DType::f32, {d, 2 * rows}}};
  ir::Graph graph;
  std::vector<ir::Value*> values;
  for (const ir::Type& type : types)
    values.push_back(graph.add_input(str("x", values.size()), type));
  if (quantized) {
    values.resize(8, nullptr);
    for (int k = 0; k < 2; ++k) {
      values.push_back(graph.add_input(str("scale", k), {DType::f32, {d}}));
      values.push_back(graph.add_input(str("zero", k), {weight, {d}}));
    }
  }
  ir::Attrs attrs = c.attrs;
  attrs["direction"] = c.direction;
  // The last state alone: joining all of them takes launches of its own.
  graph.outputs = {ir::Builder(graph).ops(c.op, values, attrs)[1]};
  graph.output_names = {"h"};
  return graph;
}

size_t launches(const ir::Graph& graph, const std::string& target) {
  backends::CompileOptions options;
  options.binaries = false;
  return backends::compile(graph, sched::target_by_name(target), options).steps.size();
}

class RecurrentLaunches : public ::testing::TestWithParam<Case> {};

TEST_P(RecurrentLaunches, OfAStepAreFew) {
  for (const std::string target : {"vulkan", "cuda:sm_90a"}) {
    const size_t ten = launches(layer(GetParam(), 10), target),
                 twenty = launches(layer(GetParam(), 20), target);
    EXPECT_EQ(twenty - ten, 10 * GetParam().launches) << target;
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
    const size_t chains = direction == "bidirectional" ? 2 : 1;
    all.push_back({"lstm", direction, 4, 1, {}, 1});
    all.push_back({"lstm", direction, 4, 32, {}, 2});
    all.push_back({"rnn", direction, 1, 1, {}, 1});
    all.push_back({"rnn", direction, 1, 32, {}, 1});
    all.push_back({"gru", direction, 3, 1, {}, 2});
    all.push_back({"gru", direction, 3, 1, {{"linear_before_reset", true}}, 1});
    all.push_back({"gru", direction, 3, 32, {{"linear_before_reset", true}}, 2});
    all.push_back({"gru", direction, 3, 32, {}, 2});
    // The range of the state is known when all of it is: at most one launch for the gates and the
    // range, one for the product.
    for (const int64_t batch : {1, 4, 5, 32, 128})
      all.push_back({"dynamic_quantized_lstm", direction, 4, batch, {}, 2 * chains});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Layers, RecurrentLaunches, ::testing::ValuesIn(cases()),
                         [](const auto& test) {
                           const Case& c = test.param;
                           return str(c.op, "_", c.direction, "_", c.batch,
                                      c.attrs.empty() ? "" : "_reset_after");
                         });

}  // namespace
}  // namespace tcc
