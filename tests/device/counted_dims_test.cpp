// Conformance: programs with dims that a run counts (ir/counted_dims.h), against the reference.
#include <algorithm>
#include <random>

#include "backends/pipeline.h"
#include "executable/serialize.h"
#include "frontend/graph_file.h"
#include "frontend/random_init.h"
#include "ir/builder.h"
#include "ir/reference/check.h"
#include "ir/reference/interpreter.h"
#include "runtime/program.h"
#include "tests/device/conformance.h"
#include "tests/expect_error.h"

namespace tcc::runtime {
namespace {

class CountedDimsTest : public DeviceTest {
 protected:
  void compile(const std::string& body, const ir::SizeRanges& open = {}) {
    graph = parse_yaml_graph("tcc: 1\nname: counted\n" + body, "graph.yaml", ".");
    backends::CompileOptions options;
    options.open_dims = open;
    options.validate = true;
    program = std::make_shared<const Program>(device,
                                              backends::compile(graph, device->target(), options));
  }

  // Zeros and numbers: about `share` of the elements are not zero.
  static Tensor sparse(const std::vector<int64_t>& shape, double share, uint64_t seed) {
    Tensor tensor = random_tensor(DType::f32, shape, Init::uniform(-2, 2), seed);
    const Tensor chosen = random_tensor(DType::f32, shape, Init::uniform(0, 1), seed + 1);
    for (int64_t i = 0; i < tensor.numel(); ++i)
      if (chosen.as<float>()[i] >= share) tensor.as<float>()[i] = 0;
    return tensor;
  }

  void expect_right(Context& context, const std::vector<Tensor>& inputs,
                    const exec::Dims& dims = {}) const {
    const ir::Graph bound = graph.bind(dims);
    const std::vector<Tensor> results = context.run(inputs);
    if (!runs_kernels()) return;
    std::vector<ir::RefTensor> given;
    for (const Tensor& input : inputs) given.push_back(ir::to_ref(input));
    const std::vector<ir::RefTensor> wanted = ir::interpret(bound, given, ir::RefMode::ideal);
    for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].shape(), wanted[i].shape);
    for (const ir::Comparison& compared : ir::check_outputs(bound, inputs, results))
      EXPECT_TRUE(compared.pass) << compared.reason;
  }

  ir::Graph graph;
  std::shared_ptr<const Program> program;
};
TCC_ON_EVERY_DEVICE(CountedDimsTest);

constexpr const char* kRows = R"(
dims: {N: 0}
inputs: {x: {dtype: f32, shape: [7, 9]}}
weights:
  w: {dtype: f32, shape: [16, 9], init: {normal: 0.3}}
nodes:
  - {op: nonzero, in: x, size: N, out: places}
  - {op: relu, in: x, out: positive}
  - {op: slice, in: places, dim: 1, start: 0, end: 1, out: row}
  - {op: squeeze, in: row, dim: 1, out: rows}
  - {op: index_select, in: [positive, rows], dim: 0, out: chosen}
  - {op: linear, in: [chosen, w], out: y}
outputs: [places, y, positive]
)";

TEST_P(CountedDimsTest, RunsGoOnAtTheSizeThatTheyCount) {
  compile(kRows);
  Context context(program);
  uint64_t seed = 3;
  for (const double share : {0.3, 0.31, 0.9, 0.0, 1.0, 0.05, 0.9, 0.3})
    expect_right(context, {sparse({7, 9}, share, ++seed)});
}

// The second count follows from the first one; a value from before both is used after them.
constexpr const char* kTwice = R"(
dims: {B: 8, N: 0, M: 0}
inputs: {x: {dtype: f32, shape: [B, 33]}}
nodes:
  - {op: tanh, in: x, out: t}
  - {op: nonzero, in: t, size: N, out: places}
  - {op: sum, in: places, dim: 1, out: sums}
  - {op: remainder, in: [sums, 3], out: rests}
  - {op: nonzero, in: rests, size: M, out: others}
  - {op: squeeze, in: others, dim: 1, out: which}
  - {op: index_select, in: [places, which], dim: 0, out: kept}
  - {op: flatten, in: t, out: flat}
  - {op: index_select, in: [flat, which], dim: 0, out: values}
  - {op: cumsum, in: values, dim: 0, out: running}
outputs: [kept, running, places]
)";

