// Functions of the host's that graphs call between kernels.
#include "tcc/external.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <future>
#include <thread>

#include "tests/expect_error.h"
#include "tests/unit/public_api_fixture.h"

namespace tcc {
namespace {

using testing::expect_near;
using testing::numbers;
using Types = std::vector<TensorType>;
using Hosts = std::span<const HostTensor>;
using Results = std::span<HostTensor>;

Types same_types(const Types& operands) { return operands; }

std::vector<std::string>& calls() {
  static std::vector<std::string> all;
  return all;
}

// Notes its name, and gives its operand.
ExternalFunction noting(const std::string& name, bool has_effects) {
  return {name, same_types,
          [name](Hosts x, Results y) {
            calls().push_back(name);
            y[0].bytes = x[0].bytes;
          },
          has_effects};
}

// Functions are registered once for all tests of the process.
void register_functions() {
  static const bool done = [] {
    // The sums and the products of two neighbouring columns; an odd last column stands alone.
    register_external(
        {"pair_columns",
         [](const Types& x) {
           if (x.size() != 1 || x[0].shape.size() != 2)
             throw Error(ErrorKind::bad_input, "pair_columns takes one matrix");
           const Dims shape = {x[0].shape[0], "(" + x[0].shape[1].text + " + 1) // 2"};
           return Types{{x[0].dtype, shape}, {"i32", {x[0].shape[0]}}};
         },
         [](Hosts x, Results y) {
           const auto rows = static_cast<std::size_t>(x[0].shape[0]);
           const auto columns = static_cast<std::size_t>(x[0].shape[1]), half = (columns + 1) / 2;
           for (std::size_t i = 0; i < rows; ++i) {
             y[1].as<std::int32_t>()[i] = static_cast<std::int32_t>(i);
             for (std::size_t j = 0; j < half; ++j) {
               const float* pair = &x[0].as<float>()[i * columns + 2 * j];
               y[0].as<float>()[i * half + j] = pair[0] + (2 * j + 1 < columns ? pair[1] : 0);
             }
           }
         }});
    register_external({"subtract", [](const Types& x) { return Types{x.at(0)}; },
                       [](Hosts x, Results y) {
                         for (std::size_t i = 0; i < y[0].as<float>().size(); ++i)
                           y[0].as<float>()[i] = x[0].as<float>()[i] - x[1].as<float>()[i];
                       }});
    register_external({"throw_odd", same_types, [](Hosts x, Results y) {
                         if (x[0].as<float>()[0] > 0) throw std::runtime_error("no luck today");
                         y[0].bytes = x[0].bytes;
                       }});
    register_external(
        {"reshape_result", same_types, [](Hosts, Results y) { y[0] = HostTensor("f32", {1}); }});
    register_external({"f31_result",
                       [](const Types&) {
                         return Types{{"f31", {1}}};
                       },
                       [](Hosts, Results) {}});
    register_external({"no_result", [](const Types&) { return Types{}; }, [](Hosts, Results) {}});
    for (const char* name : {"first", "second", "third"}) register_external(noting(name, true));
    register_external(noting("pure", false));
    return true;
  }();
  (void)done;
}

class External : public ::testing::Test {
 protected:
  void SetUp() override {
    register_functions();
    calls().clear();
  }

