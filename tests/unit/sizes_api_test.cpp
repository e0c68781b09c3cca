// Sizes that come at run time through the public interfaces: shapes in, shapes out, and what a run
// at a size that the context has kept costs.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <new>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tcc/c_api.h"
#include "tcc/tcc.hpp"
#include "tests/expect_error.h"

namespace {

thread_local std::int64_t allocations = -1;  // counted from 0 on

}  // namespace

// GCC takes an inlined pair of these for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (allocations >= 0) ++allocations;
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  if (allocations >= 0) ++allocations;
  return std::malloc(bytes > 0 ? bytes : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace tcc {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr const char* kSums =
    "tcc: 1\n"
    "name: sums\n"
    "dims: {B: 4, S: 8}\n"
    "inputs: {x: {dtype: f32, shape: [B, S, 3]}, y: {dtype: f32, shape: [B, S, 1]}}\n"
    "nodes:\n"
    "  - {out: a, op: add, in: [x, y]}\n"
    "  - {out: b, op: sum, in: [a], dim: [2]}\n"
    "  - {out: c, op: sub, in: [x, y]}\n"
    "outputs: [b, c]\n";

TEST(SizesApi, ShapesComeInAndOut) {
  const CompiledGraph compiled =
      compile(Graph::from_yaml(kSums), "null", {.open_dims = {"B=1..64", "S=8..64:8"}});
  ASSERT_EQ(compiled.dim_ranges().size(), 2u);
  EXPECT_EQ(compiled.dim_ranges()[1].name, "S");
  EXPECT_EQ(compiled.dim_ranges()[1].multiple, 8);
  EXPECT_EQ(compiled.outputs()[0].shape, (Shape{-1, -1}));
  Context context(compiled);
  EXPECT_TRUE(context.dims().empty());
  EXPECT_ERROR(context.outputs(), "sums: the size of 'B' is open");
  EXPECT_ERROR(context.run_host({}, {}), "the graph has 2 inputs");
  context.set_shapes({{5, 16, 3}, {5, 16, 1}});
  EXPECT_EQ(context.outputs()[0].shape, (Shape{5, 16}));
  EXPECT_EQ(context.outputs()[1].bytes, 5 * 16 * 3 * 4);
  EXPECT_EQ(context.inputs()[0].shape, (Shape{5, 16, 3}));
  EXPECT_ERROR(context.set_shapes({{5, 12, 3}, {5, 12, 1}}),
               "input 'x': dim 1 is 12: S = 12 is no multiple of 8 (S = 8..64:8)");
  const std::vector<HostTensor> results = context.run(
      std::vector<HostTensor>{HostTensor("f32", {2, 24, 3}), HostTensor("f32", {2, 24, 1})});
  EXPECT_EQ(results.at(0).shape, (Shape{2, 24}));
  EXPECT_EQ(context.dims(), (std::map<std::string, std::int64_t>{{"B", 2}, {"S", 24}}));
  context.set_dims({{"B", 64}});
  EXPECT_EQ(context.outputs()[0].shape, (Shape{64, 24}));
  EXPECT_ERROR(context.run(std::vector<HostTensor>{HostTensor("f32", {2, 24, 3}),
                                                   HostTensor("f32", {3, 24, 1})}),
               "input 'y': dim 0 is 3, not 2 (B = 2 by input 'x': dim 0)");
  EXPECT_ERROR(context.run(std::vector<HostTensor>{HostTensor("f32", {2, 24, 3}),
                                                   HostTensor("f16", {2, 24, 1})}),
               "input 'y' is f32, not f16");
}

TEST(SizesApi, RangesAreChecked) {
  const auto refused = [](const char* dim, const char* words) {
    EXPECT_ERROR(compile(Graph::from_yaml(kSums), "null", {.open_dims = {dim}}), words);
  };
  refused("B=3", "open_dims 'B=3': is a number, which `dims` takes");
  refused("B=5..2", "open_dims 'B=5..2': 5 is more than 2");
  refused("B=", "open_dims 'B=': must be NAME=NUMBER, NAME=LEAST..MOST");
  refused("C", "dim C: the graph has no such dim; there are ");
  EXPECT_ERROR(compile(Graph::from_yaml(kSums), "null", {.open_dims = {"B", "B=1..2"}}),
               "'B' is given twice");
  EXPECT_ERROR(
      compile(Graph::from_yaml(kSums), "null", {.dims = {{"B", 9}}, .open_dims = {"B=1..2"}}),
      "dim B = 9 is above 2 (B = 1..2)");
}

TEST(SizesApi, NamedSizesHaveVariants) {
  const Graph graph = Graph::from_yaml(kSums);
  const CompiledGraph compiled =
      compile(graph, "null", {.open_dims = {"B=1..64", "S"}, .specialize = {"B=1,2", "S=128"}});
  std::map<std::string, int> kernels;
  const std::vector<KernelReport> reports = compiled.kernels();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    ++kernels[reports[i].variant];
    EXPECT_FALSE(compiled.kernel_source(i).empty());
  }
  EXPECT_ERROR(compiled.kernel_source(reports.size()), "kernel");
  EXPECT_EQ(kernels.size(), 6u);
  EXPECT_TRUE(kernels.contains("B=2 S=128") && kernels.contains("S=128") && kernels.contains(""));
  Context context(compiled);
  context.set_dims({{"B", 2}, {"S", 128}});
  EXPECT_EQ(context.time_kernels().size(), reports.size());
  EXPECT_EQ(context.outputs()[0].shape, (Shape{2, 128}));
  const auto refused = [&](std::vector<std::string> sizes, const char* words) {
    EXPECT_ERROR(
        compile(graph, "null", {.open_dims = {"B=1..64", "S"}, .specialize = std::move(sizes)}),
        words);
  };
  refused({"B=65"}, "specialize 'B=65': 65 is above 64 (B = 1..64)");
  refused({"C=1"}, "specialize 'C=1': 'C' is no open dim");
  refused({"B=1", "B=2"}, "specialize 'B=2': 'B' is given twice");
  refused({"B=1,2,3", "S=1,2"}, "makes 11 variants; an executable has at most 8");
}

constexpr const char* kLayer =
    "tcc: 1\n"
    "name: layer\n"
    "dims: {B: 4}\n"
    "inputs: {x: {dtype: f32, shape: [B, 256]}}\n"
    "weights: {w: {dtype: f32, shape: [256, 256], init: {normal: 1}}}\n"
    "nodes: [{out: y, op: linear, in: [x, w]}]\n"
    "outputs: [y]\n";

// Reports say which kernels are for which sizes; those of the sizes at hand run.
TEST(SizesApi, SizesChooseAmongKernels) {
  const CompiledGraph compiled = compile(Graph::from_yaml(kLayer), "null",
                                         {.open_dims = {"B=8..4096:8"}, .specialize = {"B=16"}});
  const std::vector<KernelReport> reports = compiled.kernels();
  Context context(compiled);
  EXPECT_ERROR(context.kernel_launches(), "layer: the size of 'B' is open");
  std::set<int> taken;
  for (const std::int64_t size : {8, 64, 200, 1024, 4096}) {
    context.set_dims({{"B", size}});
    const std::vector<int> launches = context.kernel_launches();
    ASSERT_EQ(launches.size(), reports.size());
    int ran = 0;
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const KernelReport& report = reports[i];
      ran += launches[i];
      if (!report.variant.empty()) {
        EXPECT_EQ(launches[i], 0) << report.variant;
        continue;
      }
      EXPECT_EQ(report.launches, 1);
      ASSERT_EQ(report.sizes.size(), 1u);
      const SizeChoice& choice = report.sizes[0];
      if (launches[i] > 0) taken.insert(choice.choice);
      if (choice.ranges.empty()) {
        EXPECT_EQ(choice.text, "else");
        continue;
      }
      bool holds = false;
      std::string text;
      for (const std::vector<DimBounds>& range : choice.ranges) {
        ASSERT_EQ(range.size(), 1u);
        const auto& [dim, least, most] = range[0];
        EXPECT_EQ(dim, "B");
        text += (text.empty() ? "B" : " or B") +
                (least == most ? " = " + std::to_string(least)
                               : " in " + std::to_string(least) + ".." + std::to_string(most));
        holds |= least <= size && size <= most;
      }
      EXPECT_EQ(choice.text, text);
      EXPECT_EQ(launches[i] > 0, holds) << size;
    }
    EXPECT_EQ(ran, 1) << size;
  }
  EXPECT_GT(taken.size(), 1u);
  context.set_dims({{"B", 16}});
  const std::vector<int> launches = context.kernel_launches();
  for (std::size_t i = 0; i < reports.size(); ++i)
    EXPECT_EQ(launches[i], reports[i].variant == "B=16" ? 1 : 0);
}

