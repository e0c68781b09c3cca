// The C++ API.
#include <fstream>
#include <iterator>
#include <thread>

#include <gtest/gtest.h>

#include "tcc/tcc.hpp"
#include "tests/unit/public_api_fixture.h"

namespace {

using namespace tcc;  // NOLINT: as a user would
using tcc::testing::mlp;
using tcc::testing::numbers;

#define EXPECT_FAILURE(statement, expected, words)                                       \
  try {                                                                                  \
    statement;                                                                           \
    ADD_FAILURE() << #statement << " threw nothing";                                     \
  } catch (const Error& error) {                                                         \
    EXPECT_EQ(error.kind(), ErrorKind::expected) << error.what();                        \
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what(); \
  }

constexpr const char* kScale = R"(
tcc: 1
name: scale
dims: {N: 4}
inputs: {x: {dtype: f32, shape: [N, 2]}}
nodes:
  - {out: y, op: mul, in: [x, 3.0]}
outputs: [y]
)";

HostTensor mlp_input(std::int64_t batch, unsigned seed = 1) {
  return HostTensor::of<float>({batch, 784}, numbers(static_cast<std::size_t>(batch) * 784, seed));
}

TEST(Api, TellsOfAGraph) {
  const Graph graph = Graph::from_yaml(kScale);
  EXPECT_EQ(graph.name(), "scale");
  EXPECT_EQ(graph.dims(), (std::map<std::string, std::int64_t>{{"N", 4}}));
  ASSERT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.inputs()[0].name, "x");
  EXPECT_EQ(graph.inputs()[0].dtype, "f32");
  EXPECT_EQ(graph.inputs()[0].shape, (std::vector<std::string>{"N", "2"}));
  EXPECT_EQ(graph.outputs().at(0).name, "y");
}

TEST(Api, TellsOfACompiledGraph) {
  const CompiledGraph compiled =
      compile(Graph::load(mlp()), "null", {.dims = {{"B", 8}}, .dtype = "f16"});
  EXPECT_EQ(compiled.device(), "null");
  ASSERT_EQ(compiled.inputs().size(), 1u);
  EXPECT_EQ(compiled.inputs()[0].name, "x");
  EXPECT_EQ(compiled.inputs()[0].dtype, "f16");
  EXPECT_EQ(compiled.inputs()[0].shape, (std::vector<std::int64_t>{8, 784}));
  EXPECT_EQ(compiled.inputs()[0].bytes, 8 * 784 * 2);
  EXPECT_EQ(compiled.outputs().at(0).shape, (std::vector<std::int64_t>{8, 10}));
  EXPECT_GT(compiled.arena_bytes(), 0);
  EXPECT_GE(compiled.constant_bytes(), 2 * (512 * 784 + 512 + 10 * 512 + 10));
  int launches = 0;
  for (const KernelReport& kernel : compiled.kernels()) {
    EXPECT_FALSE(kernel.region.empty());
    EXPECT_FALSE(kernel.kernel_template.empty());
    EXPECT_EQ(kernel.tier, "default");
    EXPECT_GT(kernel.bytes, 0);
    launches += kernel.launches;
  }
  EXPECT_EQ(launches, compiled.launches());
}

TEST(Api, RunsTheReference) {
  const auto outputs =
      run_reference(Graph::from_yaml(kScale), std::vector{HostTensor::of<float>({1, 2}, {1, -2})},
                    {.dims = {{"N", 1}}});
  EXPECT_EQ(outputs.at(0).shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(outputs[0].as<float>()[1], -6);
}

TEST(Api, RunsOnAListOfTensors) {
  const Graph graph = Graph::from_yaml(
      "tcc: 1\ninputs: {x: {dtype: f32, shape: [2]}}\nnodes: [{out: y, op: relu, in: [x]}]\n"
      "outputs: [y]\n");
  Context context(compile(graph, "null"));
  const auto x = HostTensor::of<float>({2}, {1, 2});
  EXPECT_EQ(context.run({x}).size(), 1u);
}

TEST(Api, NarrowFloatsAreBits) {
  HostTensor x("f8e4m3", {2});
  x.as<std::uint8_t>()[0] = 0x7e;
  x.as<std::uint8_t>()[1] = 0xc4;
  const Graph graph = Graph::from_yaml(
      "tcc: 1\ninputs: {x: {dtype: f8e4m3, shape: [2]}}\n"
      "nodes: [{out: y, op: to, in: [x], dtype: f16}]\noutputs: [y]\n");
  const auto outputs = run_reference(graph, std::vector{x});
  EXPECT_EQ(outputs.at(0).as<std::uint16_t>()[0], 0x5f00);  // 448
  EXPECT_EQ(outputs.at(0).as<std::uint16_t>()[1], 0xc200);  // -3
  EXPECT_FAILURE(x.as<std::uint16_t>(), bad_input, "the tensor is f8e4m3, not u16");
}

TEST(Api, RunsLikeTheReference) {
  if (!tcc::testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  const Graph graph = Graph::load(mlp());
  const CompileOptions options{.dims = {{"B", 3}}};
  const std::vector inputs{mlp_input(3)};
  Context context(compile(graph, "vulkan:0", options));
  const auto outputs = context.run(inputs);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].dtype, "f32");
  tcc::testing::expect_near(outputs[0].as<float>(),
                            run_reference(graph, inputs, options).at(0).as<float>());
}

