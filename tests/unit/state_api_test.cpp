// States and open dims through the public interface.
#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
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

// Sums of all rows so far.
constexpr const char* kGrows =
    "tcc: 1\n"
    "dims: {P: 0, N: 1}\n"
    "inputs: {x: {dtype: f32, shape: [2, N]}, m: {dtype: f32, shape: [P + N]}}\n"
    "states: {s: {dtype: f32, shape: [2, P + N]}}\n"
    "nodes:\n"
    "  - {out: a, op: append, in: [s, x], dim: 1, length: P}\n"
    "  - {out: now, op: slice, in: [a], dim: 1, start: 0, end: P + N}\n"
    "  - {out: p, op: mul, in: [now, m]}\n"
    "  - {out: y, op: sum, in: [p], dim: [1]}\n"
    "outputs: [y]\n";

TEST(StateApi, AStateGrows) {
  const std::string device = device_that_runs();
  if (device.empty()) GTEST_SKIP() << "no device";
  const CompiledGraph compiled =
      compile(Graph::from_yaml(kGrows), device, {.open_dims = {"P=0..5", "N=1..2"}});
  Context context(compiled), other(compiled);
  const auto ones = [](std::int64_t count) {
    return HostTensor::of<float>({count}, std::vector<float>(count, 1));
  };
  const auto run = [&](Context& in, std::vector<float> x, std::int64_t length) {
    const auto rows = std::ssize(x) / 2;
    return values(in.run({{HostTensor::of<float>({2, rows}, x), ones(length + rows)}}).at(0));
  };
  EXPECT_EQ(run(context, {1, 2, 10, 20}, 0), (std::vector<float>{3, 30}));
  EXPECT_EQ(run(context, {3, 30}, 2), (std::vector<float>{6, 60}));
  EXPECT_EQ(context.dims().at("P"), 3);
  EXPECT_EQ(context.states().at(0).shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(context.states().at(0).bytes, 24);
  EXPECT_EQ(values(context.state("s")), (std::vector<float>{1, 2, 3, 10, 20, 30}));
  EXPECT_ERROR(run(context, {4, 40}, 1),
               "input 'm': dim 0 is 2, not 4 (N = 1 by input 'x': dim 1, P = 3 by state 's')");
  EXPECT_EQ(run(other, {5, 50}, 0), (std::vector<float>{5, 50})) << "contexts share no state";

  // On buffers, at the shapes that the context tells.
  if (compiled.device() != "null") {
    context.set_dims({{"N", 1}});
    EXPECT_EQ(context.inputs().at(1).shape, std::vector<std::int64_t>{4});
    const DeviceBuffer x(device, 8), m(device, 16), y(device, 8);
    const std::vector<float> row = {4, 40}, mask = {1, 1, 1, 1};
    x.write(std::as_bytes(std::span(row)));
    m.write(std::as_bytes(std::span(mask)));
    context.run_device(std::vector{x, m}, std::vector{y});
    std::vector<float> sums(2);
    y.read(std::as_writable_bytes(std::span(sums)));
    EXPECT_EQ(sums, (std::vector<float>{10, 100}));
    EXPECT_EQ(context.inputs().at(1).shape, std::vector<std::int64_t>{5});
  }

  const std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) / "grown.safetensors";
  context.save_states(file);
  other.load_states(file);
  EXPECT_EQ(run(other, {0, 0}, 4), (std::vector<float>{10, 100}));
  EXPECT_EQ(run(other, {1, 1}, 5), (std::vector<float>{11, 101}));
  EXPECT_ERROR(run(other, {1, 1}, 6), "state 's' is full: it is 6 long, and P = 0..5");
  other.save_states(file);
  Context small(
      compile(Graph::from_yaml(kGrows), device, {.dims = {{"N", 1}}, .open_dims = {"P=0..4"}}));
  EXPECT_ERROR(small.load_states(file), "state 's' is f32[2, 0], in the file f32[2, 6]");
  EXPECT_EQ(values(small.state("s")), std::vector<float>());

  other.reset_states();
  EXPECT_EQ(run(other, {7, 70}, 0), (std::vector<float>{7, 70}));
  EXPECT_ERROR(other.set_dims({{"P", 1}}), "'P' is the length of state 's', which comes with it");
  const DeviceBuffer memory(device, 2 * 7 * 4);
  EXPECT_ERROR(other.bind_state("s", memory), "state 's' grows: how much of its memory counts");
  EXPECT_ERROR(other.bind_state("s", memory.slice(0, 48), 1), "takes 56");
  for (const std::int64_t length : {-1, 8})
    EXPECT_ERROR(other.bind_state("s", memory, length),
                 str("state 's' cannot be ", length, " long: it has room for 7, and P = 0..5"));
  EXPECT_ERROR(Context(compiled, {{"P", 1}, {"N", 1}}), "'P' is the length of state 's'");
  EXPECT_ERROR(compile(Graph::from_yaml(kGrows), device), "its length P stays open");
}