// A context at two sizes in turn, and one of a fixed program; runs on memory of the caller's.
struct Bench {
  std::vector<float> x = std::vector<float>(64 * 64 * 3), y = std::vector<float>(64 * 64), b = y,
                     c = x;
  const void* in[2] = {x.data(), y.data()};
  void* out[2] = {b.data(), c.data()};
};

TEST(SizesApi, ATensorOfAnOpenShapeNeedsTheSizes) {
  const CompiledGraph compiled =
      compile(Graph::from_yaml(kSums), "null", {.open_dims = {"B=1..64", "S=8..64:8"}});
  const TensorSpec spec = compiled.inputs()[0];
  EXPECT_ERROR(HostTensor{spec},
               "f32[-1, -1, 3]: dim 0 is open, so that the run's size is needed: "
               "HostTensor(\"f32\", shape)");
  EXPECT_EQ(HostTensor("f32", {2, 8, 3}).bytes.size(), 2u * 8 * 3 * 4);
  EXPECT_ERROR(HostTensor("f32", {2, -3}), "a negative dim, or too large");
}

TEST(SizesApi, RunsAtKnownSizesAllocateNothing) {
  // The product has several kernels: which one runs is chosen with the plan.
  const CompiledGraph compiled =
      compile(Graph::from_yaml(
                  "tcc: 1\n"
                  "dims: {B: 4, S: 8}\n"
                  "inputs: {x: {dtype: f32, shape: [B, S, 3]}, y: {dtype: f32, shape: [B, S, 1]}}\n"
                  "weights: {w: {dtype: f32, shape: [3, 3], init: zeros}}\n"
                  "nodes:\n"
                  "  - {out: b, op: relu, in: [y]}\n"
                  "  - {out: c, op: linear, in: [x, w]}\n"
                  "outputs: [b, c]\n"),
              "null", {.open_dims = {"B=1..8192", "S=8..64:8"}});
  EXPECT_GT(static_cast<std::int64_t>(compiled.kernels().size()), compiled.launches());
  Context context(compiled);
  Bench bench;
  const auto run = [&](std::int64_t batch, std::int64_t length) {
    const std::array<std::int64_t, 3> x = {batch, length, 3}, y = {batch, length, 1};
    const std::span<const std::int64_t> shapes[] = {x, y};
    context.set_shapes(shapes);
    context.run_device(bench.in, bench.out);
  };
  for (std::int64_t batch = 1; batch <= 8; ++batch)
    for (const std::int64_t length : {8, 16}) run(batch, length);
  allocations = 0;
  for (int round = 0; round < 10; ++round)
    for (std::int64_t batch = 1; batch <= 8; ++batch)
      for (const std::int64_t length : {8, 16}) run(batch, length);
  const std::int64_t counted = allocations;
  allocations = -1;
  EXPECT_EQ(counted, 0);
  allocations = 0;
  run(9, 8);  // a new one
  EXPECT_GT(allocations, 0);
  allocations = -1;
}

