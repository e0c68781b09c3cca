// Conformance: states that grow from run to run, each run against the reference at its length.
#include <random>

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

class GrowingStateTest : public DeviceTest {
 protected:
  void compile(const std::string& body, const ir::SizeRanges& open, bool fuse = true) {
    graph = parse_yaml_graph("tcc: 1\n" + body, "graph.yaml", ".");
    backends::CompileOptions options;
    options.open_dims = open;
    options.fuse = fuse;
    options.validate = true;
    program = std::make_shared<const Program>(device,
                                              backends::compile(graph, device->target(), options));
  }

  std::vector<Tensor> states(Context& context) const {
    std::vector<Tensor> values;
    for (size_t i = 0; i < graph.states.size(); ++i) values.push_back(context.state(i));
    return values;
  }

  // One run at these sizes, from the states that there are, which are `length` long.
  void step(Context& context, int64_t length, std::map<std::string, int64_t, std::less<>> sizes,
            uint64_t seed) {
    sizes["P"] = length;
    const ir::Graph bound = graph.bind(sizes);
    const std::vector<Tensor> before = states(context);
    std::vector<Tensor> inputs;
    for (const ir::Value* input : bound.inputs)
      inputs.push_back(
          random_tensor(input->dtype(), ir::const_shape(*input),
                        is_float(input->dtype()) ? Init::uniform(-1, 1) : Init::integers(0, 9),
                        stream_seed(seed, input->name)));
    std::vector<Tensor> results = context.run(inputs);
    if (!runs_kernels()) return;
    const std::vector<Tensor> after = states(context);
    results.insert(results.end(), after.begin(), after.end());
    const auto compared = ir::check_outputs(ir::single_run(bound, before), inputs, results);
    for (size_t i = 0; i < compared.size(); ++i)
      EXPECT_TRUE(compared[i].pass)
          << "length " << length << ", " << i << ": " << compared[i].reason;
  }

  ir::Graph graph;
  std::shared_ptr<const Program> program;
};
TCC_ON_EVERY_DEVICE(GrowingStateTest);

constexpr const char* kRows =
    "dims: {P: 4, N: 1}\n"
    "inputs: {x: {dtype: f32, shape: [2, N, 3]}}\n"
    "states: {s: {dtype: f32, shape: [2, P + N, 3]}}\n"
    "nodes:\n"
    "  - {out: r, op: mul, in: [x, 2.0]}\n"
    "  - {out: all, op: append, in: [s, r], dim: 1, length: P}\n"
    "  - {out: now, op: slice, in: [all], dim: 1, start: 0, end: P + N}\n"
    "  - {out: y, op: sum, in: [now], dim: [1]}\n"
    "outputs: [y]\n";

// Attention of a token to all tokens so far, as decoders have it.
TEST_P(GrowingStateTest, ACacheOfKeysAndValues) {
  compile(
      "dims: {P: 4, N: 1}\n"
      "inputs: {q: {dtype: f32, shape: [1, 4, N, 16]}, k: {dtype: f32, shape: [1, 2, N, 16]},\n"
      "  v: {dtype: f32, shape: [1, 2, N, 16]}, mask: {dtype: i64, shape: [1, P + N]}}\n"
      "states: {keys: {dtype: f32, shape: [1, 2, P + N, 16]},\n"
      "  values: {dtype: f32, shape: [1, 2, P + N, 16]}}\n"
      "nodes:\n"
      "  - {out: k2, op: append, in: [keys, k], dim: 2, length: P}\n"
      "  - {out: v2, op: append, in: [values, v], dim: 2, length: P}\n"
      "  - {out: kn, op: slice, in: [k2], dim: 2, start: 0, end: P + N}\n"
      "  - {out: vn, op: slice, in: [v2], dim: 2, start: 0, end: P + N}\n"
      "  - {out: seen, op: ne, in: [mask, 100]}\n"
      "  - {out: is_seen, op: reshape, in: [seen], shape: [1, 1, 1, P + N]}\n"
      "  - {out: y, op: scaled_dot_product_attention, in: [q, kn, vn, is_seen], enable_gqa: true}\n"
      "outputs: [y]\n",
      {{"P", {0, 40, 1}}});
  Context context(program);
  for (int64_t p = 0; p < 20; ++p) step(context, p, {{"N", 1}}, static_cast<uint64_t>(p));
}