// Two contexts append to one piece of memory by turns; each is told what the other added.
TEST(StateApi, MemoryOfTheCallersGrows) {
  const std::string device = device_that_runs();
  if (device.empty()) GTEST_SKIP() << "no device";
  const CompiledGraph compiled =
      compile(Graph::from_yaml(kGrows), device, {.dims = {{"N", 1}}, .open_dims = {"P=0..6"}});
  const DeviceBuffer memory(device, 2 * 7 * 4);
  std::vector<float> rows(14, -1);
  rows[0] = 5;
  rows[7] = 50;
  memory.write(std::as_bytes(std::span(rows)));
  Context one(compiled), two(compiled);
  one.bind_state("s", memory, 1);
  EXPECT_EQ(values(one.state("s")), (std::vector<float>{5, 50}));
  const auto run = [](Context& in, std::vector<float> x, std::int64_t length) {
    return values(in.run({{HostTensor::of<float>({2, 1}, x),
                           HostTensor::of<float>({length}, std::vector<float>(length, 1))}})
                      .at(0));
  };
  EXPECT_EQ(run(one, {1, 10}, 2), (std::vector<float>{6, 60}));
  EXPECT_EQ(run(one, {2, 20}, 3), (std::vector<float>{8, 80}));
  two.bind_state("s", DeviceTensor(memory, 0, "f32", {2, 7}), 3);
  EXPECT_EQ(run(two, {3, 30}, 4), (std::vector<float>{11, 110}));
  one.bind_state("s", memory, 4);
  EXPECT_EQ(run(one, {4, 40}, 5), (std::vector<float>{15, 150}));
  // It is cut back.
  one.bind_state("s", memory, 1);
  EXPECT_EQ(run(one, {7, 70}, 2), (std::vector<float>{12, 120}));
  memory.read(std::as_writable_bytes(std::span(rows)));
  EXPECT_EQ(rows, (std::vector<float>{5, 7, 2, 3, 4, -1, -1, 50, 70, 20, 30, 40, -1, -1}));
  // The last row that there is room for.
  one.bind_state("s", memory, 7);
  EXPECT_ERROR(run(one, {1, 1}, 8), "state 's' is full");
  Context sums(compile(Graph::from_yaml(kSum), device));
  EXPECT_ERROR(sums.bind_state("s", DeviceBuffer(device, 48), 2),
               "state 's' does not grow: it has no length");
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
  EXPECT_ERROR(Context{compiled}.state("s"), "the size of 'B' is open");
  EXPECT_ERROR((Context{compiled, std::map<std::string, std::int64_t>{{"C", 1}, {"B", 1}}}),
               "no size 'C' is open");
  EXPECT_ERROR(compile(Graph::from_yaml(kSum), device, {.open_dims = {"C"}}),
               "dim C: the graph has no such dim; there are ");
}

