// Conformance: ops whose results are as many as a run counts, on every device, one after another
// and as models mix them.
#include "backends/pipeline.h"
#include "executable/serialize.h"
#include "frontend/graph_file.h"
#include "frontend/random_init.h"
#include "ir/reference/interpreter.h"
#include "runtime/program.h"
#include "tests/device/conformance.h"

namespace tcc::runtime {
namespace {

class CountedOpsTest : public DeviceTest {
 protected:
  void compile(const std::string& body, const ir::SizeRanges& open = {}) {
    graph = parse_yaml_graph("tcc: 1\nname: counted\n" + body, "graph.yaml", ".");
    backends::CompileOptions options;
    options.open_dims = open;
    options.validate = true;
    program = std::make_shared<const Program>(device,
                                              backends::compile(graph, device->target(), options));
    context = std::make_unique<Context>(program);
  }

  void expect_right(const std::vector<Tensor>& inputs, const exec::Dims& dims = {}) {
    const std::vector<Tensor> results = context->run(inputs);
    if (!runs_kernels()) return;
    std::vector<ir::RefTensor> given;
    for (const Tensor& input : inputs) given.push_back(ir::to_ref(input));
    const ir::Graph bound = graph.bind(dims);
    const std::vector<ir::RefTensor> wanted = ir::interpret(bound, given, ir::RefMode::ideal);
    ASSERT_EQ(results.size(), wanted.size());
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_EQ(results[i].shape(), wanted[i].shape) << graph.output_names[i];
      for (int64_t k = 0; k < results[i].numel(); ++k)
        ASSERT_EQ(results[i].get(k), ir::to_tensor(wanted[i]).get(k))
            << graph.output_names[i] << " " << k;
    }
  }

  // Whole numbers from lo to hi.
  static Tensor whole(DType dtype, const std::vector<int64_t>& shape, int64_t lo, int64_t hi,
                      uint64_t seed) {
    const Tensor drawn = random_tensor(DType::i64, shape, Init::integers(lo, hi + 1), seed);
    Tensor tensor(dtype, shape);
    for (int64_t k = 0; k < tensor.numel(); ++k) tensor.set(k, drawn.get(k));
    return tensor;
  }

  ir::Graph graph;
  std::shared_ptr<const Program> program;
  std::unique_ptr<Context> context;
};
TCC_ON_EVERY_DEVICE(CountedOpsTest);

TEST_P(CountedOpsTest, Compress) {
  compile(R"(
dims: {N: 0, M: 0}
inputs: {x: {dtype: f32, shape: [5, 7, 3]}, rows: {dtype: bool, shape: [6]}, flat: {dtype: bool, shape: [105]}}
nodes:
  - {op: compress, in: [x, rows], size: N, dim: 1, out: chosen}
  - {op: compress, in: [x, flat], size: M, out: elements}
outputs: [chosen, elements]
)");
  uint64_t seed = 1;
  for (const auto& [lo, hi] : {std::pair{0, 1}, {0, 0}, {1, 1}, {0, 1}})
    expect_right({whole(DType::f32, {5, 7, 3}, -9, 9, ++seed),
                  whole(DType::boolean, {6}, lo, hi, ++seed),
                  whole(DType::boolean, {105}, lo, hi, ++seed)});
}

TEST_P(CountedOpsTest, Unique) {
  compile(R"(
dims: {N: 0, M: 0, R: 0}
inputs: {x: {dtype: i32, shape: [300]}, rows: {dtype: f32, shape: [4, 40]}}
nodes:
  - {op: unique, in: x, size: N, out: [values, indices, inverse, counts]}
  - {op: unique, in: x, size: M, sorted: false, out: [values2, indices2, inverse2, counts2]}
  - {op: unique, in: rows, size: R, dim: 1, out: [values3, indices3, inverse3, counts3]}
outputs: [values, indices, inverse, counts, values2, indices2, inverse2, counts2, values3, indices3, inverse3, counts3]
)");
  uint64_t seed = 10;
  for (const int64_t most : {200, 3, 0, 1000})
    expect_right({whole(DType::i32, {300}, -most, most, ++seed),
                  whole(DType::f32, {4, 40}, 0, std::min<int64_t>(most, 1), ++seed)});
}

TEST_P(CountedOpsTest, TopKOfAComputedK) {
  compile(R"(
dims: {N: 0}
inputs: {x: {dtype: f32, shape: [3, 100]}, k: {dtype: i64, shape: [1]}}
nodes:
  - {op: topk_counted, in: [x, k], size: N, out: [values, indices]}
outputs: [values, indices]
)");
  uint64_t seed = 20;
  for (const int64_t k : {7, 0, 100, 1, 64})
    expect_right({whole(DType::f32, {3, 100}, -50, 50, ++seed), whole(DType::i64, {1}, k, k, 1)});
}

constexpr const char* kBoxes = R"(
dims: {B: 1, N: 0, U: 0}
inputs:
  boxes: {dtype: f32, shape: [B, 60, 4]}
  scores: {dtype: f32, shape: [B, 3, 60]}
  most: {dtype: i64, shape: [1]}
  iou: {dtype: f32, shape: [1]}
  score: {dtype: f32, shape: [1]}
nodes:
  - {op: non_max_suppression, in: [boxes, scores, most, iou, score], size: N, out: rows}
  - {op: select, in: rows, dim: 1, index: 2, out: box}
  - {op: unique, in: box, size: U, out: [used, first, inverse, times]}
outputs: [rows, used, times]
)";