// Queries, keys and values of one product: what is done to each, and both appends, are one launch.
TEST_P(GrowingStateTest, PartsOfOneProductSideBySide) {
  compile(
      "dims: {P: 4, N: 1}\n"
      "inputs: {x: {dtype: f32, shape: [N, 24]}}\n"
      "weights: {w: {dtype: f32, shape: [24, 64], init: {normal: 0.3}}}\n"
      "states: {keys: {dtype: f32, shape: [2, P + N, 8]}, values: {dtype: f32, shape: [P + N, "
      "16]}}\n"
      "nodes:\n"
      "  - {out: qkv, op: matmul, in: [x, w]}\n"
      "  - {out: q, op: slice, in: [qkv], dim: 1, end: 32}\n"
      "  - {out: k, op: slice, in: [qkv], dim: 1, start: 32, end: 48}\n"
      "  - {out: v, op: slice, in: [qkv], dim: 1, start: 48, end: 64}\n"
      "  - {out: qs, op: sin, in: [q]}\n"
      "  - {out: kc, op: cos, in: [k]}\n"
      "  - {out: kh, op: reshape, in: [kc], shape: [N, 2, 8]}\n"
      "  - {out: kt, op: permute, in: [kh], dims: [1, 0, 2]}\n"
      "  - {out: k2, op: append, in: [keys, kt], dim: 1, length: P}\n"
      "  - {out: v2, op: append, in: [values, v], dim: 0, length: P}\n"
      "  - {out: vn, op: slice, in: [v2], dim: 0, start: 0, end: P + N}\n"
      "  - {out: kn, op: slice, in: [k2], dim: 1, start: 0, end: P + N}\n"
      "  - {out: vs, op: sum, in: [vn], dim: [0]}\n"
      "  - {out: ks, op: sum, in: [kn], dim: [1]}\n"
      "outputs: [qs, vs, ks]\n",
      {{"P", {0, 40, 1}}});
  const auto& kernels = program->executable().kernels;
  EXPECT_EQ(std::ranges::count(kernels, "side_by_side", &exec::KernelBinary::template_name), 1);
  Context context(program);
  for (int64_t p = 0; p < 12; ++p) step(context, p, {{"N", 1}}, static_cast<uint64_t>(p));
}

// A prompt of any length, then tokens; no run copies what was there.
TEST_P(GrowingStateTest, GrowsByAnyNumberOfRows) {
  compile(kRows, {{"P", {0, 16, 1}}, {"N", {0, 9, 1}}});
  Context context(program);
  int64_t length = 0;
  for (const int64_t rows : {5, 1, 1, 0, 3, 1, 2}) {
    step(context, length, {{"N", rows}}, static_cast<uint64_t>(length));
    length += rows;
  }
  for (const exec::Step& one : program->executable().steps)
    EXPECT_FALSE(std::holds_alternative<exec::Copy>(one));
}

// A run that begins with other rows, or at another length, is not as the reference has it.
TEST_P(GrowingStateTest, ACheckSeesWrongStates) {
  compile(kRows, {{"P", {0, 16, 1}}});
  Context context(program);
  Tensor rows(DType::f32, {2, 3, 3});
  for (int64_t i = 0; i < rows.numel(); ++i) rows.set(i, static_cast<double>(i));
  context.set_state(0, rows);
  const std::vector<Tensor> inputs = {Tensor(DType::f32, {2, 1, 3})};
  std::vector<Tensor> results = context.run(inputs);
  results.push_back(context.state(0));
  if (!runs_kernels()) return;
  const auto compared = [&](int64_t length, const Tensor& before) {
    const ir::Graph run = ir::single_run(graph.bind({{"P", length}}), {&before, 1});
    return ir::check_outputs(run, inputs, results);
  };
  for (const ir::Comparison& one : compared(3, rows)) EXPECT_TRUE(one.pass) << one.reason;
  Tensor other = rows;
  other.set(4, 5);
  for (const ir::Comparison& one : compared(3, other)) EXPECT_FALSE(one.pass);
  const auto at_two = compared(2, Tensor(DType::f32, {2, 2, 3}));
  EXPECT_FALSE(at_two.at(0).pass);
  EXPECT_EQ(at_two.at(1).reason, "is f32[2, 4, 3] where the reference is f32[2, 3, 3]");
}

