// Sorting at the borders of threads, workgroups and runs, with ties and NaN, and with every kind of
// config.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "backends/pipeline.h"
#include "frontend/random_init.h"
#include "ir/builder.h"
#include "runtime/program.h"
#include "scheduler/tuning.h"
#include "tests/open_graph.h"

namespace tcc::test {
namespace {

// sort and topk of x [rows, n] (or [n, rows], along its first dim).
ir::Graph sorting_graph(DType dtype, int64_t rows, int64_t n, int64_t k, bool descending,
                        bool inner = true) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", {dtype, inner ? ir::Shape{rows, n} : ir::Shape{n, rows}});
  ir::Builder b(graph);
  const int64_t dim = inner ? 1 : 0;
  graph.outputs = b.ops("sort", {x}, {{"dim", dim}, {"descending", descending}});
  for (ir::Value* value : b.ops("topk", {x}, {{"dim", dim}, {"k", k}, {"largest", descending}}))
    graph.outputs.push_back(value);
  for (const ir::Value* output : graph.outputs) graph.output_names.push_back(output->name);
  return graph;
}

// Numbers of which many are equal, NaN, infinities and both zeros among them.
std::vector<Tensor> tied_inputs(const ir::Graph& graph, uint64_t seed) {
  std::vector<Tensor> inputs =
      draw_inputs(graph, {.lo = -40, .hi = 40, .int_hi = 50, .seed = seed});
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double specials[] = {std::nan(""), infinity, -infinity, 0.0, -0.0};
  Tensor& x = inputs[0];
  for (int64_t i = 0; is_float(x.dtype()) && i < x.numel(); ++i) {
    const double value = std::nearbyint(x.get(i));
    x.set(i, static_cast<int64_t>(value) % 9 == 4 ? specials[i % 5] : value);
  }
  return inputs;
}

class Sorting : public ::testing::TestWithParam<std::string> {
 protected:
  void check(const ir::Graph& graph, const backends::CompileOptions& options = {}) const {
    const std::string text = ir::to_string(graph.inputs[0]->type);
    EXPECT_EQ(difference(graph, GetParam(), tied_inputs(graph, 7), options), "") << text;
  }
};

TEST_P(Sorting, HoldsAtTheBordersOfTiles) {
  for (const int64_t n : {1, 2, 31, 32, 33, 128, 129, 576, 577, 1000})
    check(sorting_graph(DType::f32, 5, n, std::min<int64_t>(n, 33), n % 2 == 0));
}

TEST_P(Sorting, HoldsWhereRowsAreSplit) {
  for (const int64_t n : {2304, 2305, 4609, 70000})
    check(sorting_graph(DType::f32, n < 10000 ? 3 : 1, n, 50, n % 2 == 0));
}

TEST_P(Sorting, SortsAnyTypeAndDim) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f64, DType::i64, DType::u8})
    check(sorting_graph(dtype, 3, 3000, 40, dtype == DType::f16, dtype != DType::i64));
}

// More than a workgroup sorts is kept: runs are merged, but no further than that.
TEST_P(Sorting, KeepsManyOfLongRows) {
  for (const int64_t k : {600, 2500, 7000}) check(sorting_graph(DType::f32, 2, 7000, k, true));
}

TEST_P(Sorting, DoesNotDependOnTheConfig) {
  struct Case {
    int64_t n, threads, items;
  };
  for (const auto& [n, threads, items] : {Case{37, 32, 2},
                                          {37, 256, 1},
                                          {37, 64, 15},
                                          {900, 64, 15},
                                          {900, 256, 4},
                                          {3000, 256, 11}}) {
    const sched::FixedConfig config({{"threads", threads}, {"items", items}});
    backends::CompileOptions options;
    options.configs = &config;
    check(sorting_graph(DType::f32, 3, n, 20, items % 2 == 0), options);
  }
}

// One kernel serves all rows up to the longest, and any number of them.
TEST_P(Sorting, HoldsForOpenDims) {
  const ir::SymInt b = ir::SymInt::symbol("B"), s = ir::SymInt::symbol("S");
  for (const ir::Shape& shape : {ir::Shape{b, s}, ir::Shape{s, b, 3}, ir::Shape{b, 3000}})
    for (const bool descending : {false, true}) {
      ir::Graph graph;
      ir::Value* x = graph.add_input("x", {DType::f32, shape});
      ir::Builder builder(graph);
      const int64_t dim = shape[0] == s ? 0 : 1;
      graph.outputs = builder.ops("sort", {x}, {{"dim", dim}, {"descending", descending}});
      for (ir::Value* value :
           builder.ops("topk", {x}, {{"dim", dim}, {"k", int64_t{5}}, {"largest", descending}}))
        graph.outputs.push_back(value);
      for (const ir::Value* output : graph.outputs) graph.output_names.push_back(output->name);
      graph.dims = {{"B", 4}};
      backends::CompileOptions options;
      options.open_dims["B"] = {};
      if (shape[1] != ir::SymInt(3000)) {
        graph.dims["S"] = 40;
        options.open_dims["S"] = {.least = 5, .most = 700};
      }
      std::vector<Sizes> sizes;
      for (const int64_t length : {5, 31, 64, 257, 700}) {
        sizes.push_back({{"B", length % 4}});
        if (graph.dims.contains("S")) sizes.back()["S"] = length;
      }
      EXPECT_EQ(difference_at(graph, GetParam(), options, sizes, {.seed = 5}), "")
          << ir::to_string(ir::Type{DType::f32, shape});
    }
}

