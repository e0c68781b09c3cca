// Decisions that span regions: which sites a graph has, what other choices make of it, and that the
// results stay right.
#include "scheduler/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "ir/reference/compare.h"
#include "runtime/device.h"
#include "support/error.h"
#include "tests/run_graph.h"

namespace tcc::sched {
namespace {

// Answers by a function, and keeps what it was asked.
class Answers : public PlanSource {
 public:
  using Answer = std::function<int64_t(const PlanSite&)>;
  explicit Answers(Answer answer) : answer_(std::move(answer)) {}
  int64_t choose(const PlanSite& site, const Target&) const override {
    asked.push_back(site);
    return answer_(site);
  }
  mutable std::vector<PlanSite> asked;

  const PlanSite* find(const std::string& kind) const {
    auto found = std::find_if(asked.begin(), asked.end(),
                              [&](const PlanSite& site) { return site.kind == kind; });
    return found == asked.end() ? nullptr : &*found;
  }

 private:
  Answer answer_;
};

int64_t default_of(const PlanSite& site) { return site.default_choice; }

// The largest alternative of `kind`, the defaults of the others.
Answers::Answer most(const std::string& kind) {
  return [kind](const PlanSite& site) {
    return site.kind == kind ? site.alternatives.back() : site.default_choice;
  };
}

ir::Graph graph_of(const std::string& inputs, const std::string& nodes) {
  return parse_yaml_graph(
      "tcc: 1\nname: g\ninputs: {" + inputs + "}\nnodes: [" + nodes + "]\noutputs: [y]\n", "g.yaml",
      ".");
}

ir::Graph long_matmul(const std::string& dtype, int64_t k = 4096) {
  return graph_of(str("x: {dtype: ", dtype, ", shape: [24, ", k, "]}, w: {dtype: ", dtype,
                      ", shape: [40, ", k, "]}, b: {dtype: ", dtype, ", shape: [40]}"),
                  "{out: h, op: linear, in: [x, w, b]}, {out: y, op: gelu, in: [h]}");
}

std::vector<std::string> region_names(const ir::Graph& graph, const Target& target,
                                      const PlanSource* plan) {
  backends::CompileOptions options;
  options.plan = plan;
  const backends::Scheduled scheduled = backends::schedule(graph, target, options);
  std::vector<std::string> names;
  for (const Region& region : scheduled.regions) names.push_back(region.name());
  return names;
}

TEST(PlanTest, ChoicesAreChecked) {
  const Target target;
  PlanSite site{"fuse", std::string(32, '0'), {0, 1}, 1, "a with b"};
  EXPECT_EQ(Plan().choose(site), 1);
  Answers zero([](const PlanSite&) { return 0; }), seven([](const PlanSite&) { return 7; });
  EXPECT_EQ(Plan(&zero, target).choose(site), 0);
  EXPECT_THROW(Plan(&seven, target).choose(site), InternalError);
  site.default_choice = 2;
  EXPECT_THROW(Plan().choose(site), InternalError);
  site.default_choice = 1;
  site.kind = "a_kind_that_prune_does_not_know";
  EXPECT_THROW(Plan().choose(site), InternalError);
}

TEST(PlanTest, DivisorsAmongCandidates) {
  EXPECT_EQ(divisors_among({64, 1, 4, 5, 4, 0}, 320, 2, 40), (std::vector<int64_t>{4, 5}));
}

TEST(PlanTest, KeysFollowTheSubgraphAndNotItsNames) {
  const Target target = target_by_name("cuda:sm_90a");
  auto key = [&](const ir::Graph& graph) {
    Answers answers(default_of);
    region_names(graph, target, &answers);
    return answers.find("split_k")->key;
  };
  const ir::Graph graph = long_matmul("f32");
  EXPECT_EQ(key(graph), key(long_matmul("f32")));
  EXPECT_NE(key(graph), key(long_matmul("bf16")));
  EXPECT_NE(key(graph), key(long_matmul("f32", 8192)));
  const std::string inputs =
      "a: {dtype: f32, shape: [24, 4096]}, b: {dtype: f32, shape: [40, 4096]}";
  const std::string before =
      "{out: u, op: relu, in: [a]}, {out: v, op: permute, in: [b], dims: [1, 0]},";
  const std::string from_view = key(graph_of(inputs, before + "{out: y, op: matmul, in: [a, v]}"));
  const std::string from_relu = key(graph_of(inputs, before + "{out: y, op: matmul, in: [u, v]}"));
  const std::string into_exp = key(
      graph_of(inputs, before + "{out: z, op: matmul, in: [a, v]}, {out: y, op: exp, in: [z]}"));
  EXPECT_NE(from_view, from_relu);
  EXPECT_NE(from_view, into_exp);
}

TEST(PlanTest, MatmulsOfLongSumsAndFewTilesAreSplit) {
  Target target = target_by_name("cuda:sm_80");
  // Kernels on matrix units split them themselves: within a cluster, or by scratch memory.
  for (const char* whole : {"cuda:sm_80", "cuda:sm_90a"})
    EXPECT_EQ(region_names(long_matmul("bf16"), target_by_name(whole), nullptr).size(), 1u);
  target.matrix_units.clear();
  Answers answers(default_of);
  const std::vector<std::string> names = region_names(long_matmul("bf16"), target, &answers);
  const PlanSite* site = answers.find("split_k");
  ASSERT_TRUE(site);
  EXPECT_EQ(site->alternatives, (std::vector<int64_t>{1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(site->default_choice, 8);  // parts of 512
  // The partial products, then their sum with the epilogue.
  ASSERT_EQ(names.size(), 2u) << testing::PrintToString(names);
  EXPECT_EQ(names[0], "matmul");
  EXPECT_EQ(names[1], "sum_add_gelu");
  Answers one([](const PlanSite& s) { return s.kind == "split_k" ? 1 : s.default_choice; });
  EXPECT_EQ(region_names(long_matmul("bf16"), target, &one).size(), 1u);
  // A full device, or a short sum: no site.
  for (const char* shape : {"[2048, 4096]", "[64, 128]"}) {
    Answers none(default_of);
    region_names(graph_of("x: {dtype: f32, shape: " + std::string(shape) + "}",
                          "{out: t, op: permute, in: [x], dims: [1, 0]},"
                          "{out: y, op: matmul, in: [x, t]}"),
                 target, &none);
    EXPECT_FALSE(none.find("split_k")) << shape;
  }
}

// By default, a product whose kernels split its sums themselves is not split in the graph.
TEST(PlanTest, KernelsThatSplitSumsAreLeftWhole) {
  struct Case {
    const char *target, *unit, *dtype;
    int64_t m, n, k;
    bool tf32, split;
  };
  const Case cases[] = {
      {"cuda:sm_90a", "wgmma", "bf16", 128, 64, 16384, false, false},
      {"cuda:sm_90a", "mma", "bf16", 128, 64, 16384, false, false},
      {"cuda:sm_90a", "wgmma", "f32", 128, 64, 16384, false, true},
      {"cuda:sm_90a", "wgmma", "f32", 128, 64, 16384, true, false},
      {"cuda:sm_90a", "wgmma", "bf16", 8, 8, 2048, false, false},    // gemv: eight rows
      {"cuda:sm_80", "mma", "bf16", 1, 1000, 2048, false, false},    // gemv, on all SMs
      {"cuda:sm_90a", "wgmma", "bf16", 1, 8, 1 << 16, false, true},  // gemv, on eight of them
  };
  for (const Case& c : cases) {
    Target target = target_by_name(c.target);
    target.matrix_units = exec::units_of_kinds(target.matrix_units, {c.unit});
    Answers answers(default_of);
    backends::CompileOptions options;
    options.plan = &answers;
    if (c.tf32) options.matmul_precision = backends::MatmulPrecision::high;
    const std::string type = str("{dtype: ", c.dtype, ", shape: [");
    const std::string text =
        str("x: ", type, c.m, ", ", c.k, "]}, w: ", type, c.n, ", ", c.k, "]}");
    SCOPED_TRACE(str(c.target, " ", c.unit, " ", text));
    backends::schedule(graph_of(text, "{out: y, op: linear, in: [x, w]}"), target, options);
    const PlanSite* site = answers.find("split_k");
    ASSERT_TRUE(site);
    EXPECT_EQ(site->default_choice > 1, c.split);
  }
}

// Half the bytes of what a small product mostly reads.
TEST(PlanTest, WeightsOfSplitMatmulsStayNarrow) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: g\ninputs: {x: {dtype: bf16, shape: [24, 4096]}}\n"
      "weights: {w: {dtype: bf16, shape: [40, 4096], init: {normal: 0.02}}}\n"
      "nodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n",
      "g.yaml", ".");
  Target target = target_by_name("cuda:sm_80");
  target.matrix_units.clear();  // whose kernels split it themselves
  const backends::Scheduled scheduled = backends::schedule(graph, target);
  ASSERT_EQ(scheduled.regions.size(), 2u);
  for (const ir::Value* input : scheduled.regions[0].region().inputs)
    EXPECT_EQ(input->dtype(), DType::bf16) << input->name;
}

TEST(PlanTest, ReductionsAreSplitAsFarAsRoundingAllows) {
  const Target target = target_by_name("cuda:sm_90a");
  const ir::Graph graph =
      graph_of("x: {dtype: f32, shape: [4, 1048576]}", "{out: y, op: sum, in: [x], dim: [1]}");
  Answers whole([](const PlanSite&site) { return site.alternatives.front(); }), cut(default_of);
  EXPECT_EQ(region_names(graph, target, &cut).size(), 2u);
  EXPECT_EQ(region_names(graph, target, &whole).size(), 1u);
  EXPECT_EQ(whole.find("split_reduction")->alternatives.front(), 1);
  // 16,777,216 elements of one row are more than 4096 accumulators may sum.
  const ir::Graph longer =
      graph_of("x: {dtype: f32, shape: [1, 16777216]}", "{out: y, op: sum, in: [x], dim: [1]}");
  Answers most_whole([](const PlanSite& site) { return site.alternatives.front(); });
  region_names(longer, target, &most_whole);
  EXPECT_GT(most_whole.find("split_reduction")->alternatives.front(), 1);
}

TEST(PlanTest, EachFusionCanBeRefused) {
  const Target target = target_by_name("cuda:sm_90a");
  const std::string x = "x: {dtype: f32, shape: [64, 512]}, w: {dtype: f32, shape: [512, 512]}";
  const ir::Graph graph =
      graph_of(x,
               "{out: a, op: relu, in: [x]}, {out: p, op: matmul, in: [a, w]},"
               "{out: g, op: gelu, in: [p]}, {out: y, op: softmax, in: [g], dim: -1}");
  Answers yes(default_of), no([](const PlanSite&site) { return site.kind != "fuse"; });
  const std::vector<std::string> fused = region_names(graph, target, &yes);
  EXPECT_LT(fused.size(), region_names(graph, target, &no).size());
  // One site after the other.
  std::set<std::string> keys;
  for (const PlanSite& site : yes.asked)
    if (site.kind == "fuse") keys.insert(site.key);
  EXPECT_GE(keys.size(), 4u);
  for (const std::string& key : keys) {
    Answers one([&](const PlanSite& s) { return s.key == key ? 0 : s.default_choice; });
    EXPECT_NE(region_names(graph, target, &one), fused) << key;
  }
  backends::CompileOptions options;
  options.fuse = false;
  options.plan = &yes;
  yes.asked.clear();
  backends::schedule(graph, target, options);
  EXPECT_FALSE(yes.find("fuse"));
}

// ---- results

class PlanOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    const auto devices = test::devices_present(test::Devices::software);
    if (devices.empty()) GTEST_SKIP() << "there is no software device";
    device_ = devices.front();
  }
  std::string difference(const ir::Graph& graph, const PlanSource& plan) {
    backends::CompileOptions options;
    options.plan = &plan;
    return test::difference(graph, device_, test::draw_inputs(graph, {}), options);
  }
  std::string device_;
};

TEST_F(PlanOnDevice, SplitMatmulsAgreeWithTheReference) {
  for (const char* dtype : {"f32", "bf16", "f16"}) {
    for (int64_t parts : {2, 8}) {
      Answers answers([&](const PlanSite& site) {
        return site.kind == "split_k" ? parts : site.default_choice;
      });
      EXPECT_EQ(difference(long_matmul(dtype, 2048), answers), "") << dtype << ", " << parts;
      EXPECT_TRUE(answers.find("split_k"));
    }
  }
}

TEST_F(PlanOnDevice, VectorsAndBatchesAreSplit) {
  struct Case {
    const char *a, *b;
  };
  for (const Case& c :
       {Case{"[2048]", "[2048]"}, Case{"[2048]", "[2048, 24]"}, Case{"[9, 2048]", "[2048]"},
        Case{"[2, 1, 5, 1024]", "[1024, 7]"}, Case{"[5, 1024]", "[2, 1024, 7]"}}) {
    Answers answers(most("split_k"));
    const ir::Graph graph =
        graph_of(str("a: {dtype: f32, shape: ", c.a, "}, b: {dtype: f32, shape: ", c.b, "}"),
                 "{out: y, op: matmul, in: [a, b]}");
    EXPECT_EQ(difference(graph, answers), "") << c.a << " " << c.b;
    EXPECT_TRUE(answers.find("split_k")) << c.a << " " << c.b;
  }
}

}  // namespace
}  // namespace tcc::sched