  GraphBuilder builder;
  GraphValue call(const char* function, const std::vector<Operand>& operands) {
    return builder.op("external", operands, {{"function", function}});
  }
};

class ExternalOnVulkan : public External {
 protected:
  void SetUp() override {
    External::SetUp();
    if (!testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  }
  // Compares the graph on the device, from host memory and on device buffers, with the reference.
  void check(const std::vector<HostTensor>& inputs) {
    const Graph graph = builder.build();
    const auto expected = run_reference(graph, inputs);
    const CompiledGraph compiled = compile(graph, "vulkan:0");
    Context context(compiled);
    std::vector<DeviceBuffer> in, out;
    for (const HostTensor& input : inputs) {
      in.emplace_back("vulkan:0", std::ssize(input.bytes));
      in.back().write(input.bytes);
    }
    for (const TensorSpec& spec : compiled.outputs()) out.emplace_back("vulkan:0", spec.bytes);
    for (int round = 0; round < 2; ++round) {
      auto results = context.run(inputs);
      context.run_device(in, out);
      for (std::size_t i = 0; i < results.size(); ++i) {
        for (int way = 0; way < 2; ++way) {
          if (way == 1) out[i].read(results[i].bytes);
          if (results[i].dtype == "f32")
            expect_near(results[i].as<float>(), expected[i].as<float>());
          else
            EXPECT_EQ(results[i].bytes, expected[i].bytes);
        }
      }
    }
  }
};

TEST_F(ExternalOnVulkan, RunsBetweenKernels) {
  const Dim rows = builder.dim("R", 3);
  const GraphValue x = builder.input("x", "f32", {rows, 7});
  const GraphValue w = builder.constant("w", HostTensor::of<float>({4, 5}, numbers(20, 7)));
  const auto paired = builder.ops("external", {relu(x) * 2 + 1}, {{"function", "pair_columns"}});
  ASSERT_EQ(paired.size(), 2u);
  EXPECT_EQ(paired[0].shape(), (std::vector<std::string>{"R", "4"}));
  builder.output("y", relu(matmul(paired[0], w)));
  builder.output("rows", paired[1]);
  check({HostTensor::of<float>({3, 7}, numbers(21))});
  const CompiledGraph other = compile(builder.build(), "vulkan:0", {.dims = {{"R", 5}}});
  EXPECT_EQ(other.outputs().at(0).shape, (std::vector<std::int64_t>{5, 5}));
  EXPECT_EQ(other.launches(), 2);
}

// The function gets dense tensors, whatever they are made of.
TEST_F(ExternalOnVulkan, TakesViewsConstantsAndInputs) {
  const GraphValue x = builder.input("x", "f32", {5, 3});
  const GraphValue turned = permute(x, {1, 0});
  const GraphValue c = builder.constant("c", HostTensor::of<float>({3, 5}, numbers(15, 3)));
  const GraphValue halves = builder.constant("halves", "f32", {3, 5}, 0.5);
  builder.output("a", call("subtract", {turned, c}));
  builder.output("b", call("subtract", {c, halves}));
  builder.output("c", call("subtract", {x, x}));
  builder.output("d", call("subtract", {call("subtract", {turned, halves}), c}));
  builder.output("e", turned);
  check({HostTensor::of<float>({5, 3}, numbers(15))});
}

TEST_F(ExternalOnVulkan, TakesImagesOfConvolutions) {
  const GraphValue x = builder.input("x", "f32", {1, 3, 6, 5});
  const GraphValue w = builder.constant("w", HostTensor::of<float>({4, 3, 3, 3}, numbers(108, 5)));
  const GraphValue y = builder.op("conv2d", {x, w}, {{"padding", {1, 1}}});
  const GraphValue z = call("subtract", {y, relu(y)});
  const GraphValue w2 = builder.constant("w2", HostTensor::of<float>({2, 4, 3, 3}, numbers(72, 9)));
  builder.output("z", builder.op("conv2d", {z, w2}));
  check({HostTensor::of<float>({1, 3, 6, 5}, numbers(90))});
}

// One compiled graph; the function gets the sizes of each context.
TEST_F(ExternalOnVulkan, TakesOpenDims) {
  const Dim rows = builder.dim("R", 3);
  const GraphValue x = builder.input("x", "f32", {rows, 7});
  const auto paired = builder.ops("external", {x * 2}, {{"function", "pair_columns"}});
  builder.output("y", paired[0] + 1);
  const Graph graph = builder.build();
  const CompiledGraph compiled = compile(graph, "vulkan:0", {.open_dims = {"R"}});
  for (const std::int64_t size : {5, 2}) {
    const std::vector<HostTensor> inputs = {
        HostTensor::of<float>({size, 7}, numbers(static_cast<std::size_t>(size) * 7))};
    const auto expected = run_reference(graph, inputs, {.dims = {{"R", size}}});
    Context first(compiled, {{"R", size}});
    Context context(compiled, first, {{"R", size}});
    expect_near(context.run(inputs).at(0).as<float>(), expected.at(0).as<float>());
    const DeviceBuffer in("vulkan:0", size * 28), out("vulkan:0", size * 16);
    in.write(inputs[0].bytes);
    context.run_device(std::vector{in}, std::vector{out});
    HostTensor read = expected.at(0);
    out.read(read.bytes);
    expect_near(read.as<float>(), expected.at(0).as<float>());
    EXPECT_ERROR(context.run_device(std::vector{out}, std::vector{out}),
                 "input 'x': a device buffer of " + std::to_string(size * 16) + " bytes");
  }
}

TEST_F(ExternalOnVulkan, EffectsKeepTheirOrder) {
  const GraphValue x = builder.input("x", "f32", {3});
  call("third", {x});  // nothing reads it
  const GraphValue a = call("first", {x + 1});
  call("second", {x});
  call("second", {x});  // not merged
  builder.output("y", call("first", {a * 2}));
  const std::vector<std::string> order = {"third", "first", "second", "second", "first"};
  const Graph graph = builder.build();
  Context context(compile(graph, "vulkan:0"));
  const std::vector<HostTensor> inputs = {HostTensor::of<float>({3}, {1, 2, 3})};
  expect_near(context.run(inputs).at(0).as<float>(), std::vector<float>{4, 6, 8});
  EXPECT_EQ(calls(), order);
  calls().clear();
  run_reference(graph, inputs);
  EXPECT_EQ(calls(), order);
}

TEST_F(ExternalOnVulkan, CallsWithoutEffectsAreMergedOrLeftOut) {
  const GraphValue x = builder.input("x", "f32", {3});
  call("pure", {x});
  builder.output("y", call("pure", {x}) + call("pure", {x}));
  Context context(compile(builder.build(), "vulkan:0"));
  const auto y = context.run(std::vector{HostTensor::of<float>({3}, {1, 2, 3})});
  expect_near(y.at(0).as<float>(), std::vector<float>{2, 4, 6});
  EXPECT_EQ(calls(), std::vector<std::string>{"pure"});
}

TEST_F(ExternalOnVulkan, AnExceptionEndsTheRun) {
  const GraphValue x = builder.input("x", "f32", {3});
  builder.output("y", call("throw_odd", {x * 1.5}) + 1);
  Context context(compile(builder.build(), "vulkan:0"));
  EXPECT_ERROR(context.run(std::vector{HostTensor::of<float>({3}, {1, 2, 3})}),
               "the host's function 'throw_odd': no luck today");
  const auto y = context.run(std::vector{HostTensor::of<float>({3}, {-2, 2, 4})});
  expect_near(y.at(0).as<float>(), std::vector<float>{-2, 4, 7});
}

TEST_F(ExternalOnVulkan, ResultsKeepTheirTypes) {
  builder.output("y", call("reshape_result", {builder.input("x", "f32", {3})}));
  Context context(compile(builder.build(), "vulkan:0"));
  EXPECT_ERROR(context.run(std::vector{HostTensor("f32", {3})}),
               "the host's function 'reshape_result': it changed the type of its result 0 from "
               "f32[3] to f32[1]");
}

// Two threads, each with a context whose function reads what the other context writes.
struct Readers {
  std::barrier<> both_run{2};
  std::vector<DeviceBuffer> outputs = {DeviceBuffer("null", 4), DeviceBuffer("null", 4)};
  std::vector<std::promise<void>> done = std::vector<std::promise<void>>(2);
};
std::shared_ptr<Readers> readers;

TEST_F(External, FunctionsOfTwoThreadsReadEachOthersOutputs) {
  static const bool registered = [] {
    register_external({"read_the_other", same_types, [](Hosts x, Results y) {
                         const auto all = readers;
                         all->both_run.arrive_and_wait();
                         const auto own = static_cast<std::size_t>(x[0].as<std::int32_t>()[0]);
                         all->outputs[1 - own].read(y[0].bytes);
                         all->both_run.arrive_and_wait();
                       }});
    return true;
  }();
  ASSERT_TRUE(registered);
  builder.output("y", call("read_the_other", {builder.input("x", "i32", {1})}));
  const CompiledGraph compiled = compile(builder.build(), "null");
  readers = std::make_shared<Readers>();
  // A thread that never ends keeps what it uses.
  for (const int own : {0, 1})
    std::thread([all = readers, compiled, own] {
      Context context(compiled);
      const DeviceBuffer in("null", 4);
      in.write(HostTensor::of<std::int32_t>({1}, {own}).bytes);
      context.run_device(std::vector{in}, std::vector{all->outputs[static_cast<size_t>(own)]});
      all->done[static_cast<size_t>(own)].set_value();
    }).detach();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (std::promise<void>& done : readers->done)
    ASSERT_EQ(done.get_future().wait_until(end), std::future_status::ready) << "a deadlock";
}

Context* running = nullptr;

// A second context on the same stream may run, the one that calls may not be used.
TEST_F(External, AFunctionMayNotUseTheContextThatCallsIt) {
  register_external({"use_the_caller", same_types, [](Hosts x, Results y) {
                       if (x[0].as<std::int32_t>()[0] == 2) running->run(x);
                       if (x[0].as<std::int32_t>()[0] == 3) running->state("s");
                       running->synchronize();
                       y[0].bytes = x[0].bytes;
                     }});
  const GraphValue s = builder.state("s", "i32", {1});
  builder.output("y", call("use_the_caller", {builder.input("x", "i32", {1})}));
  builder.op("assign", {s, s + 1});
  const CompiledGraph compiled = compile(builder.build(), "null");
  Context context(compiled), beside(compiled, context);
  const auto run = [](Context& on, std::int32_t number) {
    return on.run(std::vector{HostTensor::of<std::int32_t>({1}, {number})});
  };
  running = &context;
  EXPECT_ERROR(run(context, 2), "'use_the_caller': ");
  EXPECT_ERROR(run(context, 2), "the context is running");
  EXPECT_ERROR(run(context, 3), "the context is running");
  EXPECT_EQ(run(context, 1).at(0).as<std::int32_t>()[0], 1);
  running = &beside;
  EXPECT_EQ(run(beside, 1).at(0).as<std::int32_t>()[0], 1);
  EXPECT_ERROR(run(context, 2), "the context is running");  // beside ran, and was refused within
  EXPECT_EQ(run(context, 3).at(0).as<std::int32_t>()[0], 3);
}

// On the null device, whose memory is the host's. No kernel runs there: graphs are calls alone.
std::vector<std::uint64_t>& places() {
  static std::vector<std::uint64_t> all;
  return all;
}

using Devices = std::span<const DeviceOperand>;

void register_device_functions() {
  static const bool done = [] {
    ExternalFunction twice;
    twice.name = "twice_on_device";
    twice.results = same_types;
    twice.run_on_device = [](Devices x, Devices y, void* stream) {
      EXPECT_EQ(stream, nullptr);
      EXPECT_EQ(x[0].dtype, "f32");
      EXPECT_EQ(x[0].bytes, 4 * x[0].shape.at(0));
      EXPECT_EQ(y[0].shape, x[0].shape);
      places().insert(places().end(), {x[0].address, y[0].address});
      const auto* from = static_cast<const float*>(x[0].data());
      for (std::int64_t i = 0; i < x[0].shape[0]; ++i) {
        if (from[i] == 13) throw std::runtime_error("no thirteens");
        static_cast<float*>(y[0].data())[i] = 2 * from[i];
      }
    };
    register_external(twice);
    ExternalFunction both = noting("on_either", true);
    both.run_on_device = [](Devices x, Devices y, void*) {
      calls().push_back("on_device");
      std::copy_n(static_cast<const std::byte*>(x[0].data()), x[0].bytes,
                  static_cast<std::byte*>(y[0].data()));
    };
    register_external(both);
    return true;
  }();
  ASSERT_TRUE(done);
}

TEST_F(External, DeviceFunctionsGetThePlacesOfTheirOperands) {
  register_device_functions();
  const GraphValue x = builder.input("x", "f32", {builder.dim("N", 3)});
  builder.output("y", call("twice_on_device", {call("twice_on_device", {x})}));
  const CompiledGraph compiled = compile(builder.build(), "null", {.open_dims = {"N"}});
  for (const std::int64_t size : {3, 5}) {
    places().clear();
    Context context(compiled, std::map<std::string, std::int64_t>{{"N", size}});
    const std::vector<float> given = numbers(static_cast<std::size_t>(size));
    std::vector<float> expected, read(given.size());
    for (const float value : given) expected.push_back(4 * value);
    // Without copies, wherever the buffers lie.
    const DeviceBuffer in = DeviceBuffer("null", 64).slice(4, size * 4);
    const DeviceBuffer out = DeviceBuffer("null", 64).slice(12, size * 4);
    in.write(std::as_bytes(std::span(given)));
    context.run_device(std::vector{in}, std::vector{out});
    out.read(std::as_writable_bytes(std::span(read)));
    EXPECT_EQ(read, expected);
    ASSERT_EQ(places().size(), 4u);
    EXPECT_EQ(places()[0], in.address());
    EXPECT_EQ(places()[1], places()[2]);
    EXPECT_EQ(places()[3], out.address());
    // Other buffers, by replay, and timed.
    const std::vector inputs = {HostTensor::of<float>({size}, given)};
    for (int round = 0; round < 2; ++round) {
      const auto y = context.run(inputs);
      expect_near(y.at(0).as<float>(), expected);
    }
    EXPECT_GE(context.time(2), 0);
    context.time_kernels();
    EXPECT_EQ(places().size(), 4u * 6);
    EXPECT_NE(places()[4], in.address());
  }
}

TEST_F(External, WhatADeviceFunctionThrowsEndsTheRun) {
  register_device_functions();
  builder.output("y", call("twice_on_device", {builder.input("x", "f32", {2})}));
  Context context(compile(builder.build(), "null"));
  EXPECT_ERROR(context.run(std::vector{HostTensor::of<float>({2}, {1, 13})}),
               "the host's function 'twice_on_device': no thirteens");
  const auto y = context.run(std::vector{HostTensor::of<float>({2}, {1, 2})});
  expect_near(y.at(0).as<float>(), std::vector<float>{2, 4});
}

TEST_F(External, AFormForHostMemoryIsForDevicesWithoutStreams) {
  register_device_functions();
  builder.output("y", call("on_either", {builder.input("x", "f32", {2})}));
  const Graph graph = builder.build();
  const std::vector inputs = {HostTensor::of<float>({2}, {1, 2})};
  Context on_null(compile(graph, "null"));
  const auto y = on_null.run(inputs);
  expect_near(y.at(0).as<float>(), std::vector<float>{1, 2});
  EXPECT_EQ(calls(), std::vector<std::string>{"on_device"});
  run_reference(graph, inputs);
  EXPECT_EQ(calls().back(), "on_either");
  if (!testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  Context on_vulkan(compile(graph, "vulkan:0"));
  const auto z = on_vulkan.run(inputs);
  expect_near(z.at(0).as<float>(), std::vector<float>{1, 2});
  EXPECT_EQ(calls(), (std::vector<std::string>{"on_device", "on_either", "on_either"}));
}

TEST_F(External, AFormForDeviceMemoryAloneNeedsAStream) {
  register_device_functions();
  builder.output("y", call("twice_on_device", {builder.input("x", "f32", {2})}));
  const Graph graph = builder.build();
  EXPECT_ERROR(run_reference(graph, std::vector{HostTensor("f32", {2})}),
               "'twice_on_device': it runs on device memory alone");
  if (!testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  EXPECT_ERROR(compile(graph, "vulkan:0"),
               "'twice_on_device', which runs on device memory and on a stream alone; vulkan:0 has "
               "no stream for it");
}

TEST_F(External, AnUnknownFunctionIsNamedAtLoad) {
  const char* text = R"(tcc: 1
inputs: {x: {dtype: f32, shape: [3]}}
nodes:
  - {out: y, op: external, in: [x], function: subtrakt}
outputs: [y]
)";
  EXPECT_ERROR(Graph::from_yaml(text),
               "<yaml>:4: external: the host's function 'subtrakt' is not registered; did you mean "
               "'subtract'?");
  EXPECT_ERROR(builder.op("external", {builder.input("x", "f32", {3})}), "function");
}

TEST_F(External, WhatItTakesIsItsOwn) {
  const GraphValue x = builder.input("x", "f32", {3});
  EXPECT_ERROR(call("pair_columns", {x}), "pair_columns takes one matrix");
  EXPECT_ERROR(call("subtract", {}), "external: ");
  EXPECT_ERROR(call("f31_result", {x}), "'f31' is no dtype of a result");
  EXPECT_ERROR(call("no_result", {x}), "has no result");
}

TEST_F(External, IsWrittenAsYaml) {
  builder.output("y", call("pure", {builder.input("x", "f32", {3})}));
  const Graph graph = builder.build();
  EXPECT_NE(graph.to_yaml().find("op: external, in: [x], function: \"pure\""), std::string::npos)
      << graph.to_yaml();
  EXPECT_EQ(Graph::from_yaml(graph.to_yaml()).to_yaml(), graph.to_yaml());
}

TEST_F(External, FunctionsAreRegisteredOnceAndWhole) {
  EXPECT_ERROR(register_external(noting("pure", false)), "'pure' is registered already");
  EXPECT_ERROR(register_external(noting("", false)), "needs a name");
  EXPECT_ERROR(register_external(noting("two words", false)), "needs a name");
  ExternalFunction lacking = noting("lacking", false);
  lacking.run = nullptr;
  EXPECT_ERROR(register_external(lacking), "'lacking' lacks what it runs");
  lacking = noting("lacking", false);
  lacking.results = nullptr;
  EXPECT_ERROR(register_external(lacking), "'lacking' lacks the types of its results");
}

}  // namespace
}  // namespace tcc