TEST(Api, OneCompiledGraphServesSeveralThreads) {
  if (!tcc::testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  const Graph graph = Graph::load(mlp());
  const CompileOptions options{.dims = {{"B", 2}}};
  const CompiledGraph compiled = compile(graph, "vulkan:0", options);
  std::vector<HostTensor> got(2);
  const auto work = [&](unsigned number) {
    Context context(compiled);
    for (int i = 0; i < 10; ++i) got[number] = context.run(std::vector{mlp_input(2, number)}).at(0);
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  for (unsigned number : {0u, 1u}) {
    const auto expected = run_reference(graph, std::vector{mlp_input(2, number)}, options);
    tcc::testing::expect_near(got[number].as<float>(), expected.at(0).as<float>());
  }
}

TEST(Api, RunsOnTheCallersPointers) {
  const CompiledGraph compiled = compile(Graph::from_yaml(kScale), "null");
  Context context(compiled);
  alignas(16) float x[9] = {}, y[8] = {};
  const void* inputs[] = {x};
  void* outputs[] = {y};
  context.run_device(inputs, outputs);
  context.synchronize();
  EXPECT_FAILURE(context.run_device({}, outputs), bad_input, "1 input and 1 output, not 0 and 1");
  EXPECT_EQ(compiled.inputs()[0].alignment, 4);  // elements are read one by one
  inputs[0] = x + 1;
  context.reserve(inputs, outputs);
  context.run_device(inputs, outputs);
  inputs[0] = reinterpret_cast<std::byte*>(x) + 2;
  for (const bool ahead : {true, false})
    EXPECT_FAILURE(ahead ? context.reserve(inputs, outputs) : context.run_device(inputs, outputs),
                   bad_input, "'x': the pointer is not aligned to its elements of 4 bytes");
  inputs[0] = nullptr;
  EXPECT_FAILURE(context.run_device(inputs, outputs), bad_input, "'x': a null pointer");
  EXPECT_FAILURE(context.run_host(inputs, outputs), bad_input, "'x': a null pointer");
  EXPECT_FAILURE(Context(compiled, nullptr), bad_input, "null");
}

TEST(Api, AContextOutlivesItsGraph) {
  auto compiled = std::make_unique<CompiledGraph>(compile(Graph::from_yaml(kScale), "null"));
  Context first(*compiled);
  compiled.reset();
  Context second = std::move(first);
  EXPECT_EQ(second.run(std::vector{HostTensor("f32", {4, 2})}).at(0).bytes.size(), 32u);
}

TEST(Api, RefusesWhatDoesNotFit) {
  Context context(compile(Graph::from_yaml(kScale), "null"));
  EXPECT_FAILURE(context.run({}), bad_input, "1 input and 1 output, not 0 and 1");
  EXPECT_FAILURE(context.run(std::vector{HostTensor("f32", {2, 4})}), bad_input,
                 "input 'x' is f32[4, 2], not f32[2, 4]");
  EXPECT_FAILURE(context.run(std::vector{HostTensor("f16", {4, 2})}), bad_input, "not f16[4, 2]");
  HostTensor damaged("f32", {4, 2});
  damaged.bytes.pop_back();
  EXPECT_FAILURE(context.run(std::vector{damaged}), bad_input, "has 32 bytes, not 31");
  EXPECT_FAILURE(HostTensor("f31", {1}), bad_input, "'f31' is no dtype");
  EXPECT_FAILURE(HostTensor("f32", {std::int64_t{1} << 40, 1 << 30}), bad_input, "too large");
  EXPECT_FAILURE(HostTensor::of<float>({3}, {1, 2}), bad_input, "3 elements, 2 were given");
  EXPECT_FAILURE(damaged.as<int>(), bad_input, "the tensor is f32, not i32");
}

TEST(Api, ErrorsSayWhatIsWrong) {
  const Graph graph = Graph::from_yaml(kScale);
  EXPECT_FAILURE(Graph::load("missing.yaml"), bad_input, "missing.yaml");
  EXPECT_FAILURE(Graph::from_yaml("tcc: 1\nnodes: 3\n"), bad_input, "<yaml>:");
  EXPECT_FAILURE(compile(graph, "abacus"), no_device, "abacus");
  EXPECT_FAILURE(compile(graph, "null", {.dims = {{"M", 1}}}), bad_input, "M");
  EXPECT_FAILURE(compile(graph, "null", {.dtype = "i8"}), bad_input, "dtype 'i8'");
  EXPECT_FAILURE(compile(graph, "null", {.matmul_precision = "huge"}), bad_input,
                 "matmul_precision 'huge'");
  EXPECT_FAILURE(compile(graph, "null", {.tuning = {"no/such/records"}}), bad_input,
                 "no/such/records");
}

TEST(Api, TheDocumentShowsTheExample) {
  const auto read = [](const char* path) {
    std::ifstream file(tcc::testing::source_dir() / path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string example = read("examples/embed.cpp");
  if (example.empty()) GTEST_SKIP() << "no source tree";
  EXPECT_NE(read("docs/embedding.md").find(example), std::string::npos);
}

}  // namespace