// A row takes as many steps as its length needs: one to the longest that a workgroup sorts.
TEST_P(Sorting, HoldsForOpenRowsThatNoWorkgroupSorts) {
  struct Case {
    DType dtype;
    int64_t least, k;
    bool inner;
  };
  for (const auto& [dtype, least, k, inner] : {Case{DType::f32, 1, 0, true},
                                               {DType::i32, 3000, 0, false},
                                               {DType::f16, 50, 50, true},
                                               {DType::i32, 1500, 1500, true},
                                               {DType::f64, 4000, 4000, false}}) {
    const ir::SymInt s = ir::SymInt::symbol("S");
    ir::Graph graph;
    ir::Value* x = graph.add_input(
        "x", {dtype, inner ? ir::Shape{ir::SymInt::symbol("B"), s} : ir::Shape{s, 2}});
    ir::Builder b(graph);
    const int64_t dim = inner ? 1 : 0;
    graph.outputs = k == 0 ? b.ops("sort", {x}, {{"dim", dim}, {"descending", !inner}})
                           : b.ops("topk", {x}, {{"dim", dim}, {"k", k}, {"largest", inner}});
    // A graph of one result alone is sorted apart.
    if (dtype == DType::f16) graph.outputs.pop_back();
    for (const ir::Value* output : graph.outputs) graph.output_names.push_back(output->name);
    graph.dims = {{"S", 5000}};
    backends::CompileOptions options;
    options.open_dims["S"] = {.least = least, .most = 100000};
    if (inner) {
      graph.dims["B"] = 2;
      options.open_dims["B"] = {.least = 1, .most = 4};
    }
    std::vector<Sizes> sizes;
    for (const int64_t length : {1, 2, 50, 1024, 2303, 2304, 2305, 4095, 4096, 4097, 4608, 4609,
                                 9216, 9217, 65536, 73729, 100000}) {
      if (length < least) continue;
      sizes.push_back({{"S", length}});
      if (inner) sizes.back()["B"] = length % 2 + 1;
    }
    EXPECT_EQ(difference_at(graph, GetParam(), options, sizes, {.int_hi = 40, .seed = 9}), "")
        << name(dtype) << " " << k;
  }
}

TEST_P(Sorting, LaunchesAsManyStepsAsARowNeeds) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", {DType::f32, {1, ir::SymInt::symbol("S")}});
  graph.outputs = {ir::Builder(graph).ops("sort", {x}, {})[0]};
  graph.output_names = {"v"};
  graph.dims = {{"S", 5000}};
  backends::CompileOptions options;
  options.open_dims["S"] = {.least = 0, .most = 100000};
  const std::shared_ptr<runtime::Device> device = open_once(GetParam());
  runtime::Context context(std::make_shared<const runtime::Program>(
      device, backends::compile(graph, device->target(), options)));
  for (const auto& [length, launches] :
       {std::pair{0, 0}, {1, 1}, {2304, 1}, {2305, 2}, {4608, 2}, {4609, 3}, {100000, 7}}) {
    context.set_dims({{"S", length}});
    const std::vector<int> counts = context.step_counts();
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0), launches) << length;
  }
}

// Empty rows are sorted: there is nothing to store.
TEST_P(Sorting, HoldsForRowsThatTurnOutEmpty) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", {DType::f32, {3, ir::SymInt::symbol("S")}});
  graph.outputs = ir::Builder(graph).ops("sort", {x}, {});
  for (const ir::Value* output : graph.outputs) graph.output_names.push_back(output->name);
  graph.dims = {{"S", 8}};
  backends::CompileOptions options;
  options.open_dims["S"] = {.most = 64};
  const Sizes sizes[] = {{{"S", 0}}, {{"S", 1}}, {{"S", 64}}};
  EXPECT_EQ(difference_at(graph, GetParam(), options, sizes, {.seed = 6}), "");
}

// The ops that compute the keys are part of the kernel that sorts; their result is rounded as if it
// was stored.
TEST_P(Sorting, SortsWhatIsComputed) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", {DType::bf16, {4, 600}});
  ir::Builder b(graph);
  graph.outputs = b.ops("topk", {b.mul(x, b.scalar(DType::bf16, 0.3))}, {{"k", int64_t{9}}});
  for (const ir::Value* output : graph.outputs) graph.output_names.push_back(output->name);
  const auto inputs = draw_inputs(graph, {.seed = 3});
  const auto outputs = run_on_device(graph, GetParam(), inputs, {});
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t k = 0; k + 1 < 9; ++k) {
      const int64_t at = row * 9 + k;
      EXPECT_GE(outputs[0].get(at), outputs[0].get(at + 1));
      if (outputs[0].get(at) == outputs[0].get(at + 1)) {
        EXPECT_LT(outputs[1].get_int(at), outputs[1].get_int(at + 1));
      }
    }
}

// A vocabulary's best are found in three steps; a sort takes one and a merge per doubling.
TEST(SplitSorts, TakeFewLaunches) {
  backends::CompileOptions options;
  options.binaries = false;
  const auto launches = [&](std::string_view op, int64_t n, ir::Attrs attrs) {
    ir::Graph graph;
    ir::Value* x = graph.add_input("x", {DType::f32, {8, n}});
    graph.outputs = ir::Builder(graph).ops(op, {x}, std::move(attrs));
    for (const ir::Value* output : graph.outputs) graph.output_names.push_back(output->name);
    return backends::compile(graph, sched::target_by_name("cuda:sm_90a"), options).steps.size();
  };
  EXPECT_EQ(launches("topk", 128'000, {{"k", int64_t{50}}}), 3u);
  EXPECT_EQ(launches("sort", 2304, {}), 1u);
  EXPECT_EQ(launches("sort", 1 << 20, {}), 10u);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Sorting);
INSTANTIATE_TEST_SUITE_P(Devices, Sorting, ::testing::ValuesIn(devices_present(Devices::software)),
                         [](const auto& device) { return test_name(device.param); });

}  // namespace
}  // namespace tcc::test
