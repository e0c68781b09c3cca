// Which reductions one walk of a row computes.
#include "scheduler/templates/reduction_plan.h"

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"

namespace tcc::sched {
namespace {

// Plans the only region of a graph of 64 x 640 elements.
ReductionPlan planned(const std::string& dtype, const std::string& nodes) {
  const backends::Scheduled scheduled = backends::schedule(
      parse_yaml_graph("tcc: 1\nname: g\ninputs: {x: {dtype: " + dtype +
                           ", shape: [64, 640]}}\nnodes: [" + nodes + "]\noutputs: [y]\n",
                       "g.yaml", "."),
      target_by_name("vulkan"), {});
  EXPECT_EQ(scheduled.regions.size(), 1u);
  OrRefusal<ReductionPlan> plan = plan_reduction(scheduled.regions.at(0).region());
  EXPECT_TRUE(plan);
  return *std::move(plan);
}

TEST(ReductionPlan, SoftmaxOfRowsIsOnline) {
  EXPECT_TRUE(planned("f32", "{out: y, op: softmax, in: [x], dim: 1}").online);
  EXPECT_TRUE(planned("bf16", "{out: y, op: softmax, in: [x], dim: 1}").online);
}

TEST(ReductionPlan, LogSoftmaxOfRowsIsOnline) {
  EXPECT_TRUE(planned("f32", "{out: y, op: log_softmax, in: [x], dim: 1}").online);
}

// Neighbouring threads have neighbouring columns of the tensor, each a row of its own.
TEST(ReductionPlan, ReductionsAcrossMemoryAreNotOnline) {
  EXPECT_FALSE(planned("f32", "{out: y, op: softmax, in: [x], dim: 0}").online);
}

TEST(ReductionPlan, OtherReductionsAreNotOnline) {
  EXPECT_FALSE(planned("f64", "{out: y, op: softmax, in: [x], dim: 1}").online);
  EXPECT_FALSE(planned("f32", "{out: y, op: var, in: [x], dim: 1}").online);
  EXPECT_FALSE(planned("f32",
                       "{out: m, op: amax, in: [x], dim: 1, keepdim: true}, "
                       "{out: d, op: sub, in: [x, m]}, {out: y, op: sum, in: [d], dim: 1}")
                   .online);
  // The exponents are not those of what the maximum is of.
  EXPECT_FALSE(planned("f32",
                       "{out: a, op: abs, in: [x]}, "
                       "{out: m, op: amax, in: [a], dim: 1, keepdim: true}, "
                       "{out: d, op: sub, in: [x, m]}, {out: e, op: exp, in: [d]}, "
                       "{out: y, op: sum, in: [e], dim: 1}")
                   .online);
}

}  // namespace
}  // namespace tcc::sched
