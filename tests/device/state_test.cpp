// Conformance: graphs with states, run several times, against the reference.
#include "backends/pipeline.h"
#include "executable/serialize.h"
#include "frontend/graph_file.h"
#include "frontend/random_init.h"
#include "ir/passes/single_run.h"
#include "ir/reference/check.h"
#include "runtime/program.h"
#include "tests/device/conformance.h"
#include "tests/expect_error.h"

namespace tcc::runtime {
namespace {

class StateTest : public DeviceTest {
 protected:
  void compile(const std::string& body) {
    graph = parse_yaml_graph("tcc: 1\n" + body, "graph.yaml", ".").bind({});
    program = std::make_shared<const Program>(device, backends::compile(graph, device->target()));
    for (const ir::Value* input : graph.inputs)
      inputs.push_back(
          random_tensor(input->dtype(), ir::const_shape(*input),
                        is_float(input->dtype()) ? Init::uniform(-1, 1) : Init::integers(0, 4),
                        stream_seed(7, input->name)));
  }

  std::vector<Tensor> states(Context& context) const {
    std::vector<Tensor> values;
    for (size_t i = 0; i < graph.states.size(); ++i) values.push_back(context.state(i));
    return values;
  }

  // `runs` runs with outputs and states as the reference has them.
  void expect_right(Context& context, int runs) {
    for (int run = 1; run <= runs; ++run) {
      std::vector<Tensor> before;  // the first values
      if (run > 1) before = states(context);
      std::vector<Tensor> results = context.run(inputs);
      if (!runs_kernels()) continue;
      const std::vector<Tensor> after = states(context);
      results.insert(results.end(), after.begin(), after.end());
      const auto comparisons = ir::check_outputs(ir::single_run(graph, before), inputs, results);
      for (size_t i = 0; i < comparisons.size(); ++i)
        EXPECT_TRUE(comparisons[i].pass)
            << "run " << run << ", " << i << ": " << comparisons[i].reason;
    }
  }