TEST_P(CountedOpsTest, NonMaxSuppression) {
  compile(kBoxes, {{"B", {1, 4, 1}}});
  uint64_t seed = 30;
  for (const auto& [batch, most] : {std::pair{1, 10}, {2, 60}, {1, 0}, {4, 1000}, {1, 3}}) {
    context->set_dims({{"B", batch}});
    Tensor iou(DType::f32, {1}), score(DType::f32, {1});
    iou.set(0, 0.25);
    score.set(0, 20);
    expect_right({whole(DType::f32, {batch, 60, 4}, 0, 16, ++seed),
                  whole(DType::f32, {batch, 3, 60}, 0, 100, ++seed),
                  whole(DType::i64, {1}, most, most, 1), iou, score},
                 {{"B", batch}});
  }
}

// Values of a counted dim are sorted, counted again, and stored where they came from.
TEST_P(CountedOpsTest, CountedDimsGoThroughOtherOps) {
  compile(R"(
dims: {N: 0, U: 0, K: 0}
inputs: {x: {dtype: f32, shape: [9, 11]}, k: {dtype: i64, shape: []}}
nodes:
  - {op: nonzero, in: x, size: N, out: places}
  - {op: gather_nd, in: [x, places], out: values}
  - {op: sort, in: values, dim: 0, descending: true, out: [sorted, order]}
  - {op: unique, in: values, size: U, out: [different, first, inverse, counts]}
  - {op: index_select, in: [different, inverse], dim: 0, out: again}
  - {op: index_select, in: [counts, inverse], dim: 0, out: frequency}
  - {op: cast, in: frequency, dtype: f32, out: frequencies}
  - {op: scatter_nd, in: [x, places, frequencies], out: stored}
  - {op: minimum, in: [k, 100], out: most}
  - {op: topk_counted, in: [x, most], size: K, dim: 1, out: [best, where]}
outputs: [values, sorted, order, different, again, stored, best, where]
)");
  uint64_t seed = 40;
  for (const int64_t k : {3, 0, 11, 11}) {
    Tensor x = whole(DType::f32, {9, 11}, -3, 3, ++seed);
    if (k == 0)
      for (int64_t i = 0; i < x.numel(); ++i) x.set(i, 0);
    expect_right({x, whole(DType::i64, {}, k, k, 1)});
  }
}

// There is one size that such counts can have.
TEST_P(CountedOpsTest, OfNothing) {
  compile(R"(
dims: {N: 0, U: 0, B: 0}
inputs:
  x: {dtype: f32, shape: [0, 4]}
  boxes: {dtype: f32, shape: [1, 5, 4]}
  scores: {dtype: f32, shape: [1, 2, 5]}
nodes:
  - {op: nonzero, in: x, size: N, out: places}
  - {op: unique, in: x, size: U, dim: 0, out: [values, first, inverse, counts]}
  - {op: non_max_suppression, in: [boxes, scores], size: B, out: rows}
outputs: [places, values, first, inverse, counts, rows]
)");
  expect_right({Tensor(DType::f32, {0, 4}), whole(DType::f32, {1, 5, 4}, 0, 9, 50),
                whole(DType::f32, {1, 2, 5}, 0, 9, 51)});
}

}  // namespace
}  // namespace tcc::runtime
