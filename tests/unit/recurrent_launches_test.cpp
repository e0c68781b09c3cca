// Counts the kernels of a recurrent layer: one for all of its steps, one for each, or those of an
// unrolled step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "backends/pipeline.h"
#include "ir/passes/decompose.h"
#include "scheduler/template.h"
#include "scheduler/whole_op.h"
#include "support/error.h"
#include "tests/random_recurrent.h"
#include "tests/unit/op_runner.h"

namespace tcc {
namespace {

struct Case {
  std::string op, direction;
  int64_t gates, batch;
  ir::Attrs attrs = {};
  size_t launches;  // of a step, of all directions together
  int64_t hidden = 64;
  DType dtype = DType::f32;
};

ir::Graph layer(const Case& c, int64_t steps) {
  const int64_t d = c.direction == "bidirectional" ? 2 : 1, hidden = c.hidden, inputs = 2;
  const int64_t rows = c.gates * hidden;
  const bool quantized = c.op == "dynamic_quantized_lstm";
  const DType weight = quantized ? DType::i8 : c.dtype;
  std::vector<ir::Type> types = {{c.dtype, {steps, c.batch, inputs}},
                                 {weight, {d, rows, inputs}},
                                 {weight, {d, rows, hidden}},
                                 {c.dtype, {d, 2 * rows}}};
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

size_t launches(const ir::Graph& graph, const sched::Target& target) {
  backends::CompileOptions options;
  options.binaries = false;
  return static_cast<size_t>(exec::count_usual_launches(backends::compile(graph, target, options)));
}

// A target without kernels for layers.
sched::Target stepwise(const std::string& of) {
  sched::Target target = sched::target_by_name(of);
  for (const char* name : {"recurrent", "recurrent_steps", "recurrent_grid"})
    target.switched_off.push_back(
        {exec::Part::kernel_template, name, "test:1", "steps are asked for"});
  return target;
}

class RecurrentLaunches : public ::testing::TestWithParam<Case> {};

TEST_P(RecurrentLaunches, OfAStepAreFew) {
  for (const std::string name : {"vulkan", "cuda:sm_90a"}) {
    const sched::Target target = stepwise(name);
    const size_t three = launches(layer(GetParam(), 3), target),
                 six = launches(layer(GetParam(), 6), target);
    EXPECT_EQ(six - three, 3 * GetParam().launches) << name;
  }
}

// The projection, all steps, and the sum of the two biases, which are inputs here: a workgroup has
// the weights of few hidden units.
TEST(RecurrentLaunches, OfASmallLayerAreThree) {
  for (const std::string name : {"vulkan", "cuda:sm_90a"}) {
    const sched::Target target = sched::target_by_name(name);
    for (const std::string direction : {"forward", "bidirectional"})
      for (const auto& [batch, hidden, dtype] :
           {std::tuple<int64_t, int64_t, DType>{1, 24, DType::f32},
            {16, 33, DType::bf16},
            {64, 64, DType::f16}})
        for (const Case& c :
             {Case{"lstm", direction, 4, batch, {}, 3, hidden, dtype},
              Case{"gru", direction, 3, batch, {{"linear_before_reset", true}}, 3, hidden, dtype},
              Case{"rnn", direction, 1, batch, {}, 3, hidden, dtype}})
          EXPECT_LE(launches(layer(c, 128), target), c.launches)
              << name << " " << c.op << " " << direction << " " << batch << " " << hidden;
  }
}

// The projection, the sum of biases, and one binary for all steps.
TEST(RecurrentLaunches, OfALargeLayerAreOneAStep) {
  const test::OnlyRecurrent only("recurrent_steps");
  for (const std::string name : {"vulkan", "cuda:sm_80", "cuda:sm_90a"})
    for (const std::string direction : {"forward", "bidirectional"})
      for (const DType dtype : {DType::f32, DType::bf16})
        for (const Case& c :
             {Case{"lstm", direction, 4, 1, {}, 0, 512, dtype},
              Case{"gru", direction, 3, 4, {{"linear_before_reset", true}}, 0, 256, dtype},
              Case{"rnn", direction, 1, 2, {}, 0, 700, dtype}}) {
          backends::CompileOptions options;
          options.binaries = false;
          const exec::Executable executable =
              backends::compile(layer(c, 40), sched::target_by_name(name), options);
          const std::string what = str(name, " ", c.op, " ", direction, " ", tcc::name(dtype));
          EXPECT_LE(executable.kernels.size(), 3u) << what;
          EXPECT_EQ(exec::launches(executable).size(), executable.kernels.size()) << what;
          int repeated = 0;
          for (const exec::KernelLaunch* launch : exec::launches(executable))
            repeated += launch->times.is(40);
          EXPECT_EQ(repeated, 1) << what;
        }
}

// The projection, the sum of biases, and all steps, where workgroups may wait for each other.
TEST(RecurrentLaunches, OfALargeLayerAreThreeWithCooperativeLaunches) {
  // A gru that resets before its product waits twice a step.
  for (const Case& c : {Case{"lstm", "forward", 4, 8, {}, 0, 1024, DType::bf16},
                        Case{"gru", "forward", 3, 16, {}, 0, 512, DType::bf16},
                        Case{"gru", "bidirectional", 3, 4, {}, 0, 256, DType::f32}}) {
    backends::CompileOptions options;
    options.binaries = false;
    const exec::Executable executable =
        backends::compile(layer(c, 128), sched::target_by_name("cuda:sm_90a"), options);
    EXPECT_LE(exec::launches(executable).size(), 3u) << c.op << " " << c.hidden;
    EXPECT_EQ(std::ranges::count(executable.kernels, true, &exec::KernelBinary::cooperative), 1)
        << c.op << " " << c.hidden;
    EXPECT_GE(launches(layer(c, 128), sched::target_by_name("vulkan")), 128u);
  }
}

// Steps of many sequences are products on matrix units, which one kernel follows whatever the type
// of the products: it makes the cell and the output of all gates.
TEST(RecurrentLaunches, ManySequencesTakeAProductAndOneKernelAStep) {
  constexpr int64_t kSteps = 6;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    Case c = {"lstm", "forward", 4, 256, {}, 0, 1024, dtype};
    EXPECT_LE(launches(layer(c, kSteps), sched::target_by_name("cuda:sm_90a")), 2 * kSteps + 2)
        << name(dtype);
  }
}

std::string reason(const Case& c, const sched::Target& target, std::string_view name = "") {
  ir::Graph graph = layer(c, 128);
  ir::decompose(graph, [](const ir::Node& node) {
    return node.op_name() == "lstm_steps" || node.op_name() == "gru_steps";
  });
  for (const auto& node : graph.nodes())
    if (node->op->kind == ir::OpKind::composite) {
      const sched::Match whole = sched::match_whole_op(*node, target, {});
      if (name.empty() || !whole) return whole ? "" : whole.reason();
      const sched::Match match = sched::find_template(name)->match((*whole)->region(), target);
      return match ? "" : match.reason();
    }
  return "there are no steps";
}

// Layers that a template refuses, and why.
TEST(RecurrentLaunches, AreThoseOfAnUnrolledLayerWhereTemplatesRefuse) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  EXPECT_EQ(reason({"lstm", "forward", 4, 1, {}, 0, 24}, target), "");
  const Case large = {"lstm", "forward", 4, 1, {}, 0, 1024};
  EXPECT_EQ(reason(large, target), "");
  EXPECT_NE(reason(large, target, "recurrent").find("in one kernel take about"), std::string::npos);
  EXPECT_EQ(reason(large, target, "recurrent_grid"), "");
  EXPECT_NE(reason({"lstm", "forward", 4, 1, {}, 0, 4096}, target, "recurrent_grid")
                .find("do not fit the workgroups"),
            std::string::npos);
  EXPECT_NE(reason({"lstm", "forward", 4, 1, {}, 0, 512}, sched::target_by_name("vulkan"),
                   "recurrent_grid")
                .find("does not promise to run all of them at once"),
            std::string::npos);
  const Case reset_before = {"gru", "forward", 3, 1, {}, 0, 512};
  EXPECT_EQ(reason(reset_before, target, "recurrent_grid"), "");
  sched::Target bare = target;
  bare.api = sched::api_of("without_sources");
  EXPECT_NE(reason({"lstm", "forward", 4, 1, {}, 0, 24}, bare).find("no device source 'recurrent'"),
            std::string::npos);
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
