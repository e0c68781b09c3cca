// Which reductions one walk of a row computes.
#include "scheduler/templates/reduction_plan.h"

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/candidate.h"

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

bool maxima_need_nan(const std::string& dtype, const std::string& nodes) {
  const ReductionPlan plan = planned(dtype, nodes);
  return std::ranges::all_of(plan.reductions, &ReductionPlan::Reduction::needs_nan);
}

// A NaN of a row is in the sum by which it divides.
TEST(ReductionPlan, MaximaOfSoftmaxNeedNoNan) {
  for (const char* dtype : {"f32", "bf16", "f16"})
    for (const char* op : {"softmax", "log_softmax", "logsumexp", "softmin"})
      for (const int dim : {0, 1})
        EXPECT_FALSE(maxima_need_nan(dtype, str("{out: y, op: ", op, ", in: [x], dim: ", dim, "}")))
            << dtype << " " << op << " " << dim;
  // The maximum is of values that are computed of x.
  EXPECT_FALSE(maxima_need_nan("f32",
                               "{out: a, op: relu, in: [x]}, {out: b, op: mul, in: [a, x]}, "
                               "{out: y, op: softmax, in: [b], dim: 1}"));
  // The exponentials are changed before and after they are added up.
  EXPECT_FALSE(maxima_need_nan("bf16",
                               "{out: s, op: softmax, in: [x], dim: 1}, "
                               "{out: t, op: mul, in: [s, x]}, {out: y, op: sqrt, in: [t]}"));
}

TEST(ReductionPlan, OtherMaximaNeedNan) {
  const std::string max = "{out: m, op: amax, in: [x], dim: 1, keepdim: true}, ",
                    terms = max + "{out: d, op: sub, in: [x, m]}, {out: e, op: exp, in: [d]}, ",
                    sum = "{out: s, op: sum, in: [e], dim: 1, keepdim: true}, ";
  // Its sum divides nothing, or nothing is added up.
  EXPECT_TRUE(maxima_need_nan("f32", max + "{out: y, op: sub, in: [x, m]}"));
  EXPECT_TRUE(maxima_need_nan("f32", terms + sum + "{out: y, op: add, in: [e, m]}"));
  EXPECT_FALSE(maxima_need_nan("f32", terms + sum + "{out: y, op: div, in: [e, s]}"));
  // A comparison hides the NaN of the sum, a selection that of the row.
  EXPECT_TRUE(maxima_need_nan("f32", terms + sum + "{out: y, op: gt, in: [e, s]}"));
  EXPECT_TRUE(maxima_need_nan("f32", terms + sum +
                                         "{out: g, op: gt, in: [s, 2]}, "
                                         "{out: y, op: where, in: [g, e, x]}"));
  EXPECT_TRUE(maxima_need_nan("f32", max +
                                         "{out: c, op: clamp, in: [x], min: -1, max: 1}, "
                                         "{out: g, op: gt, in: [x, 0]}, "
                                         "{out: z, op: where, in: [g, c, m]}, "
                                         "{out: e, op: exp, in: [z]}, " +
                                         sum + "{out: y, op: div, in: [e, s]}"));
  // The sum is not of the elements that the maximum is of.
  EXPECT_TRUE(maxima_need_nan("f32",
                              "{out: a, op: sign, in: [x]}, "
                              "{out: m, op: amax, in: [x], dim: 1, keepdim: true}, "
                              "{out: d, op: sub, in: [a, m]}, {out: e, op: exp, in: [d]}, " +
                                  sum + "{out: y, op: div, in: [e, s]}"));
  EXPECT_TRUE(maxima_need_nan("f64", "{out: y, op: softmax, in: [x], dim: 1}"));
}

TEST(ReductionPlan, AMaximumThatIsStoredNeedsNan) {
  const backends::Scheduled scheduled = backends::schedule(
      parse_yaml_graph("tcc: 1\nname: g\ninputs: {x: {dtype: f32, shape: [64, 640]}}\n"
                       "nodes: [{out: y, op: softmax, in: [x], dim: 1}, "
                       "{out: m, op: amax, in: [x], dim: 1, keepdim: true}]\noutputs: [y, m]\n",
                       "g.yaml", "."),
      target_by_name("vulkan"), {});
  for (const ScheduledRegion& region : scheduled.regions) {
    const OrRefusal<ReductionPlan> plan = plan_reduction(region.region());
    ASSERT_TRUE(plan);
    EXPECT_TRUE(std::ranges::any_of(plan->reductions, [](const auto& reduction) {
      return *reduction.node->op->reduction == ir::ReduceKind::max && reduction.needs_nan;
    }));
  }
}

