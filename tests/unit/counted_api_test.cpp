// Dims that a run counts through the public interfaces: host tensors, device memory, C.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tcc/c_api.h"
#include "tcc/tcc.hpp"
#include "tests/expect_error.h"

namespace tcc {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr const char* kPlaces =
    "tcc: 1\n"
    "name: places\n"
    "dims: {B: 4, N: 0}\n"
    "inputs: {x: {dtype: f32, shape: [B, 3]}}\n"
    "nodes:\n"
    "  - {out: p, op: nonzero, in: x, size: N}\n"
    "  - {out: y, op: mul, in: [x, 2.0]}\n"
    "outputs: [p, y]\n";

std::string device_that_runs() {
  const DeviceList list = list_devices();
  return list.devices.empty() ? "" : list.devices.front().id;
}

HostTensor rows(const std::vector<float>& values) {
  return HostTensor::of<float>({static_cast<std::int64_t>(values.size()) / 3, 3}, values);
}

TEST(CountedApi, RunsReturnWhatTheyCount) {
  const std::string device = device_that_runs();
  if (device.empty()) GTEST_SKIP() << "no device";
  const CompiledGraph compiled =
      compile(Graph::from_yaml(kPlaces), device, {.open_dims = {"B=1..64"}});
  EXPECT_EQ(compiled.outputs()[0].shape, (Shape{-1, 2}));
  EXPECT_EQ(compiled.open_dims(), (std::vector<std::string>{"B", "N"}));
  EXPECT_EQ(compiled.dim_ranges()[1].most, 64 * 3);
  Context context(compiled);
  std::vector<HostTensor> results = context.run({rows({0, 1, 0, 0, 0, 5})});
  EXPECT_EQ(results[0].shape, (Shape{2, 2}));
  EXPECT_EQ(results[0].as<std::int64_t>()[3], 2);
  EXPECT_EQ(results[1].shape, (Shape{2, 3}));
  EXPECT_EQ(context.dims().at("N"), 2);
  EXPECT_EQ(context.outputs()[0].shape, (Shape{2, 2}));
  EXPECT_EQ(context.largest_outputs()[0].shape, (Shape{6, 2}));
  results = context.run({rows({1, 1, 1, 1, 1, 1, 0, 1, 1})});
  EXPECT_EQ(results[0].shape, (Shape{8, 2}));
  results = context.run({rows({0, 0, 0})});
  EXPECT_EQ(results[0].shape, (Shape{0, 2}));
}

TEST(CountedApi, DeviceMemoryHasRoomForTheLargest) {
  const std::string device = device_that_runs();
  if (device.empty()) GTEST_SKIP() << "no device";
  const CompiledGraph compiled =
      compile(Graph::from_yaml(kPlaces), device, {.open_dims = {"B=1..64"}});
  Context context(compiled);
  context.set_dims({{"B", 2}});
  context.reserve_dims({{"B", 2}});
  const std::vector<TensorSpec> specs = context.largest_outputs();
  EXPECT_EQ(specs[0].bytes, 6 * 2 * 8);
  const DeviceTensor x(device, rows({0, 1, 0, 0, 0, 5})), p(device, specs[0]), y(device, specs[1]);
  context.run_device(std::vector{x}, std::vector{p, y});
  EXPECT_EQ(context.outputs()[0].shape, (Shape{2, 2}));
  const DeviceTensor found(p.memory(), 0, "i64", context.outputs()[0].shape);
  const HostTensor places = found.to_host();
  EXPECT_EQ(
      std::vector<std::int64_t>(places.as<std::int64_t>().begin(), places.as<std::int64_t>().end()),
      (std::vector<std::int64_t>{0, 1, 1, 2}));

  const DeviceBuffer small(device, 32), whole(device, 24);
  EXPECT_ERROR(context.run_device(std::vector{x.memory()}, std::vector{small, whole}),
               "output 'p': a device buffer of 32 bytes; i64[6, 2] takes 96");
  // A place within larger memory that is aligned to its elements alone passes through a copy.
  const DeviceBuffer room(device, 24 + 96 + 8);
  const DeviceBuffer part = room.slice(8, 24), other = room.slice(32, 96);
  context.run_device(std::vector{x.memory()}, std::vector{other, part});
  EXPECT_EQ(context.outputs()[0].shape, (Shape{2, 2}));
  std::vector<std::int64_t> read(4);
  other.slice(0, 32).read(std::as_writable_bytes(std::span(read)));
  EXPECT_EQ(read, (std::vector<std::int64_t>{0, 1, 1, 2}));
  std::vector<float> doubled(6);
  part.read(std::as_writable_bytes(std::span(doubled)));
  EXPECT_EQ(doubled, (std::vector<float>{0, 2, 0, 0, 0, 10}));
}

// The rest has the most elements where the count is 0.
TEST(CountedApi, RoomIsForTheLargestShapeAtAnyCount) {
  const std::string device = device_that_runs();
  if (device.empty()) GTEST_SKIP() << "no device";
  const Graph graph = Graph::from_yaml(
      "tcc: 1\ndims: {N: 0}\ninputs: {x: {dtype: f32, shape: [6]}}\nnodes:\n"
      "  - {out: p, op: nonzero, in: x, size: N}\n"
      "  - {out: rest, op: slice, in: [x], dim: 0, start: N, end: 6}\noutputs: [rest]\n");
  Context context(compile(graph, device));
  EXPECT_EQ(context.largest_outputs()[0].shape, (Shape{6}));
  const auto run = [&](const std::vector<float>& values) {
    const DeviceTensor x(device, HostTensor::of<float>({6}, values)),
        rest(device, context.largest_outputs()[0]);
    context.run_device(std::vector{x}, std::vector{rest});
    return context.outputs()[0].shape;
  };
  EXPECT_EQ(run({1, 2, 3, 0, 5, 6}), (Shape{1}));
  EXPECT_EQ(run({0, 0, 0, 0, 0, 6}), (Shape{5}));
  EXPECT_EQ(run({0, 0, 0, 0, 0, 0}), (Shape{6}));
  EXPECT_EQ(run({1, 1, 1, 1, 1, 1}), (Shape{0}));
}

TEST(CountedApi, WhatCannotBeIsRefused) {
  const Graph graph = Graph::from_yaml(kPlaces);
  EXPECT_ERROR(compile(graph, "null", {.dims = {{"N", 5}}}),
               "dim N: nonzero 'p' counts it in each run: it takes no size before");
  EXPECT_ERROR(compile(graph, "null", {.open_dims = {"N=1..5"}}), "counts it in each run");
  EXPECT_ERROR(compile(graph, "null", {.open_dims = {"B", "N"}, .specialize = {"N=1"}}),
               "counts it in each run");
  Context context(compile(graph, "null"));
  EXPECT_ERROR(context.set_dims({{"N", 1}}), "'N' is counted by each run: it takes no size before");
  EXPECT_ERROR(
      Graph::from_yaml("tcc: 1\ndims: {N: 0}\ninputs: {x: {dtype: f32, shape: [3]}}\nnodes:\n"
                       "  - {out: p, op: nonzero, in: x, size: 2 * N}\noutputs: [p]\n"),
      "size must be the name of a dim");
  const Graph twice = Graph::from_yaml(
      "tcc: 1\ndims: {N: 0}\ninputs: {x: {dtype: f32, shape: [3]}}\nnodes:\n"
      "  - {out: p, op: nonzero, in: x, size: N}\n"
      "  - {out: q, op: nonzero, in: x, size: N}\noutputs: [p, q]\n");
  EXPECT_ERROR(compile(twice, "null"), "dim 'N' is counted by nonzero 'p', too");
  const Graph given = Graph::from_yaml(
      "tcc: 1\ndims: {N: 0}\ninputs: {x: {dtype: f32, shape: [N]}}\nnodes:\n"
      "  - {out: p, op: nonzero, in: x, size: N}\noutputs: [p]\n");
  EXPECT_ERROR(compile(given, "null"), "dim 'N' is one of input 'x'");
}

TEST(CountedApi, DimsAreCountedBeforeTheyAreUsed) {
  const auto graph = [](const std::string& nodes) {
    return Graph::from_yaml(
        "tcc: 1\ndims: {N: 0}\ninputs: {x: {dtype: f32, shape: [3]}}\nnodes:\n" + nodes +
        "outputs: [p, z]\n");
  };
  const std::string count = "  - {out: p, op: nonzero, in: x, size: N}\n",
                    use = "  - {out: z, op: zeros, in: [], size: [N]}\n";
  EXPECT_NO_THROW(compile(graph(count + use), "null"));
  EXPECT_ERROR(compile(graph(use + count), "null"),
               "zeros: dim 'N' is known only behind nonzero 'p', which counts it");
  EXPECT_ERROR(compile(graph("  - {out: p, op: nonzero, in: x, size: 2}\n" + use), "null"),
               "nonzero: size is a number; it must be the name of a dim");
}

TEST(CountedApi, NothingIsCountedOfNothing) {
  const std::string device = device_that_runs();
  if (device.empty()) GTEST_SKIP() << "no device";
  const Graph graph = Graph::from_yaml(kPlaces);
  const HostTensor none("f32", {0, 3});
  EXPECT_EQ(run_reference(graph, std::vector{none}, {.dims = {{"B", 0}}})[0].shape, (Shape{0, 2}));
  Context fixed(compile(graph, device, {.dims = {{"B", 0}}}));
  EXPECT_EQ(fixed.run({none})[0].shape, (Shape{0, 2}));
  Context open(compile(graph, device, {.open_dims = {"B=0..4"}}));
  EXPECT_EQ(open.run({none})[0].shape, (Shape{0, 2}));
  EXPECT_EQ(open.run({rows({0, 1, 0})})[0].shape, (Shape{1, 2}));
}

TEST(CountedApi, TheCInterfaceTellsTheLargest) {
  tcc_graph* graph = nullptr;
  ASSERT_EQ(tcc_graph_from_yaml(kPlaces, nullptr, &graph), TCC_OK) << tcc_last_error();
  tcc_compile_options options = TCC_COMPILE_OPTIONS_INIT;
  tcc_compiled* compiled = nullptr;
  ASSERT_EQ(tcc_compile(graph, "null", &options, &compiled), TCC_OK) << tcc_last_error();
  tcc_context* context = nullptr;
  ASSERT_EQ(tcc_context_create(compiled, &context), TCC_OK) << tcc_last_error();
  tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
  ASSERT_EQ(tcc_context_largest_output(context, 0, &info), TCC_OK) << tcc_last_error();
  EXPECT_STREQ(info.shape_text, "[12, 2]");
  std::vector<float> x(12, 1), y(12);
  std::vector<std::int64_t> p(24);
  const void* const in[] = {x.data()};
  void* const out[] = {p.data(), y.data()};
  EXPECT_EQ(tcc_context_run_host(context, in, 1, out, 2), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_context_output(context, 0, &info), TCC_OK) << tcc_last_error();
  EXPECT_EQ(info.shape[1], 2);
  EXPECT_EQ(tcc_context_largest_output(context, 2, &info), TCC_BAD_INPUT);
  tcc_context_destroy(context);
  tcc_compiled_destroy(compiled);
  tcc_graph_destroy(graph);
}

}  // namespace
}  // namespace tcc
