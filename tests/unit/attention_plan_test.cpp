// The plan of an attention region, and why regions are none.
#include "scheduler/templates/attention_plan.h"

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/program.h"
#include "scheduler/template.h"
#include "tests/unit/attention_cases.h"

namespace tcc {
namespace {

using ir::SymInt;
using sched::AttentionPlan;
using sched::KeyRange;
using BatchAxis = sched::OperandView::BatchAxis;

// The graph outlives the plan.
struct Planned {
  backends::Scheduled scheduled;
  AttentionPlan plan;
};

Planned plan_of(const test::AttentionCase& c) {
  Planned planned = {
      backends::schedule(test::attention_graph(c), sched::target_by_name("vulkan:lavapipe"), {}),
      {}};
  for (const sched::ScheduledRegion& region : planned.scheduled.regions)
    if (region.candidate().kernel_template().name() == "attention") {
      planned.plan = *sched::plan_attention(region.region());
      return planned;
    }
  throw InternalError("no region of attention");
}

test::AttentionCase case_named(const std::string& name) {
  for (test::AttentionCase& c : test::attention_cases())
    if (c.name == name) return c;
  throw InternalError(name);
}

std::string text_of(const std::vector<BatchAxis>& axes) {
  std::string text;
  for (const BatchAxis& axis : axes)
    text +=
        str(text.empty() ? "" : ", ", axis.extent, " by ", axis.stride, " inside ", axis.inside);
  return text;
}

// [first, end), inside [first, end)
std::string keys_of(const AttentionPlan& plan, int64_t first, int64_t last) {
  const KeyRange range = plan.keys_of(0, first, last);
  return str(range.first, " ", range.end, " ", range.inside_first, " ", range.inside_end);
}

TEST(AttentionPlan, ReadsSlicesOfAProjection) {
  const AttentionPlan plan = plan_of(case_named("fused_projection_of_16_bits")).plan;
  EXPECT_EQ(plan.batch, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(plan.queries, 19);
  EXPECT_EQ(plan.keys, 19);
  int64_t offset = 0;
  for (const AttentionPlan::Operand* operand : {&plan.q, &plan.k, &plan.v}) {
    ASSERT_TRUE(operand->view);
    EXPECT_EQ(operand->view->offset, offset);
    EXPECT_EQ(operand->view->free_stride, 192);
    EXPECT_EQ(operand->view->k_stride, 1);
    EXPECT_EQ(text_of(operand->view->batch), "2 by 3648 inside 4, 4 by 16 inside 1");
    EXPECT_EQ(operand->dtype, DType::bf16);
    EXPECT_EQ(operand->vector, 8);
    EXPECT_TRUE(operand->is_copied());
    offset += 64;
  }
  EXPECT_TRUE(plan.is_scaled);
  EXPECT_NEAR(plan.scale, 0.25, 1e-7);
}

TEST(AttentionPlan, SharesHeads) {
  for (const char* name : {"f32_2x6o2x40x33x16x17", "repeated_heads"}) {
    const AttentionPlan plan = plan_of(case_named(name)).plan;
    EXPECT_EQ(plan.batch, (std::vector<int64_t>{2, 2, 3})) << name;
    const int64_t head = plan.keys * plan.k.depths;
    ASSERT_TRUE(plan.k.view);
    EXPECT_EQ(text_of(plan.k.view->batch), str("4 by ", head, " inside 3")) << name;
    ASSERT_TRUE(plan.q.view);
    EXPECT_EQ(text_of(plan.q.view->batch), str("12 by ", plan.queries * plan.q.depths, " inside 1"))
        << name;
  }
}

TEST(AttentionPlan, TakesTheHeadsOfAGroupAsQueriesOfOne) {
  const AttentionPlan plan = plan_of(case_named("f32_1x8o2x1x300x128x128")).plan;
  EXPECT_EQ(plan.batch, std::vector<int64_t>{2});
  EXPECT_EQ(plan.queries, 4);
  EXPECT_EQ(plan.q.view->free_stride, 128);
  EXPECT_EQ(plan.k.view->free_stride, 128);
}

TEST(AttentionPlan, GivesTheKeysThatATileSees) {
  const auto keys = [](const char* name, int64_t first, int64_t last) {
    return keys_of(plan_of(case_named(name)).plan, first, last);
  };
  EXPECT_EQ(keys("plain", 32, 47), "0 90 0 90");
  EXPECT_EQ(keys("causal_offset", 32, 47), "0 68 0 53");
  EXPECT_EQ(keys("window", 32, 47), "24 48 39 33");  // none is seen by all
  EXPECT_EQ(keys("window", 32, 35), "24 36 27 33");
  EXPECT_EQ(keys("prefix", 2, 5), "0 13 0 13");
  EXPECT_EQ(keys("prefix", 32, 47), "0 48 0 33");
  EXPECT_EQ(keys("not_before", 32, 47), "32 90 47 90");
  EXPECT_EQ(keys("additive_condition", 0, 15), "0 16 0 1");
  EXPECT_EQ(keys("masked_before_scale", 0, 15), "0 16 0 1");
  EXPECT_EQ(keys("documents", 0, 15), "0 90 0 0");
  EXPECT_EQ(keys("padding_mask", 0, 15), "0 90 0 90");  // hides by a number, which is a score
  EXPECT_NE(keys("lengths", 0, 15), "0 90 0 0");
}

// A value that is loaded for each query bounds the keys of one query, and those of several not at
// all.
TEST(AttentionPlan, GivesTheKeysThatAQuerySees) {
  for (const char* name :
       {"window_of_queries", "some_queries", "one_key_of_queries", "packed_150x140_causal"}) {
    const AttentionPlan plan = plan_of(case_named(name)).plan;
    EXPECT_TRUE(plan.bounds_of_queries) << name;
    const KeyRange range = plan.keys_of(0, SymInt::axis("q", plan.queries));
    EXPECT_FALSE(range.end.is_const()) << name;
    EXPECT_FALSE(range.inside_end.is_const()) << name;
    const std::string_view of = name;
    EXPECT_EQ(plan.bounds_are_all, of != "one_key_of_queries") << name;
  }
  for (const char* name :
       {"window", "prefix", "documents", "lengths", "plain", "key_lengths_causal"})
    EXPECT_FALSE(plan_of(case_named(name)).plan.bounds_of_queries) << name;
}

// Keys in pages are read in vectors.
TEST(AttentionPlan, ReadsPages) {
  const AttentionPlan plan = plan_of(case_named("paged_33x2o1x24by10_causal")).plan;
  EXPECT_TRUE(plan.q.view);
  EXPECT_FALSE(plan.k.view);
  EXPECT_EQ(plan.k.vector, 4);
  for (const AttentionPlan::Operand* operand : {&plan.k, &plan.v}) {
    ASSERT_TRUE(operand->rows_apart);
    EXPECT_EQ(operand->rows_apart->alignment, 16);
    EXPECT_FALSE(operand->rows_apart->begin.uses(operand->depth.as_atom()));
  }
  EXPECT_FALSE(plan.q.rows_apart);
  EXPECT_EQ(plan.sharing(), 2);
  EXPECT_EQ(plan_of(case_named("paged_40x2o2x18by1")).plan.k.rows_apart->alignment, 8);
}

// Ops that run once per score stand between the products, also where they take long. Those that
// make keys would run once per tile.
TEST(AttentionPlan, DrawsDropoutBetweenTheProducts) {
  const auto regions = [](const test::AttentionCase& c, const char* target) {
    return backends::schedule(test::attention_graph(c), sched::target_by_name(target), {})
        .regions.size();
  };
  const std::string of_weights =
      "  - {out: [a], op: scaled_dot_product_attention, in: [q, k, v], dropout_p: 0.2}\n";
  const std::string of_keys =
      "  - {out: d, op: dropout, in: [k], p: 0.2, training: true}\n"
      "  - {out: [a], op: scaled_dot_product_attention, in: [q, d, v]}\n";
  const std::string of_heads =  // the same of all heads, and drawn once
      "  - {out: kt, op: transpose, in: [k], dim0: -1, dim1: -2}\n"
      "  - {out: s, op: matmul, in: [q, kt]}\n  - {out: p, op: softmax, in: [s], dim: -1}\n"
      "  - {out: u, op: rand, size: [512, 512]}\n  - {out: m, op: lt, in: [u, 0.1]}\n"
      "  - {out: w, op: where, in: [m, 0.0, p]}\n  - {out: a, op: matmul, in: [w, v]}\n";
  for (const char* target : {"vulkan", "cuda:sm_80", "cuda:sm_90a"}) {
    const std::string in = test::attention_inputs({2, 8, 8, 512, 512, 64, 64},
                                                  target == std::string("vulkan") ? "f32" : "bf16");
    EXPECT_EQ(regions({"weights", in, of_weights}, target), 1U) << target;
    EXPECT_EQ(regions({"keys", in, of_keys}, target), 2U) << target;
    EXPECT_EQ(regions({"heads", in, of_heads}, target), 2U) << target;
  }
}

TEST(AttentionPlan, KnowsAScale) {
  const auto plan = [](const char* name) { return plan_of(case_named(name)).plan; };
  EXPECT_NEAR(plan("divided").scale, 1 / 3.0, 1e-6);
  EXPECT_TRUE(plan("masked_before_scale").is_scaled);
  EXPECT_NEAR(plan("masked_before_scale").scale, 0.3, 1e-6);
  for (const char* name : {"negative_scale", "soft_cap", "alibi", "scaled_operands"}) {
    EXPECT_FALSE(plan(name).is_scaled) << name;
    EXPECT_EQ(plan(name).scale, 1) << name;
  }
  // Factors of q and k are a part of the score.
  EXPECT_TRUE(plan("scaled_operands").q.view);
  EXPECT_TRUE(plan("scaled_operands").k.view);
}

// Why the graph has no kernel of attention.
std::string reason(const test::AttentionCase& c, backends::CompileOptions options = {}) {
  std::string reasons;
  options.explain_fusion = [&](const std::string& line) {
    const std::string words = "is not one kernel: ";
    const size_t at = line.find(words);
    if (at == line.npos) return;
    reasons += line.substr(line.find(": ", at + words.size()) + 2);  // behind its kind
  };
  const ir::Graph graph = test::attention_graph(c);
  for (const sched::ScheduledRegion& region :
       backends::schedule(graph, sched::target_by_name("vulkan"), options).regions)
    if (region.candidate().kernel_template().name() == "attention") return "one kernel";
  return reasons;
}

TEST(AttentionPlan, SaysWhyNot) {
  const std::string in = test::attention_inputs({});
  const std::string scaled = test::spelled_out("  - {out: x, op: mul, in: [s, 0.3]}\n");
  EXPECT_EQ(reason({"a", in, scaled}), "one kernel");
  const std::string elsewhere =
      "scores, weights, their maximum or their sum are read elsewhere, too";
  EXPECT_EQ(reason({"a", in, scaled, "[a, p]"}), elsewhere);
  EXPECT_EQ(reason({"a", in, scaled + "  - {out: m, op: amax, in: [x], dim: -1}\n", "[a, m]"}),
            elsewhere);
  EXPECT_EQ(reason({"a", test::attention_inputs({.depth = 257}), scaled}),
            "attention of depths 257 and 8, of which one is more than 256");
  EXPECT_EQ(reason({"a", test::attention_inputs({}, "f64"), scaled}), "matmul of f64");
  backends::CompileOptions strict;
  strict.strict_rounding = true;
  EXPECT_EQ(reason({"a", test::attention_inputs({}, "bf16"), scaled}, strict),
            "scores and weights must be rounded after every op");
  EXPECT_EQ(reason({"a", in, scaled}, strict), "one kernel");
  EXPECT_EQ(reason({"a", in,
                    "  - {out: kt, op: transpose, in: [k], dim0: -1, dim1: -2}\n"
                    "  - {out: s, op: matmul, in: [q, kt]}\n"
                    "  - {out: p, op: softmax, in: [s], dim: -1}\n"
                    "  - {out: w, op: mul, in: [p, p]}\n  - {out: a, op: matmul, in: [w, v]}\n"}),
            "the weights are no softmax, nor proportional to one");
  EXPECT_EQ(
      reason({"a", in + "  b: {dtype: f32, shape: [7, 7]}\n",
              test::spelled_out("  - {out: x0, op: mul, in: [s, 0.3]}\n"
                                "  - {out: l, op: logsumexp, in: [x0], dim: [-1], keepdim: true}\n"
                                "  - {out: x, op: sub, in: [x0, l]}\n")}),
      "4 reductions stand between the products, and a softmax has two");
  // A row of which softmax makes NaN may become zeros.
  const auto chosen = [&](const std::string& mask) {
    return reason({"a", in + "  m: {dtype: bool, shape: [" + mask + "]}\n",
                   "  - {out: kt, op: transpose, in: [k], dim0: -1, dim1: -2}\n"
                   "  - {out: s, op: matmul, in: [q, kt]}\n"
                   "  - {out: p, op: softmax, in: [s], dim: -1}\n"
                   "  - {out: w, op: where, in: [m, p, 0.0]}\n"
                   "  - {out: a, op: matmul, in: [w, v]}\n"});
  };
  EXPECT_EQ(chosen("5, 1"), "the weights are no softmax, nor proportional to one");
  EXPECT_EQ(chosen("5, 7"), "one kernel");
}

// Exponentials and their sum between two products that are no softmax there.
TEST(AttentionPlan, SaysWhatIsAlmostOne) {
  const std::string in = test::attention_inputs({});
  const auto of = [&](const std::string& weights, const std::string& rest = "") {
    return reason({"a", in,
                   "  - {out: kt, op: transpose, in: [k], dim0: -1, dim1: -2}\n"
                   "  - {out: s, op: matmul, in: [q, kt]}\n" +
                       weights + "  - {out: a0, op: matmul, in: [p, v]}\n" +
                       (rest.empty() ? "  - {out: a, op: neg, in: [a0]}\n" : rest)});
  };
  const std::string exponentials = "  - {out: e, op: exp, in: [s]}\n",
                    sum = "  - {out: t, op: sum, in: [e], dim: [-1], keepdim: true}\n",
                    less =
                        "  - {out: m, op: amax, in: [s], dim: [-1], keepdim: true}\n"
                        "  - {out: d, op: sub, in: [s, m]}\n"
                        "  - {out: e, op: exp, in: [d]}\n";
  EXPECT_EQ(of(exponentials + sum + "  - {out: p, op: div, in: [e, t]}\n"),
            "no maximum of the scores is subtracted before the exponentials, as softmax does");
  EXPECT_EQ(
      of(less + sum + "  - {out: p, op: abs, in: [e]}\n", "  - {out: a, op: div, in: [a0, t]}\n"),
      "the exponentials are divided by their sum (t) behind the second product, not before "
      "it");
  EXPECT_EQ(of(less + sum +
               "  - {out: w, op: div, in: [e, t]}\n  - {out: p, op: cumsum, in: [w], dim: -1}\n"),
            "cumsum (p) stands between the products, and is no op of elements, view or reduction");
  // No softmax at all, or none whose sum is taken.
  EXPECT_EQ(of("  - {out: p, op: sigmoid, in: [s]}\n"), "");
  EXPECT_EQ(of("  - {out: p, op: exp, in: [s]}\n"), "");
}

TEST(AttentionPlan, SaysWhatMatrixUnitsDoNotTake) {
  const Planned planned = plan_of(case_named("plain"));
  int asked = 0;
  for (const sched::ScheduledRegion& region : planned.scheduled.regions)
    for (const sched::Template* by : sched::templates()) {
      if (!by->name().starts_with("attention_sm")) continue;
      const sched::Match match = by->match(region.region(), sched::target_by_name("cuda:sm_90a"));
      ASSERT_FALSE(match);
      EXPECT_EQ(
          match.reason(),
          by->name() == "attention_sm80"
              ? "queries of f32, which matrix units read as tf32, with --matmul-precision high"
              : "queries of f32, and attention on these matrix units takes f16 and bf16 alone");
      ++asked;
    }
  EXPECT_EQ(asked, 2);
}

// Parts that others read first are no cycle: the values of the second attention are made of the
// log-sum-exp of the first, which the first one's own values are made of, too.
TEST(AttentionPlan, WaitsForNothingOfItsOwn) {
  const test::AttentionCase c = {
      "a", test::attention_inputs({}),
      "  - {out: kt, op: transpose, in: [k], dim0: -1, dim1: -2}\n"
      "  - {out: s, op: matmul, in: [q, kt]}\n"
      "  - {out: m, op: amax, in: [s], dim: [-1], keepdim: true}\n"
      "  - {out: d, op: sub, in: [s, m]}\n  - {out: e, op: exp, in: [d]}\n"
      "  - {out: t, op: sum, in: [e], dim: [-1], keepdim: true}\n"
      "  - {out: r, op: reciprocal, in: [t]}\n  - {out: p, op: mul, in: [e, r]}\n"
      "  - {out: lt, op: log, in: [t]}\n  - {out: l, op: add, in: [lt, m]}\n"
      "  - {out: whole, op: sum, in: [l]}\n  - {out: v1, op: mul, in: [v, whole]}\n"
      "  - {out: a, op: matmul, in: [p, v1]}\n"};
  EXPECT_EQ(reason(c), "what it reads waits for its results");
  for (const std::string& device : test::devices_present(test::Devices::software)) {
    const ir::Graph graph = test::attention_graph(c);
    EXPECT_EQ(test::difference(graph, device, test::draw_inputs(graph, {}), {}), "");
  }
}

}  // namespace
}  // namespace tcc
