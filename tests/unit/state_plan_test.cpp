// States in graphs, and in the plan of memory: which kernels write a state's memory, and where a
// copy keeps the old values readable.
#include "scheduler/state_plan.h"

#include <gtest/gtest.h>

#include "backends/build_executable.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "frontend/yaml/graph_writer.h"
#include "ir/passes/convert_precision.h"
#include "ir/passes/single_run.h"
#include "ir/reference/interpreter.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "scheduler/memory_plan.h"
#include "scheduler/target_profile.h"
#include "tests/expect_error.h"

namespace tcc::sched {
namespace {

using exec::BufferInfo;

struct Planned {
  backends::Scheduled scheduled;
  std::vector<ScheduledRegion> regions;
  std::vector<StateUpdate> updates;
  exec::Executable executable;

  size_t count_copies() const {
    return static_cast<size_t>(std::ranges::count_if(executable.steps, [](const exec::Step& step) {
      return std::holds_alternative<exec::Copy>(step);
    }));
  }
};

Planned plan(const std::string& text, bool fuse = true) {
  backends::CompileOptions options;
  options.binaries = false;
  options.fuse = fuse;
  const Target target = target_by_name("vulkan:nvidia");
  Planned planned;
  planned.scheduled = backends::schedule(ir::parse_graph(text), target, options);
  planned.regions = planned.scheduled.regions;
  planned.updates = plan_states(*planned.scheduled.graph, planned.regions);
  planned.executable = backends::build_executable(planned.scheduled, target, options);
  exec::check(planned.executable);
  return planned;
}

constexpr const char* kCounter = R"(graph @g {
  %s: f32[2] = state const [3, 4]
  %n: i32[] = state
  %one: i32[] = const 1
  %two: f32[] = const 2
  %m: i32[] = add(%n, %one)
  %n2: i32[] = assign(%n, %m)
  %t: f32[2] = mul(%s, %two)
  %s2: f32[2] = assign(%s, %t)
  return %n
}
)";

TEST(StateGraph, TextReadsBack) {
  const ir::Graph graph = ir::parse_graph(kCounter);
  ir::verify(graph);
  EXPECT_EQ(ir::print_graph(graph), kCounter);
  ASSERT_EQ(graph.states.size(), 2u);
  EXPECT_EQ(graph.states[0]->data->load()->get(1), 4);
  EXPECT_FALSE(graph.states[1]->data);
  EXPECT_ERROR(ir::parse_graph("graph @g { %x: f32[2] = input\n%y = assign(%x, %x)\nreturn %y }"),
               "'x' is no state");
  EXPECT_ERROR(ir::parse_graph("graph @g { %s: f32[2] = state\n%y = assign(%s, %s)\n"
                               "%z = assign(%s, %s)\nreturn %y }"),
               "state 's' is assigned twice");
}

TEST(StateGraph, NodesThatStoreAreAlive) {
  ir::Graph graph = ir::parse_graph(kCounter);
  graph.remove_dead();
  EXPECT_EQ(graph.nodes().size(), 4u);
  EXPECT_EQ(graph.clone().states.size(), 2u);
  EXPECT_NE(graph.clone().states[0], graph.states[0]);
}

TEST(StateGraph, TheInterpreterKeepsStates) {
  const ir::Graph graph = ir::parse_graph(kCounter).bind({});
  ir::RefStates states;
  ir::InterpretOptions options;
  options.states = &states;
  for (int run = 0; run < 3; ++run)
    EXPECT_EQ(ir::interpret(graph, {}, ir::RefMode::stepwise, options).at(0).i.at(0), run);
  EXPECT_EQ(states.at(graph.states[0]).f, (std::vector<double>{24, 32}));
  EXPECT_EQ(states.at(graph.states[1]).i.at(0), 3);
  EXPECT_EQ(ir::interpret(graph, {}, ir::RefMode::stepwise).at(0).i.at(0), 0);
  // The same by graphs without states.
  std::vector<ir::RefTensor> all;
  std::vector<Tensor> before;
  for (int run = 0; run < 3; ++run) {
    all = ir::interpret(ir::single_run(graph, before), {}, ir::RefMode::stepwise);
    ASSERT_EQ(all.size(), 3u);
    before = {ir::to_tensor(all[1]), ir::to_tensor(all[2])};
  }
  EXPECT_EQ(all[0].i.at(0), 2);
  EXPECT_EQ(all[1].f, (std::vector<double>{24, 32}));
  EXPECT_EQ(all[2].i.at(0), 3);
}