TEST_P(GrowingStateTest, LengthsOfMultiples) {
  compile(kRows, {{"P", {0, 32, 4}}, {"N", {4, 8, 4}}});
  Context context(program);
  int64_t length = 0;
  for (const int64_t rows : {8, 4, 4, 8}) {
    step(context, length, {{"N", rows}}, 3);
    length += rows;
  }
}

TEST_P(GrowingStateTest, IsFullAtTheEndOfItsRange) {
  compile(kRows, {{"P", {0, 3, 1}}});
  Context context(program), other(program);
  const std::vector<Tensor> inputs = {Tensor(DType::f32, {2, 1, 3})};
  for (int64_t p = 0; p < 4; ++p) step(context, p, {{"N", 1}}, 1);
  EXPECT_ERROR(context.run(inputs), "state 's' is full: it is 4 long, and P = 0..3");
  EXPECT_EQ(context.state(0).shape(), (std::vector<int64_t>{2, 4, 3})) << "it is as it was";
  step(other, 0, {{"N", 1}}, 2);  // contexts share no state
  context.reset_states();
  EXPECT_EQ(context.state(0).shape(), (std::vector<int64_t>{2, 0, 3}));
  for (int64_t p = 0; p < 4; ++p) step(context, p, {{"N", 1}}, 5);
  EXPECT_ERROR(context.run(inputs), "state 's' is full");
}

TEST_P(GrowingStateTest, IsSetAtAnyLength) {
  compile(kRows, {{"P", {1, 8, 1}}});
  Context context(program);
  EXPECT_EQ(context.state(0).shape(), (std::vector<int64_t>{2, 1, 3})) << "zeros";
  step(context, 1, {{"N", 1}}, 1);
  step(context, 2, {{"N", 1}}, 2);
  const Tensor kept = context.state(0);
  Tensor five = random_tensor(DType::f32, {2, 5, 3}, Init::uniform(-1, 1), 9);
  context.set_state(0, five);
  step(context, 5, {{"N", 1}}, 3);
  context.set_state(0, kept);
  step(context, 3, {{"N", 1}}, 4);
  context.set_state(0, Tensor(DType::f32, {2, 9, 3}));
  EXPECT_ERROR(context.run(std::vector{Tensor(DType::f32, {2, 1, 3})}), "state 's' is full");
  EXPECT_ERROR(context.set_state(0, Tensor(DType::f32, {2, 10, 3})),
               "state 's' cannot be 10 long: it has room for 9, and P = 1..8");
  EXPECT_ERROR(context.set_state(0, Tensor(DType::f32, {2, 0, 3})), "cannot be 0 long");
  EXPECT_ERROR(context.set_state(0, Tensor(DType::f32, {3, 3, 3})), "not f32[3, 3, 3]");
  EXPECT_ERROR(context.set_state(0, Tensor(DType::i32, {2, 3, 3})), "not i32[2, 3, 3]");
  EXPECT_ERROR(context.set_dims({{"P", 3}}), "'P' is the length of state 's'");
  EXPECT_ERROR(context.bind_state(0, {device->allocate(4096)}), "state 's' grows");
}

TEST_P(GrowingStateTest, StatesOfOneLengthGrowTogether) {
  const std::string two =
      "dims: {P: 4, N: 1}\n"
      "inputs: {x: {dtype: f32, shape: [N, 4]}, z: {dtype: i32, shape: [3, N]}}\n"
      "states: {s: {dtype: f32, shape: [P + N, 4]}, t: {dtype: i32, shape: [3, P + N]}}\n"
      "nodes:\n"
      "  - {out: a, op: append, in: [s, x], dim: 0, length: P}\n"
      "  - {out: b, op: append, in: [t, z], dim: 1, length: P}\n"
      "  - {out: c, op: slice, in: [a], dim: 0, start: 0, end: P + N}\n"
      "  - {out: d, op: slice, in: [b], dim: 1, start: 0, end: P + N}\n"
      "  - {out: e, op: sum, in: [d], dim: [0]}\n"
      "  - {out: f, op: to, in: [e], dtype: f32}\n"
      "  - {out: g, op: unsqueeze, in: [f], dim: 1}\n"
      "  - {out: y, op: mul, in: [c, g]}\n"
      "outputs: [y, d]\n";
  compile(two, {{"P", {0, 8, 1}}});
  Context context(program);
  for (int64_t p = 0; p < 5; ++p) step(context, p, {{"N", 1}}, 1);
  context.set_state(0, Tensor(DType::f32, {2, 4}));
  const std::vector<Tensor> inputs = {Tensor(DType::f32, {1, 4}), Tensor(DType::i32, {3, 1})};
  EXPECT_ERROR(context.run(inputs), "state 't' is 5 long and state 's' 2: both are 'P'");
  context.set_state(1, Tensor(DType::i32, {3, 2}));
  step(context, 2, {{"N", 1}}, 8);
}

