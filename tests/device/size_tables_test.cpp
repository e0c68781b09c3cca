// Programs whose regions have several kernels, chosen by sizes: at sizes in all parts of their
// tables they give what the reference gives.
#include <algorithm>
#include <random>
#include <set>

#include "backends/pipeline.h"
#include "executable/serialize.h"
#include "frontend/graph_file.h"
#include "frontend/random_init.h"
#include "ir/reference/check.h"
#include "runtime/program.h"
#include "scheduler/family.h"
#include "tests/device/conformance.h"
#include "tests/run_graph.h"

namespace tcc::runtime {
namespace {

// Another legal config for each of the region's sizes, as if each were the fastest one there.
class AnyConfigs : public sched::ConfigSource {
 public:
  explicit AnyConfigs(uint64_t seed) : seed_(seed) {}
  sched::ConfigChoice choose(const sched::Candidate& candidate) const override {
    uint64_t seed = seed_;
    for (const int64_t extent : sched::family_of(candidate.region()).extents)
      seed = seed * 31 + static_cast<uint64_t>(extent);
    std::mt19937_64 draw(seed);
    const std::vector<sched::Config> drawn = candidate.space().draw([&] { return draw(); }, 1);
    if (drawn.empty()) return sched::analytic_configs().choose(candidate);
    return {drawn[0], sched::Tier::exact};
  }

 private:
  uint64_t seed_;
};

class SizeTablesTest : public DeviceTest {
 protected:
  void compile(const std::string& body, const ir::SizeRanges& dims,
               const sched::ConfigSource* configs) {
    graph = parse_yaml_graph("tcc: 1\n" + body, "graph.yaml", ".");
    backends::CompileOptions options;
    options.open_dims = dims;
    options.configs = configs;
    options.validate = true;
    exec::Executable executable = backends::compile(graph, device->target(), options);
    for (const exec::SizeTable& table : executable.tables)
      for (const auto& any_of : table.conditions)
        for (const exec::SizeCondition& condition : any_of)
          for (const exec::SizeBounds& bounds : condition)
            for (const int64_t end : {bounds.least, bounds.most, bounds.most + 1}) ends.insert(end);
    tables = executable.tables.size();
    // As it comes from a file.
    std::vector<std::byte> bytes;
    exec::write_executable(executable, [&](std::span<const std::byte> more) {
      bytes.insert(bytes.end(), more.begin(), more.end());
    });
    file = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    program = std::make_shared<const Program>(device, exec::read_executable(file, *file, "file"));
  }

  void expect_right(Context& context, const exec::Dims& dims) const {
    const ir::Graph bound = graph.bind(dims);
    const std::vector<Tensor> inputs = test::draw_inputs(bound, {.int_hi = 4, .seed = 5});
    const std::vector<Tensor> results = context.run(inputs);
    if (!runs_kernels()) return;
    std::string at;
    for (const auto& [dim, size] : dims) at += dim + " = " + std::to_string(size) + " ";
    for (const ir::Comparison& compared : ir::check_outputs(bound, inputs, results))
      EXPECT_TRUE(compared.pass) << at << compared.reason;
  }

  // At the ends of all conditions' bounds that are sizes of the dims, and at drawn sizes.
  void expect_right(const ir::SizeRanges& dims, int draws, uint64_t seed) {
    Context context(program);
    std::mt19937_64 draw(seed);
    const auto drawn = [&](const ir::SizeRange& range) {
      const double low = std::log2(static_cast<double>(std::max<int64_t>(range.least, 1))),
                   high = std::log2(static_cast<double>(range.most) + 1);
      const double exponent = std::uniform_real_distribution<double>(low, high)(draw);
      const auto size =
          std::clamp(static_cast<int64_t>(std::exp2(exponent)), range.least, range.most);
      return size / range.multiple * range.multiple;
    };
    std::set<exec::Dims> all;
    for (const auto& [dim, range] : dims)
      for (const int64_t end : ends) {
        const int64_t size = end * range.multiple;
        if (size < range.least || size > range.most) continue;
        exec::Dims sizes;
        for (const auto& [other, of_other] : dims)
          sizes[other] = other == dim ? size : drawn(of_other);
        all.insert(sizes);
      }
    while (draws-- > 0) {
      exec::Dims sizes;
      for (const auto& [dim, range] : dims) sizes[dim] = drawn(range);
      all.insert(sizes);
    }
    // Kernels take a software device long to translate.
    constexpr size_t kMost = 24;
    const size_t step = (all.size() + kMost - 1) / kMost;
    size_t number = 0;
    for (const exec::Dims& sizes : all)
      if (number++ % step == 0) expect_right(context, sizes);
  }