// Rows behind those that count are as at first, whichever run it is.
TEST(StateGraph, ASingleRunBeginsWithTheRowsThatCount) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\ndims: {P: 0}\ninputs: {x: {dtype: f32, shape: [2, 1]}}\n"
      "states: {s: {dtype: f32, shape: [2, 4], init: {constant: 7}}}\n"
      "nodes:\n  - {out: a, op: append, in: [s, x], dim: 1, length: P}\n"
      "outputs: [a]\n",
      "graph.yaml", ".");
  const ir::Graph bound = graph.bind({{"P", 2}});
  Tensor x(DType::f32, {2, 1}), before(DType::f32, {2, 2});
  for (int64_t i = 0; i < 4; ++i) before.set(i, static_cast<double>(i));
  x.set(0, 10);
  x.set(1, 20);
  const std::vector<ir::RefTensor> given = {ir::to_ref(x)};
  const auto results =
      ir::interpret(ir::single_run(bound, {&before, 1}), given, ir::RefMode::stepwise);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].f, (std::vector<double>{0, 1, 10, 7, 2, 3, 20, 7}));
  EXPECT_EQ(results[1].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(results[1].f, (std::vector<double>{0, 1, 10, 2, 3, 20}));
  const auto first = ir::interpret(ir::single_run(bound), given, ir::RefMode::stepwise);
  EXPECT_EQ(first[1].f, (std::vector<double>{7, 7, 10, 7, 7, 7, 20, 7}));
  EXPECT_THROW(ir::single_run(graph.bind({{"P", 1}}), {&before, 1}), InternalError);
}

TEST(StateGraph, PrecisionIsThatOfOtherValues) {
  const ir::Graph graph = ir::convert_precision(ir::parse_graph(kCounter).bind({}), DType::bf16);
  ir::verify(graph);
  EXPECT_EQ(graph.states.at(0)->dtype(), DType::bf16);
  EXPECT_EQ(graph.states[0]->data->load()->dtype(), DType::bf16);
  EXPECT_EQ(graph.states.at(1)->dtype(), DType::i32);
}

TEST(StateGraph, YamlIsWrittenAndReadBack) {
  const std::string yaml =
      "tcc: 1\ndims: {B: 3}\ninputs: {x: {dtype: f32, shape: [B]}}\n"
      "states: {s: {dtype: f32, shape: [B], init: {normal: 1}}, t: {dtype: f32, shape: [B]}}\n"
      "nodes:\n  - {out: y, op: add, in: [s, x]}\n  - {out: z, op: assign, in: [t, y]}\n"
      "outputs: [y, s]\n";
  const ir::Graph graph = parse_yaml_graph(yaml, "graph.yaml", ".");
  const auto folder = std::filesystem::temp_directory_path() / "tcc_states_test";
  write_yaml_graph(graph, folder);
  const ir::Graph back = load_graph(folder / "graph.yaml");
  std::filesystem::remove_all(folder);
  ASSERT_EQ(back.states.size(), 2u);
  EXPECT_EQ(back.states[0]->name, "s");
  const auto first = graph.bind({}), second = back.bind({});
  const TensorPtr a = first.states[0]->data->load(), b = second.states[0]->data->load();
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(a->get(i), b->get(i));
  EXPECT_NE(a->get(0), a->get(1));
  EXPECT_FALSE(second.states[1]->data);
  EXPECT_EQ(ir::interpret(second, {ir::RefTensor(DType::f32, {3})}, ir::RefMode::ideal).size(), 2u);
}

TEST(StatePlan, ACounterIsOneKernelInPlace) {
  const Planned p = plan(R"(graph @g {
    %s: f32[64, 100] = state
    %one: f32[] = const 1
    %t = add(%s, %one)
    %u = assign(%s, %t)
    %y = neg(%u)
    return %y
  })");
  ASSERT_EQ(p.updates.size(), 1u);
  EXPECT_TRUE(p.updates[0].is_direct);
  ASSERT_EQ(p.regions.size(), 1u);
  EXPECT_EQ(p.regions[0].region().in_place.size(), 1u);
  EXPECT_EQ(p.count_copies(), 0u);
  // The state's buffer and the output: nothing else.
  const exec::KernelLaunch& launch = *exec::launches(p.executable).at(0);
  ASSERT_EQ(launch.arguments.size(), 2u);
  EXPECT_EQ(std::get<exec::Address>(launch.arguments[0]).buffer, p.executable.states[0].buffer);
  EXPECT_EQ(p.executable.arena_bytes.value(), 0);
}

TEST(StatePlan, SeveralStatesAreUpdatedByOneKernel) {
  const Planned p = plan(R"(graph @g {
    %g: f32[4096] = input
    %w: f32[4096] = state
    %m: f32[4096] = state
    %a = add(%m, %g)
    %m2 = assign(%m, %a)
    %b = sub(%w, %m2)
    %w2 = assign(%w, %b)
    %y = sum(%g) {dim = [0]}
    return %y
  })");
  EXPECT_TRUE(p.updates.at(0).is_direct);
  EXPECT_TRUE(p.updates.at(1).is_direct);
  EXPECT_EQ(p.count_copies(), 0u);
}

TEST(StatePlan, OtherElementsAreReadBeforeACopy) {
  const Planned p = plan(R"(graph @g {
    %s: f32[4096] = state
    %t = flip(%s) {dims = [0]}
    %u = assign(%s, %t)
    %y = neg(%u)
    return %y
  })");
  ASSERT_EQ(p.updates.size(), 1u);
  EXPECT_FALSE(p.updates[0].is_direct);
  EXPECT_EQ(p.count_copies(), 1u);
  EXPECT_TRUE(std::holds_alternative<exec::Copy>(p.executable.steps.back()));
}

