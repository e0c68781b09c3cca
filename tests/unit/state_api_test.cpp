// States and open dims through the public interface.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tcc/graph.hpp"
#include "tcc/tcc.hpp"
#include "tests/expect_error.h"

namespace tcc {
namespace {

constexpr const char* kSum =
    "tcc: 1\n"
    "dims: {B: 4}\n"
    "inputs: {x: {dtype: f32, shape: [B, 3]}}\n"
    "states: {s: {dtype: f32, shape: [B, 3]}, n: {dtype: i32, shape: []}}\n"
    "nodes:\n"
    "  - {out: a, op: add, in: [s, x]}\n"
    "  - {out: t, op: assign, in: [s, a]}\n"
    "  - {out: m, op: add, in: [n, 1]}\n"
    "  - {out: o, op: assign, in: [n, m]}\n"
    "  - {out: y, op: mul, in: [t, 2.0]}\n"
    "outputs: [y]\n";

// A device that runs kernels, or "".
std::string device_that_runs() {
  const DeviceList list = list_devices();
  return list.devices.empty() ? "" : list.devices.front().id;
}

std::vector<float> values(HostTensor tensor) {
  const auto all = tensor.as<float>();
  return {all.begin(), all.end()};
}

TEST(StateApi, StatesAreListedReadSetAndReset) {
  const std::string device = device_that_runs();
  if (device.empty()) GTEST_SKIP() << "no device";
  const CompiledGraph compiled = compile(Graph::from_yaml(kSum), device);
  const std::vector<TensorSpec> states = compiled.states();
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[0].name, "s");
  EXPECT_EQ(states[0].shape, (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(states[1].dtype, "i32");

  Context context(compiled);
  const auto x = HostTensor::of<float>({4, 3}, std::vector<float>(12, 1.5f));
  context.run({{x}});
  EXPECT_EQ(values(context.run({{x}}).at(0)), std::vector<float>(12, 6));
  EXPECT_EQ(values(context.state("s")), std::vector<float>(12, 3));
  HostTensor count = context.state("n");
  EXPECT_EQ(count.as<std::int32_t>()[0], 2);

  context.set_state("s", HostTensor::of<float>({4, 3}, std::vector<float>(12, 10)));
  EXPECT_EQ(values(context.run({{x}}).at(0)), std::vector<float>(12, 23));
  context.reset_states();
  EXPECT_EQ(values(context.state("s")), std::vector<float>(12, 0));
  EXPECT_ERROR(context.state("z"), "the graph has no state 'z'");
  EXPECT_ERROR(context.set_state("s", count), "state 's' is f32[4, 3], not i32[]");
}

TEST(StateApi, GraphsThatAreBuiltHaveStates) {
  GraphBuilder builder("sums");
  const GraphValue x = builder.input("x", "f32", {3});
  const GraphValue sum = builder.state("sum", HostTensor::of<float>({3}, {1, 2, 3}));
  const GraphValue count = builder.state("count", "i32", {});
  builder.output("y", builder.op("assign", {sum, sum + x}));
  builder.op("assign", {count, count + 1});
  EXPECT_ERROR(builder.op("assign", {sum, x}), "state 'sum' is assigned twice");
  EXPECT_ERROR(builder.op("assign", {x, x}), "'x' is no state");
  EXPECT_ERROR(builder.state("count", "f32", {1}), "count");

  const Graph graph = builder.build();
  EXPECT_NE(graph.to_yaml().find("states:"), std::string::npos);
  const std::string device = device_that_runs();
  if (device.empty()) GTEST_SKIP() << "no device";
  const CompiledGraph compiled = compile(graph, device);
  Context context(compiled);
  const auto ones = HostTensor::of<float>({3}, {1, 1, 1});
  context.run({{ones}});
  EXPECT_EQ(values(context.run({{ones}}).at(0)), (std::vector<float>{3, 4, 5}));
  EXPECT_EQ(context.state("count").as<std::int32_t>()[0], 2);
}

TEST(StateApi, OneCompiledGraphRunsAtSeveralSizes) {
  const std::string device = device_that_runs();
  if (device.empty()) GTEST_SKIP() << "no device";
  const CompiledGraph compiled = compile(Graph::from_yaml(kSum), device, {.open_dims = {"B"}});
  EXPECT_EQ(compiled.open_dims(), std::vector<std::string>{"B"});
  EXPECT_EQ(compiled.inputs()[0].shape, (std::vector<std::int64_t>{-1, 3}));
  EXPECT_EQ(compiled.inputs()[0].bytes, -1);
  for (const std::int64_t size : {1, 2, 1000}) {
    Context context(compiled, std::map<std::string, std::int64_t>{{"B", size}});
    const auto count = static_cast<std::size_t>(3 * size);
    const auto x = HostTensor::of<float>({size, 3}, std::vector<float>(count, 1));
    context.run({{x}});
    EXPECT_EQ(values(context.run({{x}}).at(0)), std::vector<float>(count, 4)) << size;
    EXPECT_EQ(values(context.state("s")), std::vector<float>(count, 2)) << size;
  }
  EXPECT_ERROR(Context{compiled}, "'B' has no value");
  EXPECT_ERROR((Context{compiled, std::map<std::string, std::int64_t>{{"C", 1}, {"B", 1}}}),
               "no size 'C' is open");
  EXPECT_ERROR(compile(Graph::from_yaml(kSum), device, {.open_dims = {"C"}}), "has no dim 'C'");
}

}  // namespace
}  // namespace tcc