  void check(const std::string& body, const ir::SizeRanges& dims, int draws = 8) {
    compile(body, dims, nullptr);
    expect_right(dims, draws, 1);
    ends.clear();
    const AnyConfigs configs(1);
    compile(body, dims, &configs);
    EXPECT_GT(tables, 0u) << "sizes have one kernel";
    expect_right(dims, draws, 2);
  }

  ir::Graph graph;
  std::shared_ptr<const std::vector<std::byte>> file;
  std::shared_ptr<const Program> program;
  std::set<int64_t> ends;  // of bounds, and what is behind
  size_t tables = 0;
};
TCC_ON_EVERY_DEVICE(SizeTablesTest);

TEST_P(SizeTablesTest, ProductsOfRows) {
  check(
      "dims: {M: 16}\n"
      "inputs: {x: {dtype: f32, shape: [M, 48]}}\n"
      "weights: {w: {dtype: f32, shape: [72, 48], init: {normal: 0.1}},\n"
      "  b: {dtype: f32, shape: [72], init: {normal: 1}}}\n"
      "nodes: [{out: y, op: linear, in: [x, w, b]}, {out: r, op: relu, in: [y]}]\n"
      "outputs: [r]\n",
      {{"M", {1, 300, 1}}});
}

TEST_P(SizeTablesTest, ProductsOfHalves) {
  check(
      "dims: {M: 16}\n"
      "inputs: {x: {dtype: f16, shape: [M, 64]}, y: {dtype: f16, shape: [64, M]}}\n"
      "nodes: [{out: z, op: matmul, in: [x, y]}]\n"
      "outputs: [z]\n",
      {{"M", {8, 256, 8}}});
}

// Rows, columns, and both.
TEST_P(SizeTablesTest, Softmax) {
  const std::string body =
      "dims: {M: 8, N: 40}\n"
      "inputs: {x: {dtype: f32, shape: [M, N]}}\n"
      "nodes: [{out: y, op: softmax, in: [x], dim: 1}]\n"
      "outputs: [y]\n";
  check(body, {{"M", {1, 200, 1}}, {"N", {1, 900, 1}}});
}

TEST_P(SizeTablesTest, RowsAreReduced) {
  check(
      "dims: {B: 8}\n"
      "inputs: {x: {dtype: f32, shape: [B, 6, 96]}, y: {dtype: f32, shape: [3, B, 5]}}\n"
      "weights: {w: {dtype: f32, shape: [96], init: {normal: 1}}}\n"
      "nodes:\n"
      "  - {out: n, op: layer_norm, in: [x, w, w], normalized_shape: [96]}\n"
      "  - {out: c, op: sum, in: [y], dim: [1]}\n"
      "outputs: [n, c]\n",
      {{"B", {1, 257, 1}}});
}

// Sizes of 0 are in the first part of a table.
TEST_P(SizeTablesTest, NothingIsASize) {
  const std::string body =
      "dims: {B: 8}\n"
      "inputs: {x: {dtype: f32, shape: [B, 48]}}\n"
      "weights: {w: {dtype: f32, shape: [24, 48], init: {normal: 0.1}}}\n"
      "nodes: [{out: y, op: linear, in: [x, w]}, {out: p, op: softmax, in: [y], dim: -1}]\n"
      "outputs: [p]\n";
  check(body, {{"B", {0, 70, 1}}});
  Context context(program);
  for (const int64_t size : {0, 1, 0}) expect_right(context, {{"B", size}});
}

// A layer of attention: what depends on B times S alone has tables of that product.
TEST_P(SizeTablesTest, ALayerOfAttention) {
  check(
      "dims: {B: 2, S: 9}\n"
      "inputs: {x: {dtype: f32, shape: [B, S, 32]}}\n"
      "weights: {q: {dtype: f32, shape: [32, 32], init: {normal: 0.2}},\n"
      "  k: {dtype: f32, shape: [32, 32], init: {normal: 0.2}},\n"
      "  v: {dtype: f32, shape: [32, 32], init: {normal: 0.2}},\n"
      "  u: {dtype: f32, shape: [64, 32], init: {normal: 0.2}},\n"
      "  d: {dtype: f32, shape: [32, 64], init: {normal: 0.2}},\n"
      "  g: {dtype: f32, shape: [32], init: {normal: 1}}}\n"
      "nodes:\n"
      "  - {out: a, op: linear, in: [x, q]}\n"
      "  - {out: b, op: linear, in: [x, k]}\n"
      "  - {out: c, op: linear, in: [x, v]}\n"
      "  - {out: s, op: scaled_dot_product_attention, in: [a, b, c]}\n"
      "  - {out: h, op: add, in: [s, x]}\n"
      "  - {out: n, op: layer_norm, in: [h, g, g], normalized_shape: [32]}\n"
      "  - {out: l, op: linear, in: [n, u]}\n"
      "  - {out: e, op: gelu, in: [l]}\n"
      "  - {out: o, op: linear, in: [e, d]}\n"
      "  - {out: y, op: add, in: [o, n]}\n"
      "outputs: [y]\n",
      {{"B", {1, 4, 1}}, {"S", {1, 32, 1}}}, 4);
}

// Not all products of sizes are there: none is 10, 11 or 12.
TEST_P(SizeTablesTest, ProductsMayHaveGaps) {
  check(
      "dims: {B: 2, S: 8}\n"
      "inputs: {x: {dtype: f32, shape: [B, S, 48]}}\n"
      "nodes: [{out: y, op: softmax, in: [x], dim: -1}]\n"
      "outputs: [y]\n",
      {{"B", {1, 64, 1}}, {"S", {8, 9, 1}}}, 4);
}

// A state that is updated where it lies has kernels for sizes, too.
TEST_P(SizeTablesTest, StatesAreUpdatedInPlace) {
  const std::string body =
      "dims: {B: 8}\n"
      "inputs: {x: {dtype: f32, shape: [B, 24]}}\n"
      "states: {s: {dtype: f32, shape: [24]}}\n"
      "nodes:\n"
      "  - {out: r, op: sum, in: [x], dim: [0]}\n"
      "  - {out: a, op: add, in: [s, r]}\n"
      "  - {out: t, op: assign, in: [s, a]}\n"
      "  - {out: y, op: mul, in: [x, 2.0]}\n"
      "outputs: [y]\n";
  const ir::SizeRanges dims = {{"B", {1, 100, 1}}};
  const AnyConfigs configs(3);
  compile(body, dims, &configs);
  for (const int64_t size : {1, 3, 17, 64, 100}) {
    Context context(program);
    expect_right(context, {{"B", size}});
    if (!runs_kernels()) continue;
    const ir::Graph bound = graph.bind({{"B", size}});
    const Tensor x =
        random_tensor(DType::f32, {size, 24}, Init::uniform(-2, 2), stream_seed(5, "x"));
    for (int64_t column = 0; column < 24; ++column) {
      double sum = 0;
      for (int64_t row = 0; row < size; ++row) sum += x.get(row * 24 + column);
      EXPECT_NEAR(context.state(0).get(column), sum, 1e-4);
    }
  }
}

// Reports have the kernels that run, and tables do not change what steps are.
TEST_P(SizeTablesTest, StepsThatDoNotRunTakeNoTime) {
  const AnyConfigs configs(1);
  compile(
      "dims: {B: 8}\n"
      "inputs: {x: {dtype: f32, shape: [B, 48]}}\n"
      "weights: {w: {dtype: f32, shape: [24, 48], init: {normal: 0.1}}}\n"
      "nodes: [{out: y, op: linear, in: [x, w]}]\n"
      "outputs: [y]\n",
      {{"B", {1, 300, 1}}}, &configs);
  ASSERT_EQ(tables, 1u);
  const exec::Executable& executable = program->executable();
  EXPECT_GT(executable.steps.size(), 1u);
  Context context(program);
  std::set<std::vector<int>> taken;
  for (const int64_t size : {1, 2, 9, 40, 300, 40}) {
    expect_right(context, {{"B", size}});
    const std::vector<int> counts = context.step_counts();
    taken.insert(counts);
    const std::vector<double> seconds = context.time_steps();
    ASSERT_EQ(seconds.size(), executable.steps.size());
    ASSERT_EQ(counts.size(), executable.steps.size());
    const std::vector<int> choices = exec::choices(executable, {{{"B", size}}});
    for (size_t i = 0; i < seconds.size(); ++i) {
      EXPECT_EQ(counts[i], exec::runs(executable.steps[i], choices) ? 1 : 0) << i;
      EXPECT_TRUE(counts[i] > 0 || seconds[i] == 0) << i;
    }
  }
  EXPECT_GT(taken.size(), 1u);
}

}  // namespace
}  // namespace tcc::runtime
