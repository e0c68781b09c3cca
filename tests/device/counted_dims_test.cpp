// Conformance: programs with dims that a run counts (ir/counted_dims.h), against the reference.
#include "backends/pipeline.h"
#include "executable/serialize.h"
#include "frontend/graph_file.h"
#include "frontend/random_init.h"
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

}  // namespace
}  // namespace tcc::runtime