// Decoding adds to the cache that prefilling wrote: two programs, on two streams and on one.
TEST(StateApi, TwoProgramsShareAState) {
  const std::string device = device_that_runs();
  if (device.empty()) GTEST_SKIP() << "no device";
  constexpr std::int64_t size = 100003;
  GraphBuilder first("prefill");
  const GraphValue filled = first.state("cache", "f32", {size});
  first.output("y", first.op("assign", {filled, first.input("x", "f32", {size}) * 2}) + 0.5);
  GraphBuilder second("decode");
  const GraphValue grown = second.state("cache", "f32", {size});
  const GraphValue unshared = second.state("steps", "i32", {});
  second.output("y", second.op("assign", {grown, grown + second.input("x", "f32", {size})}) * 1);
  second.op("assign", {unshared, unshared + 1});
  const CompiledGraph prefill = compile(first.build(), device);
  const CompiledGraph decode = compile(second.build(), device);

  const auto three = HostTensor::of<float>({size}, std::vector<float>(size, 3));
  const DeviceBuffer x(device, size * 4), y(device, size * 4), z(device, size * 4);
  x.write(three.bytes);
  for (const bool one_stream : {false, true}) {
    // Kernels ask places to be aligned, which 64 bytes are for all.
    const DeviceBuffer cache = DeviceBuffer(device, 64 + size * 4).slice(64, size * 4);
    Context prefills(prefill);
    Context decodes = one_stream ? Context(decode, prefills) : Context(decode);
    decodes.run({{three}});  // what was recorded has the context's own memory
    prefills.bind_state("cache", cache);
    decodes.bind_state("cache", cache);
    for (int round = 0; round < 3; ++round) {
      prefills.run_device(std::vector{x}, std::vector{y});
      for (int step = 1; step <= 4; ++step) {
        if (step % 2 == 0)
          decodes.run_device(std::vector{x}, std::vector{z});
        else
          decodes.run({{three}});
      }
      std::vector<float> read(size);
      z.read(std::as_writable_bytes(std::span(read)));
      EXPECT_EQ(read, std::vector<float>(size, 6 + 4 * 3));
      cache.read(std::as_writable_bytes(std::span(read)));
      EXPECT_EQ(read, std::vector<float>(size, 6 + 4 * 3));
      EXPECT_EQ(values(prefills.state("cache")), read);
    }
    HostTensor steps = decodes.state("steps");
    EXPECT_EQ(steps.as<std::int32_t>()[0], 13);
    prefills.set_state("cache", three);
    EXPECT_EQ(values(decodes.run({{three}}).at(0)), std::vector<float>(size, 6));
    prefills.reset_states();
    EXPECT_EQ(values(decodes.state("cache")), std::vector<float>(size, 0));
  }
}

TEST(StateApi, BoundMemoryIsChecked) {
  GraphBuilder builder("sums");
  const GraphValue x = builder.input("x", "f32", {16});
  const GraphValue a = builder.state("a", "f32", {16}), b = builder.state("b", "f32", {16});
  builder.output("y", builder.op("assign", {a, a + x}));
  builder.op("assign", {b, b + a});
  const CompiledGraph compiled = compile(builder.build(), "null");
  Context context(compiled);
  const DeviceBuffer memory("null", 256), apart("null", 64), other("null", 64);
  EXPECT_ERROR(context.bind_state("c", apart), "the graph has no state 'c'");
  EXPECT_ERROR(context.bind_state("a", memory),
               "state 'a': a device buffer of 256 bytes; f32[16] takes 64");
  EXPECT_ERROR(context.bind_state("a", DeviceBuffer()), "state 'a': a device buffer of 0 bytes");
  EXPECT_ERROR(context.bind_state("a", memory.slice(2, 64)), "state 'a': its place");
  context.bind_state("a", memory.slice(64, 64));
  EXPECT_ERROR(context.bind_state("b", memory.slice(64, 64)),
               "state 'b' shares memory with state 'a'");
  EXPECT_ERROR(context.bind_state("b", memory.slice(0, 128).slice(32, 64)),
               "state 'b' shares memory with state 'a'");
  context.bind_state("b", memory.slice(0, 64));
  EXPECT_ERROR(context.run_device(std::vector{memory.slice(96, 64)}, std::vector{apart}),
               "input 'x' shares memory with state 'a'");
  EXPECT_ERROR(context.run_device(std::vector{apart}, std::vector{memory.slice(0, 64)}),
               "output 'y' shares memory with state 'b'");
  const void* in = reinterpret_cast<const void*>(memory.address() + 100);
  void* out = reinterpret_cast<void*>(apart.address());
  EXPECT_ERROR(context.run_device(std::span(&in, 1), std::span(&out, 1)),
               "input 'x' shares memory with state 'a'");
  context.bind_state("a", other);  // another one in its place
  context.run_device(std::vector{memory.slice(96, 64)}, std::vector{apart});
}

TEST(StateApi, BoundMemoryIsOfTheDevice) {
  const std::string device = device_that_runs();
  if (device.empty()) GTEST_SKIP() << "no device";
  Context context(compile(Graph::from_yaml(kSum), device));
  EXPECT_ERROR(context.bind_state("s", DeviceBuffer("null", 48)),
               "state 's': a buffer of null; the graph was compiled for " + device);
}

}  // namespace
}  // namespace tcc