  ir::Graph graph;
  std::shared_ptr<const Program> program;
  std::vector<Tensor> inputs;
};
TCC_ON_EVERY_DEVICE(StateTest);

TEST_P(StateTest, ACounterCounts) {
  compile(
      "inputs: {}\n"
      "states: {n: {dtype: i32, shape: []}, s: {dtype: f32, shape: [5, 7], init: {constant: 2}}}\n"
      "nodes:\n"
      "  - {out: m, op: add, in: [n, 1]}\n"
      "  - {out: stored, op: assign, in: [n, m]}\n"
      "  - {out: h, op: mul, in: [s, 3.0]}\n"
      "  - {out: t, op: assign, in: [s, h]}\n"
      "  - {out: y, op: sum, in: [t], dim: [0, 1]}\n"
      "outputs: [y, n]\n");
  Context context(program), other(program);
  expect_right(context, 3);
  if (!runs_kernels()) return;
  EXPECT_EQ(context.state(0).get_int(0), 3);
  EXPECT_EQ(context.state(1).get(34), 54);
  EXPECT_EQ(other.state(0).get_int(0), 0) << "contexts share no state";
  EXPECT_EQ(other.state(1).get(0), 2);

  context.reset_states();
  EXPECT_EQ(context.state(0).get_int(0), 0);
  EXPECT_EQ(context.state(1).get(11), 2);
  expect_right(context, 2);

  Tensor seven(DType::i32, {});
  seven.set_int(0, 7);
  context.set_state(0, seven);
  context.run(inputs);
  EXPECT_EQ(context.state(0).get_int(0), 8);
  EXPECT_ERROR(context.set_state(0, context.state(1)), "state 'n' is i32[], not f32[5, 7]");
  EXPECT_ERROR(context.state(2), "state 2 of 2 states");
}

// A row of keys is added at each step, and all of them are read.
TEST_P(StateTest, ACacheOfKeysGrows) {
  compile(
      "inputs: {k: {dtype: f32, shape: [2, 1, 8]}, q: {dtype: f32, shape: [2, 1, 8]}}\n"
      "states: {at: {dtype: i64, shape: []}, keys: {dtype: f32, shape: [2, 6, 8]}}\n"
      "nodes:\n"
      "  - {out: rows, op: arange, end: 6}\n"
      "  - {out: here, op: eq, in: [rows, at]}\n"
      "  - {out: mask, op: reshape, in: [here], shape: [1, 6, 1]}\n"
      "  - {out: more, op: where, in: [mask, k, keys]}\n"
      "  - {out: all, op: assign, in: [keys, more]}\n"
      "  - {out: turned, op: transpose, in: [all], dim0: 1, dim1: 2}\n"
      "  - {out: scores, op: matmul, in: [q, turned]}\n"
      "  - {out: next, op: add, in: [at, 1]}\n"
      "  - {out: moved, op: assign, in: [at, next]}\n"
      "outputs: [scores]\n");
  Context context(program);
  expect_right(context, 3);
  if (!runs_kernels()) return;
  const Tensor keys = context.state(1);
  for (int64_t row = 0; row < 6; ++row) EXPECT_EQ(keys.get(row * 8) != 0, row < 3) << row;
}

// w = w - lr * x^T (x w - y), with the loss before the step.
TEST_P(StateTest, GradientDescent) {
  compile(
      "inputs: {x: {dtype: f32, shape: [32, 12]}, y: {dtype: f32, shape: [32, 4]}}\n"
      "states: {w: {dtype: f32, shape: [12, 4], init: {normal: 0.5}}}\n"
      "nodes:\n"
      "  - {out: p, op: matmul, in: [x, w]}\n"
      "  - {out: e, op: sub, in: [p, y]}\n"
      "  - {out: loss, op: sum, in: [e], dim: [0, 1]}\n"
      "  - {out: xt, op: transpose, in: [x], dim0: 0, dim1: 1}\n"
      "  - {out: g, op: matmul, in: [xt, e]}\n"
      "  - {out: d, op: mul, in: [g, 0.01]}\n"
      "  - {out: less, op: sub, in: [w, d]}\n"
      "  - {out: w2, op: assign, in: [w, less]}\n"
      "outputs: [loss]\n");
  Context context(program);
  expect_right(context, 3);
}

// Old values are read after the new ones are known; two states trade places.
TEST_P(StateTest, OldValuesStayUntilTheEnd) {
  compile(
      "inputs: {x: {dtype: f32, shape: [40]}}\n"
      "states: {a: {dtype: f32, shape: [40], init: ones}, b: {dtype: f32, shape: [40]},\n"
      "  c: {dtype: f32, shape: [40]}}\n"
      "nodes:\n"
      "  - {out: a2, op: assign, in: [a, b]}\n"
      "  - {out: s, op: add, in: [a, x]}\n"
      "  - {out: b2, op: assign, in: [b, s]}\n"
      "  - {out: turned, op: flip, in: [b2], dims: [0]}\n"
      "  - {out: c2, op: assign, in: [c, turned]}\n"
      "  - {out: sum, op: cumsum, in: [c2], dim: 0}\n"
      "  - {out: y, op: sub, in: [sum, a]}\n"
      "outputs: [y, c, b2]\n");
  Context context(program);
  expect_right(context, 4);
}

TEST_P(StateTest, IsKeptInAFile) {
  compile(
      "inputs: {x: {dtype: f32, shape: [40]}}\n"
      "states: {a: {dtype: f32, shape: [40], init: {normal: 1}}}\n"
      "nodes:\n"
      "  - {out: s, op: add, in: [a, x]}\n"
      "  - {out: t, op: assign, in: [a, s]}\n"
      "  - {out: y, op: neg, in: [t]}\n"
      "outputs: [y]\n");
  std::vector<std::byte> bytes;
  exec::write_executable(program->executable(), [&](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  });
  program = std::make_shared<const Program>(device, exec::read_executable(nullptr, bytes, "file"));
  Context context(program);
  expect_right(context, 3);
}

}  // namespace
}  // namespace tcc::runtime
