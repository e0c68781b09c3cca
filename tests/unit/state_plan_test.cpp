// States in the plan of memory: which kernels write a state's memory, and where a copy keeps the
// old values readable.
#include "scheduler/state_plan.h"

#include <gtest/gtest.h>

#include "backends/build_executable.h"
#include "backends/pipeline.h"
#include "ir/text.h"
#include "scheduler/memory_plan.h"
#include "scheduler/target_profile.h"

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
  EXPECT_LE(p.count_copies(), 2u);
  EXPECT_GE(p.count_copies(), 1u);
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
  for (const Lifetime& lifetime : lifetimes(*p.scheduled.graph, order, p.updates))
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

}  // namespace
}  // namespace tcc::sched
