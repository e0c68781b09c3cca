// Conformance: executables that are written, read and run, by this program and by one that links
// libtcc-runtime alone; steps that are no launches; constants that programs share.
#include <sstream>

#include "backends/compile/process.h"
#include "backends/pipeline.h"
#include "executable/serialize.h"
#include "frontend/graph_file.h"
#include "runtime/program.h"
#include "support/error.h"
#include "tests/device/conformance.h"
#include "tests/expect_error.h"
#include "tests/run_command.h"

namespace tcc::runtime {
namespace {

using exec::Address;
using exec::BufferInfo;

class ExecutableTest : public DeviceTest {
 protected:
  exec::Executable compiled(const std::string& yaml, int64_t batch) {
    backends::CompileOptions options;
    options.dims["B"] = batch;
    return backends::compile(parse_yaml_graph(yaml, "graph.yaml", "."), device->target(), options);
  }
};
TCC_ON_EVERY_DEVICE(ExecutableTest);

constexpr const char* kLayer =
    "tcc: 1\ndims: {B: 2}\n"
    "inputs: {x: {dtype: f32, shape: [B, 24]}}\n"
    "weights: {w: {dtype: f32, shape: [40, 24], init: {normal: 1}},\n"
    "  b: {dtype: f32, shape: [40], init: {normal: 1}}}\n"
    "nodes:\n"
    "  - {out: y, op: linear, in: [x, w, b]}\n"
    "  - {out: z, op: softmax, in: [y], dim: -1}\n"
    "outputs: [z]\n";

TEST_P(ExecutableTest, IsWrittenAndRunsWithoutTheCompiler) {
  const exec::Executable executable = compiled(kLayer, 3);
  Tensor x(DType::f32, {3, 24});
  for (int64_t i = 0; i < x.numel(); ++i) x.set(i, static_cast<double>(i));
  const backends::TemporaryFolder folder;
  const auto file = folder.path() / "layer.tccx";
  exec::save_executable(executable, file);

  Context compiled_now(std::make_shared<const Program>(device, executable));
  Context loaded(std::make_shared<const Program>(device, exec::load_executable(file)));
  const Tensor expected = compiled_now.run({&x, 1}).at(0), got = loaded.run({&x, 1}).at(0);
  const testing::Outcome outcome = testing::run_command(
      str(TCC_BINARY_DIR, "/bin/run_executable ", file.string(), " ", GetParam()));
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  if (!runs_kernels()) return;
  std::istringstream printed(outcome.text);
  for (int64_t i = 0; i < expected.numel(); ++i) {
    EXPECT_EQ(got.get(i), expected.get(i)) << i;
    double value = -1;
    printed >> value;
    EXPECT_FLOAT_EQ(static_cast<float>(value), static_cast<float>(expected.get(i))) << i;
  }
}

TEST_P(ExecutableTest, IsRefusedByAnotherKindOfDevice) {
  exec::Executable executable = compiled(kLayer, 1);
  executable.target.api = runs_kernels() ? exec::Api::null : exec::Api::vulkan;
  EXPECT_ERROR_KIND(Program(device, std::move(executable)), ErrorKind::device, "was compiled for");
}

// A file for another device of the API, where loops may be longer.
TEST_P(ExecutableTest, IsRefusedWhereItsLoopsWouldBeStopped) {
  const int64_t most = device->target().max_loop_iterations;
  exec::Executable executable = compiled(kLayer, 1);
  if (most > 0) {
    int64_t recorded = 0;
    for (const exec::KernelLaunch* launch : exec::launches(executable))
      recorded = std::max(recorded, launch->loop_iterations.value());
    EXPECT_GT(recorded, 0);
  }
  std::get<exec::KernelLaunch>(executable.steps.at(0)).loop_iterations = (int64_t{1} << 20) + most;
  executable.target.max_loop_iterations = 0;
  if (most == 0) {
    EXPECT_NO_THROW(Program(device, executable));
  } else {
    EXPECT_ERROR_KIND(Program(device, executable), ErrorKind::device, "loop iterations");
  }
}

TEST_P(ExecutableTest, KernelsHaveTheirEntryPoints) {
  exec::Executable executable = compiled(kLayer, 1);
  executable.kernels.at(0).entry = "no_such_entry";
  if (!runs_kernels()) return;
  EXPECT_ERROR_KIND(Program(device, executable), ErrorKind::device, "no entry point no_such_entry");
}

TEST_P(ExecutableTest, ProgramsShareTheirConstants) {
  const ir::Graph graph = parse_yaml_graph(kLayer, "graph.yaml", ".");
  const auto program = [&](int64_t batch) {
    backends::CompileOptions options;
    options.dims["B"] = batch;
    return std::make_unique<const Program>(device,
                                           backends::compile(graph, device->target(), options));
  };
  const int64_t before = device->allocated_bytes();
  auto two = program(2);
  const int64_t alone = device->allocated_bytes() - before;
  EXPECT_GE(alone, two->constant_bytes());
  const auto three = program(3);
  EXPECT_EQ(device->allocated_bytes() - before, alone) << "the weights are there twice";
  EXPECT_EQ(three->constant_bytes(), two->constant_bytes());
  // By their content: another graph object, and a file.
  const backends::TemporaryFolder folder;
  exec::save_executable(compiled(kLayer, 5), folder.path() / "five.tccx");
  const Program five(device, exec::load_executable(folder.path() / "five.tccx"));
  EXPECT_EQ(device->allocated_bytes() - before, alone);
  // The last one that uses them frees them.
  two.reset();
  EXPECT_EQ(device->allocated_bytes() - before, alone);
}

TEST_P(ExecutableTest, StatesLiveFromRunToRun) {
  using Kind = BufferInfo::Kind;
  exec::Executable e;
  e.name = "shift";
  e.target = device->target();
  const auto add = [&](Kind kind, const char* name, int64_t offset, int alias = -1) {
    BufferInfo& buffer = e.buffers.emplace_back();
    buffer.kind = kind;
    buffer.name = name;
    buffer.shape = {4};
    buffer.strides = {1};
    buffer.bytes = 16;
    buffer.offset = offset;
    buffer.alias = alias;
  };
  add(Kind::input, "x", 0);
  add(Kind::output, "before", 0);
  add(Kind::output, "twice", 1);
  add(Kind::state, "s", 0);
  add(Kind::workspace, "w", 64);
  add(Kind::arena, "half", 0, 4);  // the first half of w
  e.arena_bytes = 80;
  e.buffers[5].shape = {2};
  e.buffers[5].bytes = 8;
  e.inputs = {0};
  e.outputs = {1, 2};
  e.states = {{3}};
  // before = state; state = x; w = (x[2], x[3], 0, 0); twice = w
  e.steps = {exec::Copy{{1}, {3}, 16}, exec::Copy{{3}, {0}, 16}, exec::Fill{{4}, 16, 0},
             exec::Copy{{5}, {0, 8}, 8}, exec::Copy{{2}, {4}, 16}};
  exec::check(e);
  const auto program = std::make_shared<const Program>(device, e);
  Context context(program), other(program);
  const auto run = [](Context& in, float first) {
    Tensor x(DType::f32, {4});
    for (int64_t i = 0; i < 4; ++i) x.set(i, first + static_cast<double>(i));
    std::vector<double> all;
    for (const Tensor& tensor : in.run({&x, 1}))
      for (int64_t i = 0; i < 4; ++i) all.push_back(tensor.get(i));
    return all;
  };
  using Values = std::vector<double>;
  EXPECT_EQ(run(context, 1), (Values{0, 0, 0, 0, 3, 4, 0, 0}));
  EXPECT_EQ(run(context, 5), (Values{1, 2, 3, 4, 7, 8, 0, 0}));
  EXPECT_EQ(run(other, 9), (Values{0, 0, 0, 0, 11, 12, 0, 0})) << "contexts share no state";
  EXPECT_EQ(run(context, 1), (Values{5, 6, 7, 8, 3, 4, 0, 0}));
}

// x -> a kernel -> half of it on the host -> the kernel again.
TEST_P(ExecutableTest, CallsTheHostBetweenLaunches) {
  exec::Executable e = compiled(
      "tcc: 1\ndims: {B: 2}\ninputs: {x: {dtype: f32, shape: [B, 24]}}\n"
      "nodes: [{out: y, op: add, in: [x, x]}]\noutputs: [y]\n",
      2);
  ASSERT_EQ(e.steps.size(), 1u);
  const auto launch = std::get<exec::KernelLaunch>(e.steps[0]);
  const int input = e.inputs.at(0), output = e.outputs.at(0);
  const auto arena = [&](const char* name) {
    BufferInfo buffer = e.buffers[static_cast<size_t>(output)];
    buffer.kind = BufferInfo::Kind::arena;
    buffer.name = name;
    buffer.offset = e.arena_bytes.value();
    e.arena_bytes = e.arena_bytes + 256;
    e.buffers.push_back(buffer);
    return static_cast<int>(e.buffers.size()) - 1;
  };
  const int twice = arena("twice"), half = arena("half");
  const auto with = [&](int from, int to) {
    exec::KernelLaunch changed = launch;
    for (exec::Argument& argument : changed.arguments)
      if (auto* at = std::get_if<Address>(&argument)) at->buffer = at->buffer == input ? from : to;
    return changed;
  };
  e.steps = {with(input, twice), exec::HostCall{"halve", {twice}, {half}}, with(half, output)};
  exec::check(e);
  EXPECT_ERROR_KIND(Program(device, e), ErrorKind::bad_input,
                    "calls the host's function 'halve', which is not registered");
  EXPECT_ERROR_KIND(Program(device, e, nullptr, {{"halves", HostFunction()}}), ErrorKind::bad_input,
                    "'halve', which is not registered");

  const backends::TemporaryFolder folder;
  exec::save_executable(e, folder.path() / "host.tccx");
  int calls = 0;
  double seen = 0;
  const HostFunctions functions = {
      {"halve", {[&](std::span<const Tensor> reads, std::span<Tensor> writes) {
         ++calls;
         seen = reads[0].get(5);
         for (int64_t i = 0; i < reads[0].numel(); ++i) writes[0].set(i, reads[0].get(i) / 2 + 1);
       }}}};
  const auto program = std::make_shared<const Program>(
      device, exec::load_executable(folder.path() / "host.tccx"), nullptr, functions);
  Context context(program);
  Tensor x(DType::f32, {2, 24});
  for (int64_t i = 0; i < x.numel(); ++i) x.set(i, static_cast<double>(i));
  const auto expect = [&](const Tensor& y) {
    if (!runs_kernels()) return;
    for (int64_t i = 0; i < x.numel(); ++i)
      EXPECT_EQ(y.get(i), 2 * (static_cast<double>(i) + 1)) << i;
  };
  expect(context.run({&x, 1}).at(0));
  EXPECT_EQ(calls, 1);
  if (runs_kernels()) { EXPECT_EQ(seen, 10); }
  // Again, on the caller's memory, which needs no alignment, and step by step.
  auto in = device->allocate(200), out = device->allocate(200);
  stream->copy_to_device(*in, 4, {x.data(), x.bytes()});
  const DeviceAddress from = in->address() + 4, to = out->address() + 8;
  context.run({&from, 1}, {&to, 1});
  Tensor y(DType::f32, {2, 24});
  context.stream().synchronize();
  stream->copy_to_host({y.data(), y.bytes()}, *out, 8);
  expect(y);
  EXPECT_EQ(calls, 2);
  for (size_t i = 0; i < 3; ++i) context.run_step(i);
  expect(context.outputs().at(0));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(context.time_steps().size(), 3u);
  EXPECT_GE(context.time_replay(2), 0);
  EXPECT_EQ(calls, 6);
  expect(context.outputs().at(0));

  const HostFunctions throwing = {{"halve", {[](std::span<const Tensor>, std::span<Tensor>) {
                                     fail_input("no halves today");
                                   }}}};
  Context other(std::make_shared<const Program>(device, e, nullptr, throwing));
  EXPECT_ERROR_KIND(other.run({&x, 1}), ErrorKind::bad_input, "no halves today");
  const HostFunctions other_type = {
      {"halve", {[](std::span<const Tensor>, std::span<Tensor> written) {
         written[0] = Tensor(DType::f32, {3});
       }}}};
  Context third(std::make_shared<const Program>(device, e, nullptr, other_type));
  EXPECT_ERROR_KIND(third.run({&x, 1}), ErrorKind::bad_input,
                    "the host's function 'halve' changed the type of its result 0");
}

}  // namespace
}  // namespace tcc::runtime