TEST_P(CountedDimsTest, ACountFollowsFromAnother) {
  compile(kTwice, {{"B", {1, 64, 1}}});
  Context context(program);
  uint64_t seed = 30;
  for (const auto& [b, share] : std::vector<std::pair<int64_t, double>>{
           {8, 0.5}, {64, 0.9}, {1, 0.5}, {8, 0.0}, {17, 0.2}, {64, 1.0}, {8, 0.5}})
    expect_right(context, {sparse({b, 33}, share, ++seed)}, {{"B", b}});
}

// A graph of several counts of whole numbers, which are exact: what one counts is made of values of
// any stages before it.
class RandomCounts {
 public:
  explicit RandomCounts(uint64_t seed) : random_(seed), b_(graph) {
    graph.name = "counts";
    graph.dims["B"] = 8;
    values_.push_back(graph.add_input("x", {DType::i64, {SymInt::symbol("B") * 5}}));
    for (int counts = 0, steps = 0; counts < 5 || steps < 14; ++steps) counts += add(counts);
    for (size_t k = 0; k < 4; ++k) graph.outputs.push_back(values_[values_.size() - 1 - k]);
    for (size_t k = 0; k < 4; ++k) graph.outputs.push_back(any());
    std::ranges::sort(graph.outputs);
    graph.outputs.erase(std::ranges::unique(graph.outputs).begin(), graph.outputs.end());
    std::erase(graph.outputs, graph.inputs[0]);
    for (const ir::Value* output : graph.outputs) graph.output_names.push_back(output->name);
    graph.remove_dead();
  }

  ir::Graph graph;

 private:
  using SymInt = ir::SymInt;

  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random_); }
  ir::Value* any() { return values_[static_cast<size_t>(below(std::ssize(values_)))]; }
  ir::Value* number(int64_t value) { return b_.scalar(DType::i64, static_cast<double>(value)); }
  // Whether it counts.
  bool add(int counts) {
    ir::Value* x = any();
    const ir::Attr size = ir::shape_attr({SymInt::symbol(str("N", counts))});
    switch (below(8)) {
      case 0: {
        ir::Value* places =
            b_.op("nonzero", {b_.op("remainder", {x, number(2 + below(2))})}, {{"size", size}});
        graph.dims[str("N", counts)] = 0;
        values_.push_back(b_.reshape(places, {places->shape()[0]}));
        return true;
      }
      case 1: {
        ir::Value* flags = b_.cast(b_.op("remainder", {x, number(3)}), DType::boolean);
        values_.push_back(b_.op("compress", {x, flags}, {{"size", size}}));
        graph.dims[str("N", counts)] = 0;
        return true;
      }
      case 2: {
        values_.push_back(b_.op("unique", {x}, {{"size", size}, {"sorted", below(2) == 1}}));
        graph.dims[str("N", counts)] = 0;
        return true;
      }
      case 3: values_.push_back(b_.op("cumsum", {x}, {{"dim", int64_t{0}}})); break;
      case 4: values_.push_back(b_.op("sort", {x}, {{"descending", true}})); break;
      case 5: values_.push_back(b_.add(x, b_.reduce("sum", any(), {0}))); break;
      case 6: values_.push_back(b_.op("cat", {x, any()}, {{"dim", int64_t{0}}})); break;
      default: values_.push_back(b_.add(b_.mul(x, number(3)), number(below(9))));
    }
    values_.back() = b_.op("remainder", {values_.back(), number(101)});
    return false;
  }

  std::mt19937_64 random_;
  ir::Builder b_;
  std::vector<ir::Value*> values_;
};

TEST_P(CountedDimsTest, RandomGraphsOfCountsAreRight) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    const RandomCounts drawn(seed);
    graph = drawn.graph.clone();
    backends::CompileOptions options;
    options.open_dims = {{"B", {0, 64, 1}}};
    options.fuse = seed % 4 != 0;
    options.validate = true;
    const auto file = std::make_shared<std::vector<std::byte>>();
    exec::write_executable(backends::compile(graph, device->target(), options),
                           [&](std::span<const std::byte> bytes) {
                             file->insert(file->end(), bytes.begin(), bytes.end());
                           });
    program = std::make_shared<const Program>(device, exec::read_executable(file, *file, "counts"));
    Context context(program);
    uint64_t draw = seed * 100;
    for (const int64_t b : {8, 64, 0, 1, 8, 33}) {
      Tensor x(DType::i64, {b * 5});
      std::mt19937_64 random(++draw);
      for (int64_t i = 0; i < x.numel(); ++i)
        x.as<int64_t>()[i] = static_cast<int64_t>(random() % 10);
      expect_right(context, {x}, {{"B", b}});
    }
  }
}

}  // namespace
}  // namespace tcc::runtime