// The best of many rounds of host time, without the device's.
double best_seconds(const std::function<void()>& work) {
  double best = 1;
  for (int round = 0; round < 300; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 10; ++i) work();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / 10);
  }
  return best;
}

TEST(SizesApi, RunsAtKnownSizesCostWhatFixedOnesDo) {
  const Graph graph = Graph::from_yaml(kSums);
  Bench bench;
  const CompiledGraph fixed = compile(graph, "null", {.dims = {{"B", 2}, {"S", 8}}});
  Context one(fixed);
  const double usual = best_seconds([&] { one.run_device(bench.in, bench.out); });
  const CompiledGraph open = compile(graph, "null", {.open_dims = {"B", "S"}});
  Context context(open);
  const std::array<std::int64_t, 3> x[] = {{2, 8, 3}, {3, 8, 3}}, y[] = {{2, 8, 1}, {3, 8, 1}};
  int turn = 0;
  const auto run = [&] {
    turn = 1 - turn;
    const std::span<const std::int64_t> shapes[] = {x[turn], y[turn]};
    context.set_shapes(shapes);
    context.run_device(bench.in, bench.out);
  };
  const double known = best_seconds(run);
  RecordProperty("fixed_ns", static_cast<int>(usual * 1e9));
  RecordProperty("known_ns", static_cast<int>(known * 1e9));
  EXPECT_LT(known, usual + 5e-6) << usual;
}

