// Calls of the host in the scheduler: their regions, their order and their steps.
#include <algorithm>

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "ir/external.h"
#include "ir/text.h"
#include "scheduler/target.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "tests/expect_error.h"

namespace tcc::sched {
namespace {

void register_functions() {
  static const bool done = [] {
    const auto same = [](std::span<const ir::Type> x) { return std::vector{x[0]}; };
    const auto nothing = [](std::span<const Tensor>, std::span<Tensor>) {};
    ir::register_external({"regions.pure", same, nothing, false});
    ir::register_external({"regions.effect", same, nothing, true});
    return true;
  }();
  (void)done;
}

// The large values make an order that saves memory differ from the graph's.
constexpr const char* kGraph = R"(
graph @calls {
  %x: f32[4096] = input
  %y: f32[4096, 64] = input
  %a: f32[4096, 64] = external(%y) {function = "regions.effect"}
  %b: f32[64, 4096] = transpose(%y) {dim0 = 0, dim1 = 1}
  %c: f32[64, 4096] = external(%b) {function = "regions.pure"}
  %d: f32[4096] = sum(%c) {dim = [0]}
  %e: f32[4096] = external(%x) {function = "regions.effect"}
  %f: f32[4096] = add(%e, %d)
  %g: f32[4096] = external(%f) {function = "regions.effect"}
  %s: f32[4096] = sum(%a) {dim = [1]}
  %r: f32[4096] = mul(%s, %f)
  return %r
}
)";

class ExternalRegions : public ::testing::Test {
 protected:
  void SetUp() override { register_functions(); }
};

TEST_F(ExternalRegions, AreOneNodeForOneTemplate) {
  for (const char* name : {"cuda:sm_90a", "cuda:sm_80", "vulkan:lavapipe"}) {
    const Target target = target_by_name(name);
    const backends::Scheduled scheduled = backends::schedule(ir::parse_graph(kGraph), target);
    int calls = 0;
    for (const ScheduledRegion& scheduled_region : scheduled.regions) {
      const Region& region = scheduled_region.region();
      const ir::Node* call = scheduled_region.candidate().host_call();
      const bool any = std::ranges::any_of(region.nodes, [](const ir::Node* node) {
        return node->op->kind == ir::OpKind::external;
      });
      EXPECT_EQ(any, call != nullptr) << region.name();
      if (!call) continue;
      ++calls;
      EXPECT_EQ(region.nodes.size(), 1u);
      for (const ir::Value* input : call->inputs) EXPECT_GE(region.slot_of_input(input), 0);
      for (const Template* one : templates())
        EXPECT_EQ(static_cast<bool>(one->match(region, target)), one->name() == "external")
            << one->name();
    }
    EXPECT_EQ(calls, 4);
  }
}

// Those with effects are in the order of the graph's nodes.
TEST_F(ExternalRegions, KeepTheOrderOfEffects) {
  const Target target = target_by_name("vulkan:lavapipe");
  for (const bool fuse : {true, false}) {
    backends::CompileOptions options;
    options.fuse = fuse;
    const backends::Scheduled scheduled =
        backends::schedule(ir::parse_graph(kGraph), target, options);
    std::vector<const ir::Node*> in_graph, in_regions;
    for (const auto& node : scheduled.graph->nodes())
      if (ir::has_effects(*node)) in_graph.push_back(node.get());
    for (const ScheduledRegion& region : scheduled.regions)
      if (const ir::Node* call = region.candidate().host_call(); call && ir::has_effects(*call))
        in_regions.push_back(call);
    EXPECT_EQ(in_graph.size(), 3u);
    EXPECT_EQ(in_regions, in_graph);
  }
}

TEST_F(ExternalRegions, BecomeStepsBetweenLaunches) {
  backends::CompileOptions options;
  options.binaries = false;
  const exec::Executable executable =
      backends::compile(ir::parse_graph(kGraph), target_by_name("vulkan:lavapipe"), options);
  exec::check(executable);
  size_t calls = 0;
  for (const exec::Step& step : executable.steps) {
    const auto* call = std::get_if<exec::HostCall>(&step);
    if (!call) continue;
    ++calls;
    ASSERT_EQ(call->reads.size(), 1u);
    ASSERT_EQ(call->writes.size(), 1u);
    for (const int number : {call->reads[0], call->writes[0]}) {
      const exec::BufferInfo& buffer = executable.buffers[static_cast<size_t>(number)];
      EXPECT_EQ(buffer.strides.back(), ir::SymInt(1)) << buffer.name;
    }
  }
  EXPECT_EQ(calls, 4u);
  EXPECT_EQ(exec::launches(executable).size(), executable.steps.size() - calls);
}

// A graph of text, too, names the function that is not there.
TEST_F(ExternalRegions, FunctionsAreKnownBeforeTheGraph) {
  EXPECT_ERROR(ir::parse_graph("graph @g {\n  %x: f32[2] = input\n  %y = external(%x) {function = "
                               "\"regions.pur\"}\n  return %y\n}\n"),
               "'regions.pur' is not registered; did you mean 'regions.pure'?");
}

}  // namespace
}  // namespace tcc::sched