// The region with a reduction of a graph in which convolutions want their channels innermost.
backends::Scheduled between_convolutions(const std::string& dtype, const std::string& nodes,
                                         const std::string& target) {
  return backends::schedule(
      parse_yaml_graph(
          "tcc: 1\nname: g\ninputs: {x: {dtype: " + dtype +
              ", shape: [2, 16, 12, 12]}}\n"
              "weights: {w: {dtype: " +
              dtype + ", shape: [64, 16, 3, 3], init: {normal: 0.1}}, u: {dtype: " + dtype +
              ", shape: [16, 64, 3, 3], init: {normal: 0.1}}, t: {dtype: " + dtype +
              ", shape: [16, 32, 3, 3], init: {normal: 0.1}}}\nnodes: [" +
              "{out: c, op: convolution, in: [x, w], padding: 1}, " + nodes + "]\noutputs: [y]\n",
          "g.yaml", "."),
      target_by_name(target), {});
}

const ScheduledRegion& with_reduction(const backends::Scheduled& scheduled) {
  const auto found = std::ranges::find_if(scheduled.regions, [](const Region& region) {
    return region.anchor && region.anchor->op->kind == ir::OpKind::reduce;
  });
  EXPECT_NE(found, scheduled.regions.end());
  return *found;
}

TEST(ReductionPlan, GroupsOfChannelsAreWalkedThroughInTheOrderOfMemory) {
  const auto scheduled = between_convolutions(
      "bf16",
      "{out: n, op: group_norm, in: [c], num_groups: 8}, {out: s, op: silu, in: [n]}, "
      "{out: y, op: convolution, in: [s, u], padding: 1}",
      "cuda:sm_90a");
  const ScheduledRegion& norm = with_reduction(scheduled);
  const OrRefusal<ReductionPlan> plan = plan_reduction(norm);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cols, 8 * 144);
  EXPECT_TRUE(plan->inner);
  EXPECT_EQ(plan->run, 8);
  ASSERT_EQ(plan->walk.size(), 2u);  // pixels, then channels
  EXPECT_EQ(plan->walk[1].extent, 8);
  EXPECT_EQ(plan->walk[1].step, 144);
  // Eight channels are a vector, which is loaded and stored whole.
  const Config& config = norm.candidate().default_config();
  EXPECT_EQ(config["vector"], 8);
  const std::string kernel = to_string(norm.candidate().lower(config).launches.at(0).kernel);
  EXPECT_NE(kernel.find("[0..8) = b0["), std::string::npos) << kernel;
  EXPECT_NE(kernel.find("..] = y[0..8)"), std::string::npos) << kernel;
}

TEST(ReductionPlan, NeighbouringChannelsAreRowsOfAVector) {
  const auto scheduled = between_convolutions(
      "f32",
      "{out: m, op: mean, in: [c], dim: [2, 3], keepdim: true}, {out: y, op: mul, in: [c, m]}",
      "cuda:sm_90a");
  const ScheduledRegion& mean = with_reduction(scheduled);
  const OrRefusal<ReductionPlan> plan = plan_reduction(mean);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->inner);
  EXPECT_EQ(plan->run, 64 * (mean.region().inputs[0]->shape()[0].is(1) ? 2 : 1));
  EXPECT_EQ(mean.candidate().default_config()["vector"], 4);
}

// Pixels are outermost there, and halves of the channels are summed.
TEST(ReductionPlan, RowsAreNumberedInTheOrderOfMemory) {
  const auto scheduled = between_convolutions(
      "bf16",
      "{out: v, op: reshape, in: [c], shape: [2, 2, 32, 12, 12]}, {out: s, op: sum, in: [v], dim: "
      "1}, {out: y, op: convolution, in: [s, t], padding: 1}",
      "cuda:sm_90a");
  const ScheduledRegion& sum = with_reduction(scheduled);
  const OrRefusal<ReductionPlan> plan = plan_reduction(sum);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->inner);
  EXPECT_EQ(plan->run, 32);
  EXPECT_EQ(plan->reductions[0].dims.kept, (std::vector<int>{0, 3, 4, 2}));
  const Config& config = sum.candidate().default_config();
  EXPECT_EQ(config["vector"], 8);
  const std::string kernel = to_string(sum.candidate().lower(config).launches.at(0).kernel);
  EXPECT_NE(kernel.find("[0..8) = b0["), std::string::npos) << kernel;
  EXPECT_NE(kernel.find("..] = y[0..8)"), std::string::npos) << kernel;
}

// Few neighbouring rows of many columns occupy a device by clusters.
TEST(ReductionPlan, ClustersShareNeighbouringRows) {
  const backends::Scheduled scheduled = backends::schedule(
      parse_yaml_graph("tcc: 1\nname: g\ninputs: {x: {dtype: bf16, shape: [12544, 64]}}\n"
                       "nodes: [{out: y, op: amax, in: [x], dim: 0}]\noutputs: [y]\n",
                       "g.yaml", "."),
      target_by_name("cuda:sm_90a"), {});
  ASSERT_EQ(scheduled.regions.size(), 1u);
  const Config& config = scheduled.regions[0].candidate().default_config();
  EXPECT_EQ(config["cluster"], 8);
  EXPECT_EQ(config["vector"], 8);
}

}  // namespace
}  // namespace tcc::sched