TEST(SizesApi, TheCInterfaceSaysWhichKernelsRun) {
  tcc_graph* graph = nullptr;
  ASSERT_EQ(tcc_graph_from_yaml(kLayer, nullptr, &graph), TCC_OK) << tcc_last_error();
  const char* const dims[] = {"B=1..4096"};
  tcc_compile_options options = TCC_COMPILE_OPTIONS_INIT;
  options.num_open_dims = 1;
  options.open_dims = dims;
  tcc_compiled* compiled = nullptr;
  ASSERT_EQ(tcc_compile(graph, "null", &options, &compiled), TCC_OK) << tcc_last_error();
  const auto kernels = nlohmann::json::parse(tcc_kernel_report(compiled));
  ASSERT_GT(kernels.size(), 1u);
  tcc_context* context = nullptr;
  ASSERT_EQ(tcc_context_create(compiled, &context), TCC_OK) << tcc_last_error();
  std::vector<std::int64_t> launches(kernels.size());
  EXPECT_EQ(tcc_context_kernel_launches(context, launches.data(), launches.size()), TCC_BAD_INPUT);
  const char* const names[] = {"B"};
  const std::int64_t sizes[] = {1};
  ASSERT_EQ(tcc_context_set_dims(context, names, sizes, 1), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_context_kernel_launches(context, launches.data(), launches.size()), TCC_OK)
      << tcc_last_error();
  int ran = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto& sizes_of = kernels[i].at("sizes");
    ASSERT_EQ(sizes_of.size(), 1u) << kernels[i].dump();
    EXPECT_EQ(sizes_of[0].at("table"), 0);
    if (launches[i] == 0) continue;
    ++ran;
    for (const auto& range : sizes_of[0].at("ranges")) {
      ASSERT_EQ(range.size(), 1u);
      EXPECT_EQ(range[0].at("size"), "B");
      EXPECT_GE(range[0].at("least"), 1);
      EXPECT_GE(range[0].at("most"), range[0].at("least"));
    }
  }
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(tcc_context_kernel_launches(context, launches.data(), launches.size() + 1),
            TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_kernel_launches(context, nullptr, 0), TCC_BAD_INPUT);
  tcc_context_destroy(context);
  tcc_compiled_destroy(compiled);
  tcc_graph_destroy(graph);
}

TEST(SizesApi, TheCInterfaceDoesTheSame) {
  tcc_graph* graph = nullptr;
  ASSERT_EQ(tcc_graph_from_yaml(kSums, nullptr, &graph), TCC_OK) << tcc_last_error();
  const char* const dims[] = {"B=1..64", "S"};
  tcc_compile_options options = TCC_COMPILE_OPTIONS_INIT;
  options.num_open_dims = 2;
  options.open_dims = dims;
  tcc_compiled* compiled = nullptr;
  ASSERT_EQ(tcc_compile(graph, "null", &options, &compiled), TCC_OK) << tcc_last_error();
  tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
  ASSERT_EQ(tcc_compiled_output(compiled, 0, &info), TCC_OK);
  EXPECT_EQ(info.shape[0], -1);
  EXPECT_STREQ(info.shape_text, "[-1, -1]");

  tcc_context* context = nullptr;
  ASSERT_EQ(tcc_context_create(compiled, &context), TCC_OK) << tcc_last_error();
  EXPECT_EQ(tcc_context_output(context, 0, &info), TCC_BAD_INPUT);
  const std::int64_t x[] = {5, 7, 3}, y[] = {5, 7, 1}, wrong[] = {65, 7, 1};
  const std::int64_t* const shapes[] = {x, y};
  const std::int64_t* const others[] = {wrong, wrong};
  const std::size_t ranks[] = {3, 3};
  ASSERT_EQ(tcc_context_set_shapes(context, shapes, ranks, 2), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_context_output(context, 0, &info), TCC_OK) << tcc_last_error();
  EXPECT_STREQ(info.shape_text, "[5, 7]");
  EXPECT_EQ(info.bytes, 5 * 7 * 4);
  EXPECT_EQ(tcc_context_set_shapes(context, others, ranks, 2), TCC_BAD_INPUT);
  EXPECT_NE(std::string(tcc_last_error()).find("B = 65 is above 64 (B = 1..64)"), std::string::npos)
      << tcc_last_error();
  Bench bench;
  EXPECT_EQ(tcc_context_run_host(context, bench.in, 2, bench.out, 2), TCC_OK) << tcc_last_error();
  const char* const names[] = {"B"};
  const std::int64_t sizes[] = {6};
  ASSERT_EQ(tcc_context_reserve_dims(context, names, sizes, 1), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_context_set_dims(context, names, sizes, 1), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_context_input(context, 1, &info), TCC_OK);
  EXPECT_STREQ(info.shape_text, "[6, 7, 1]");
  EXPECT_EQ(tcc_context_set_dims(context, nullptr, sizes, 1), TCC_BAD_INPUT);
  tcc_context_destroy(context);
  tcc_compiled_destroy(compiled);
  tcc_graph_destroy(graph);
}

}  // namespace
}  // namespace tcc