TEST_P(GrowingStateTest, WhatCannotGrowIsRefused) {
  EXPECT_ERROR(compile(kRows, {{"N", {1, 4, 1}}}),
               "state 's' grows from run to run: its length P stays open, and needs a range (--dim "
               "P=0..4095)");
  EXPECT_ERROR(compile(kRows, {{"N", {1, 4, 1}}, {"P", {}}}), "needs a range (--dim P=0..4095)");
  std::string body = kRows;
  body.replace(body.find("P + N, 3]}}\nnodes"), 5, "6");
  EXPECT_ERROR(compile(body, {{"P", {0, 6, 1}}}),
               "graph.yaml:7: state 's' has room for 6 along dim 1, and P + 1 may be 7");
  body = kRows;
  body.replace(body.find("length: P"), 9, "length: 2 * P");
  EXPECT_ERROR(compile(body, {{"P", {0, 6, 1}}}), "room for");
  // The old value is read where rows are behind it already.
  body = kRows;
  body.replace(body.find("outputs: [y]"), 12,
               "  - {out: old, op: slice, in: [s], dim: 1, start: 0, end: P}\n"
               "  - {out: m, op: amax, in: [y], dim: [0, 1]}\n"
               "  - {out: z, op: mul, in: [old, m]}\noutputs: [z]");
  EXPECT_ERROR(compile(body, {{"P", {0, 6, 1}}}), "read the result of append");
}

// Rows at a fixed place: nothing grows.
TEST_P(GrowingStateTest, APartIsReplacedInEachRun) {
  compile(
      "dims: {N: 3}\n"
      "inputs: {x: {dtype: f32, shape: [2, 3, 5]}}\n"
      "states: {s: {dtype: f32, shape: [2, 9, 5], init: {normal: 1}}}\n"
      "nodes: [{out: a, op: append, in: [s, x], dim: 1, length: 4}]\n"
      "outputs: [a]\n",
      {});
  EXPECT_FALSE(program->executable().states[0].grows());
  Context context(program);
  for (int run = 0; run < 2; ++run) {
    const ir::Graph bound = graph.bind({});
    const Tensor before = context.state(0);
    const std::vector<Tensor> inputs = {
        random_tensor(DType::f32, {2, 3, 5}, Init::uniform(-1, 1), static_cast<uint64_t>(run))};
    std::vector<Tensor> results = context.run(inputs);
    if (!runs_kernels()) continue;
    results.push_back(context.state(0));
    const auto compared = ir::check_outputs(ir::single_run(bound, {&before, 1}), inputs, results);
    for (const ir::Comparison& one : compared) EXPECT_TRUE(one.pass) << one.reason;
  }
}

TEST_P(GrowingStateTest, IsKeptInAFile) {
  compile(kRows, {{"P", {0, 6, 1}}, {"N", {1, 2, 1}}});
  std::vector<std::byte> bytes;
  exec::write_executable(program->executable(), [&](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  });
  program = std::make_shared<const Program>(device, exec::read_executable(nullptr, bytes, "file"));
  Context context(program);
  step(context, 0, {{"N", 2}}, 1);
  step(context, 2, {{"N", 1}}, 1);
}

// Kernels for one number of rows, beside those for all.
TEST_P(GrowingStateTest, HasVariants) {
  graph = parse_yaml_graph(std::string("tcc: 1\n") + kRows, "graph.yaml", ".");
  backends::CompileOptions options;
  options.open_dims = {{"P", {0, 16, 1}}, {"N", {1, 8, 1}}};
  options.specialize = {{{"N", 1}}};
  program =
      std::make_shared<const Program>(device, backends::compile(graph, device->target(), options));
  ASSERT_EQ(program->variants().size(), 1u);
  Context context(program);
  int64_t length = 0;
  for (const int64_t rows : {4, 1, 1, 2, 1}) {
    step(context, length, {{"N", rows}}, static_cast<uint64_t>(length));
    length += rows;
  }
}