// The kernel of the old value's other reader comes first, whatever the order of the graph.
TEST(StatePlan, OtherReadersComeFirst) {
  const Planned p = plan(R"(graph @g {
    %s: f32[64, 64] = state
    %x: f32[64, 64] = input
    %u = assign(%s, %x)
    %y = matmul(%s, %x)
    return %y
  })",
                         false);
  EXPECT_TRUE(p.updates.at(0).is_direct);
  EXPECT_EQ(p.count_copies(), 0u);
  EXPECT_LT(p.regions[0].region().slot_of_output(p.updates[0].next), 0);
}

// The reader of the old value needs the new one.
TEST(StatePlan, AReaderThatComesLaterGetsACopy) {
  const Planned p = plan(R"(graph @g {
    %s: f32[64, 64] = state
    %x: f32[64, 64] = input
    %t = add(%s, %x)
    %u = assign(%s, %t)
    %y = matmul(%s, %u)
    return %y
  })",
                         false);
  EXPECT_FALSE(p.updates.at(0).is_direct);
  EXPECT_EQ(p.count_copies(), 1u);
}

// Each state's next value is the other's old one: one of them has to wait elsewhere.
TEST(StatePlan, StatesThatAreSwapped) {
  const Planned p = plan(R"(graph @g {
    %a: f32[512] = state
    %b: f32[512] = state
    %u = assign(%a, %b)
    %v = assign(%b, %a)
    return
  })",
                         false);
  EXPECT_EQ(p.count_copies(), 1u);
}

TEST(StatePlan, AnOutputIsCopiedToItsState) {
  const Planned p = plan(R"(graph @g {
    %s: f32[64] = state
    %x: f32[64] = input
    %t = add(%s, %x)
    %u = assign(%s, %t)
    return %u
  })");
  EXPECT_FALSE(p.updates.at(0).is_direct);
  EXPECT_EQ(p.count_copies(), 1u);
}

TEST(StatePlan, WhatIsCopiedLivesUntilTheEnd) {
  const Planned p = plan(R"(graph @g {
    %s: f32[4096] = state
    %t = flip(%s) {dims = [0]}
    %u = assign(%s, %t)
    %y = matmul(%u, %u)
    %z = exp(%y)
    return %z
  })",
                         false);
  std::vector<const Region*> order;
  for (const ScheduledRegion& region : p.regions) order.push_back(&region.region());
  bool found = false;
  for (const Lifetime& lifetime : lifetimes(*p.scheduled.graph, order, {}, p.updates))
    if (lifetime.value == p.updates.at(0).next) {
      found = true;
      EXPECT_EQ(lifetime.last, static_cast<int>(order.size()));
    }
  EXPECT_TRUE(found);
}

// A state with a first value that is not zero has a constant for it.
TEST(StatePlan, FirstValues) {
  const Planned p = plan(R"(graph @g {
    %a: f32[3] = state const [1, 2, 3]
    %b: f32[3] = state const 0
    %c: f32[3] = state
    %u = assign(%a, %b)
    %v = assign(%b, %c)
    return %v
  })");
  ASSERT_EQ(p.executable.states.size(), 3u);
  EXPECT_GE(p.executable.states[0].initial, 0);
  EXPECT_EQ(p.executable.states[1].initial, -1);
  EXPECT_EQ(p.executable.states[2].initial, -1);
}

// The rest of the state is neither read nor written.
TEST(StatePlan, AnAppendStoresItsRowsAlone) {
  const std::string text = R"(graph @g {
    %s: f32[2, 100, 8] = state
    %x: f32[2, 1, 8] = input
    %r = exp(%x)
    %a = append(%s, %r) {dim = 1, length = [7]}
    %n = slice(%a) {dim = 1, end = [8]}
    %y = sum(%n) {dim = [1]}
    return %y
  })";
  const Planned p = plan(text);
  EXPECT_EQ(p.count_copies(), 0u);
  ASSERT_EQ(p.updates.size(), 1u);
  EXPECT_TRUE(p.updates[0].is_direct);
  ASSERT_EQ(p.executable.kernels.size(), 2u);
  EXPECT_EQ(p.executable.kernels[0].region, "exp_append");
  EXPECT_EQ(p.executable.kernels[0].bytes, 2 * 16 * 4);
  const auto& launch = std::get<exec::KernelLaunch>(p.executable.steps[0]);
  ASSERT_EQ(launch.arguments.size(), 2u) << "the rows and the state";
  EXPECT_EQ(std::get<exec::Address>(launch.arguments[1]).buffer, p.executable.states[0].buffer);
  EXPECT_EQ(plan(text, false).count_copies(), 0u);
}

// An output is memory of its own.
TEST(StatePlan, WhatIsAppendedIsCopiedToAnOutput) {
  const Planned p = plan(R"(graph @g {
    %s: f32[100] = state
    %x: f32[2] = input
    %a = append(%s, %x) {length = [0]}
    return %a
  })");
  EXPECT_EQ(p.executable.kernels.size(), 2u);
  EXPECT_TRUE(p.updates[0].is_direct);
}

}  // namespace
}  // namespace tcc::sched