class Draws {
 public:
  explicit Draws(uint64_t seed) : engine_(seed) {}
  int64_t number(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(engine_);
  }
  template <class T>
  T one_of(const std::vector<T>& all) {
    return all[static_cast<size_t>(number(0, std::ssize(all) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

std::string list(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return "[" + text + "]";
}

// A state of any rank that grows along any dim, another one whose rows come from the first, and
// what reads them.
std::string random_graph(Draws& draws, bool has_open_rows) {
  const std::string dtype = draws.one_of<std::string>({"f32", "f32", "f16", "bf16"});
  const auto rank = draws.number(1, 4), axis = draws.number(0, rank - 1);
  std::vector<std::string> rows, whole;
  for (int64_t d = 0; d < rank; ++d) {
    const std::string size = std::to_string(draws.one_of<int64_t>({1, 2, 3, 5, 8, 16}));
    rows.push_back(d == axis ? "N" : size);
    whole.push_back(d == axis ? "P + N" : size);
  }
  const std::string dim = "dim: " + std::to_string(axis);
  std::string text = "dims: {P: 4, N: " + std::string(has_open_rows ? "2" : "1") + "}\n";
  text += "inputs: {x: {dtype: " + dtype + ", shape: " + list(rows) + "}}\n";
  text += "states:\n  s: {dtype: " + dtype + ", shape: " + list(whole) + "}\n";
  text += "  t: {dtype: " + dtype + ", shape: [3, P + N]}\n";
  text += "nodes:\n";
  text += "  - {out: r, op: " + draws.one_of<std::string>({"neg", "relu", "tanh"}) + ", in: [x]}\n";
  text += "  - {out: all, op: append, in: [s, r], " + dim + ", length: P}\n";
  text += "  - {out: now, op: slice, in: [all], " + dim + ", start: 0, end: P + N}\n";
  text += "  - {out: p, op: softmax, in: [now], " + dim + "}\n";
  std::vector<std::string> others;
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis) others.push_back(std::to_string(d));
  // The sums of the new rows are those of the second state.
  const bool has_others = !others.empty();
  if (has_others) text += "  - {out: c, op: sum, in: [r], dim: " + list(others) + "}\n";
  text +=
      "  - {out: m, op: expand, in: [" + std::string(has_others ? "c" : "r") + "], size: [3, N]}\n";
  text += "  - {out: more, op: append, in: [t, m], dim: 1, length: P}\n";
  text += "  - {out: seen, op: slice, in: [more], dim: 1, start: 0, end: P + N}\n";
  text += "  - {out: y, op: sum, in: [seen], dim: [1]}\n";
  text += "  - {out: old, op: slice, in: [all], " + dim + ", start: 0, end: P}\n";
  text += "  - {out: z, op: mul, in: [old, 3.0]}\n";
  if (rank >= 2) {
    text += "  - {out: u, op: transpose, in: [now], dim0: 0, dim1: " + std::to_string(rank - 1) +
            "}\n  - {out: w, op: exp, in: [u]}\n";
  }
  return text + "outputs: [p, y, z" + (rank >= 2 ? ", w" : "") + "]\n";
}

TEST_P(GrowingStateTest, RandomGraphs) {
  const int count = 12;
  for (int seed = 0; seed < count; ++seed) {
    Draws draws(static_cast<uint64_t>(seed));
    const bool has_open_rows = seed % 2 == 0;
    const std::string body = random_graph(draws, has_open_rows);
    SCOPED_TRACE(body);
    ir::SizeRanges open = {{"P", {0, 24, 1}}};
    if (has_open_rows) open["N"] = {0, 5, 1};
    compile(body, open, draws.number(0, 3) > 0);
    Context context(program);
    int64_t length = 0;
    for (int run = 0; run < 5; ++run) {
      const int64_t rows = has_open_rows ? draws.number(0, 4) : 1;
      step(context, length, {{"N", rows}}, static_cast<uint64_t>(run));
      length += rows;
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tcc::runtime
