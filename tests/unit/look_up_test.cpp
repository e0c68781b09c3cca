// Tests which record a kernel takes: the tiers, and the reasons given for refused records.
#include "autotune/records.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "support/error.h"
#include "tests/unit/records_fixture.h"

namespace tcc::autotune {
namespace {

class LookUpTest : public RecordsTest {
 protected:
  void SetUp() override {
    RecordsTest::SetUp();
    ::unsetenv("TCC_CONFIG_DIR");  // of the targets
    target_ = sched::target_by_name("cuda:sm_90a");
    schedule(64);
  }

  void schedule(int64_t size) {
    graph_ = parse_yaml_graph(str("tcc: 1\nname: g\ninputs: {x: {dtype: f32, shape: [", size,
                                  "]}}\nnodes: [{out: y, op: relu, in: [x]}]\noutputs: [y]\n"),
                              "g.yaml", ".");
    scheduled_ = backends::schedule(graph_, target_);
    ASSERT_EQ(scheduled_.regions.size(), 1u);
  }

  const sched::Region& region() const { return scheduled_.regions[0]; }
  const sched::Candidate& candidate() const { return scheduled_.regions[0].candidate(); }
  // The record is of this region, measured here, and has another config than the default.
  Record fitting() const {
    Record r = example_record("", 1e-6);
    sched::ConfigSpace space = candidate().space();
    sched::Family family = sched::family_of(region());
    r.key = key_of(candidate());
    r.family = family.key;
    r.extents = family.extents;
    r.operands = operands_text(region());
    r.environment = environment_of(space, target_);
    r.tcc = tcc_version();
    r.best = config_of_ratio(0, 1.1);
    return r;
  }

  // A config that is not the default and takes from `low` to `high` times its time, as the model
  // sees it.
  sched::Config config_of_ratio(double low, double high) const {
    const sched::Config standard = candidate().default_config();
    const sched::CostModel cost = candidate().cost_model();
    sched::Config found = standard;
    candidate().space().enumerate([&](const sched::Config& config) {
      const double ratio = cost(config) / cost(standard);
      if (config != standard && ratio >= low && ratio <= high) found = config;
      return found == standard;
    });
    EXPECT_NE(found, standard);
    return found;
  }

  Explanation explain(std::initializer_list<Record> records) const {
    RecordStore store = store_of(records);
    Explanation result = store.explain(candidate());
    sched::ConfigChoice choice = store.choose(candidate());
    EXPECT_EQ(choice.config, result.choice.config);
    EXPECT_EQ(choice.tier, result.choice.tier);
    EXPECT_EQ(result.record.has_value(), choice.tier != sched::Tier::analytic);
    return result;
  }
  sched::Tier tier(const Record& record) const { return explain({record}).choice.tier; }

  sched::Target target_;
  ir::Graph graph_;
  backends::Scheduled scheduled_;
};

TEST_F(LookUpTest, OfThisKernel) {
  Record r = fitting();
  Explanation exact = explain({r});
  EXPECT_EQ(exact.choice.tier, sched::Tier::exact);
  EXPECT_EQ(exact.choice.config, r.best);
  EXPECT_TRUE(exact.refused.empty());

  Record other = r;
  other.environment.space = "0";
  EXPECT_EQ(tier(other), sched::Tier::stale);
  other = r;
  other.tcc = "0.0.1";
  Explanation stale = explain({other});
  EXPECT_EQ(stale.choice.tier, sched::Tier::stale);
  ASSERT_EQ(stale.refused.size(), 1u);
  EXPECT_EQ(stale.refused[0],
            "exact: the record was measured with tcc '0.0.1', not '" + tcc_version() + "'");
}

TEST_F(LookUpTest, AnotherEnvironmentIsStale) {
  target_.device = "NVIDIA H200";
  target_.driver = "570.1";
  schedule(64);
  Record r = fitting();
  EXPECT_EQ(tier(r), sched::Tier::exact);
  r.environment.driver = "560.0";
  EXPECT_EQ(tier(r), sched::Tier::stale);
  r.environment.driver = "";
  EXPECT_EQ(tier(r), sched::Tier::exact);  // unknown is no difference
  r.environment.device = "NVIDIA H100";
  EXPECT_EQ(tier(r), sched::Tier::stale);
}

TEST_F(LookUpTest, WhatIsRefusedIsExplained) {
  Record r = fitting();
  r.key.version += 1;
  Explanation version = explain({r});
  EXPECT_EQ(version.choice.tier, sched::Tier::analytic);
  ASSERT_EQ(version.refused.size(), 4u);
  EXPECT_NE(version.refused[0].find("there is one of version 2 of the template, not 1"),
            std::string::npos)
      << version.refused[0];
  EXPECT_EQ(version.refused[2], "nearest: no record of a kernel that differs in sizes only");
  EXPECT_EQ(version.refused[3], "device: no record of this kernel on another cuda device");

  r = fitting();
  r.best.set("threads", 31);
  Explanation illegal = explain({r});
  EXPECT_EQ(illegal.choice.tier, sched::Tier::analytic);
  EXPECT_EQ(illegal.refused[0],
            "exact: the record's config is not legal: parameter 'threads' cannot be 31");
  EXPECT_EQ(illegal.choice.config, candidate().default_config());
}

TEST_F(LookUpTest, TheNearestShapeOfTheFamily) {
  schedule(4096);
  Record large = fitting();
  schedule(1 << 20);
  Record huge = fitting();
  schedule(8192);
  Explanation nearest = explain({large, huge});
  EXPECT_EQ(nearest.choice.tier, sched::Tier::nearest);
  EXPECT_EQ(nearest.record->key, large.key);
  EXPECT_EQ(nearest.refused.size(), 2u);

  Explanation far = explain({huge});
  EXPECT_EQ(far.choice.tier, sched::Tier::analytic);
  EXPECT_EQ(far.refused[2],
            "nearest: f32[1048576] -> f32[1048576] is 7.0 octaves away, more than 4.0 octaves");

  // A config that is not legal here leaves the next one its chance.
  Record illegal = large, next = large;
  illegal.best.set("threads", 31);
  next.key.region = std::string(32, '9');
  for (int64_t& extent : next.extents) extent = 2048;
  EXPECT_EQ(explain({illegal, next}).record->key, next.key);
  EXPECT_EQ(tier(illegal), sched::Tier::analytic);
}

// Records of rows whose length is a number do not say how many vectors open rows keep.
TEST_F(LookUpTest, RowsOfOpenLengthTakeRecordsOfNumbers) {
  const auto schedule_rows = [&](const ir::SizeRanges& open) {
    graph_ = parse_yaml_graph(
        "tcc: 1\nname: g\ndims: {S: 512}\ninputs: {x: {dtype: bf16, shape: [4096, S]}}\n"
        "nodes: [{out: y, op: softmax, in: [x], dim: -1}]\noutputs: [y]\n",
        "g.yaml", ".");
    backends::CompileOptions options;
    options.open_dims = open;
    scheduled_ = backends::schedule(graph_, target_, options);
  };
  schedule_rows({});
  Record number = fitting();
  number.best = candidate().default_config();
  schedule_rows({{"S", {264, 1024, 8}}});
  const Explanation found = explain({number});
  EXPECT_EQ(found.choice.tier, sched::Tier::nearest);
  sched::Config expected = number.best;
  expected.set("kept_vectors", 4);
  EXPECT_EQ(found.choice.config, expected);
}

TEST_F(LookUpTest, SizesThatDivideAsWellAreNearer) {
  schedule(4096);
  Record even = fitting();
  schedule(6400);
  Record other = fitting();
  // 6272 = 128 * 49 and 6400 are multiples of 64, 6001 is odd.
  schedule(6272);
  EXPECT_EQ(explain({even, other}).record->key, other.key);
  schedule(6001);
  Record odd = fitting();
  schedule(5003);
  EXPECT_EQ(explain({even, odd}).record->key, odd.key);
}

// A config that was best for other sizes may be bad for these: the model is asked.
TEST_F(LookUpTest, RelativesThatTheModelDoubtsDoNotServe) {
  schedule(1 << 23);
  Record r = fitting();
  schedule(1 << 24);
  EXPECT_EQ(tier(r), sched::Tier::nearest);
  // A little slower to the model: as much as it won where it was measured, and no more.
  r.best = config_of_ratio(1.01, 1.1);
  r.default_seconds = 1.12 * r.seconds;
  EXPECT_EQ(tier(r), sched::Tier::nearest);
  r.default_seconds = r.seconds;
  EXPECT_EQ(tier(r), sched::Tier::analytic);
  r.default_seconds = 1e3 * r.seconds;
  r.best = config_of_ratio(2, 1e9);
  const Explanation doubted = explain({r});
  EXPECT_EQ(doubted.choice.tier, sched::Tier::analytic);
  ASSERT_EQ(doubted.refused.size(), 4u);
  EXPECT_NE(doubted.refused[2].find("should take"), std::string::npos) << doubted.refused[2];
  schedule(1 << 23);
  EXPECT_EQ(tier(r), sched::Tier::exact) << "a measurement is not doubted";
}

TEST_F(LookUpTest, AnotherFamilyIsNoRelative) {
  schedule(4096);
  Record r = fitting();
  r.family = std::string(32, '1');
  schedule(8192);
  EXPECT_EQ(tier(r), sched::Tier::analytic);
  r = fitting();
  r.key.region = std::string(32, '1');
  r.extents.push_back(1);  // a file that lies
  EXPECT_EQ(tier(r), sched::Tier::analytic);
}

TEST_F(LookUpTest, TheMostSimilarDeviceOfTheApi) {
  Record a100 = fitting(), half = fitting(), vulkan = fitting();
  a100.key.device = "cuda:sm_80";
  a100.environment = environment_of({}, sched::target_by_name("cuda:sm_80"));
  EXPECT_EQ(tier(a100), sched::Tier::device);
  half.key.device = "cuda:sm_89";
  half.environment.capabilities["compute_units"] /= 12;
  EXPECT_EQ(explain({a100, half}).record->key.device, "cuda:sm_80");
  half.environment.capabilities["compute_units"] = 1;
  EXPECT_EQ(tier(half), sched::Tier::analytic);
  vulkan.key.device = "vulkan:nvidia:sg32";
  EXPECT_EQ(tier(vulkan), sched::Tier::analytic);
}

TEST_F(LookUpTest, ReplacedRecordsLeaveTheirFamily) {
  schedule(4096);
  Record r = fitting();
  schedule(8192);
  RecordStore store = store_of({r});
  Record elsewhere = r;
  elsewhere.family = std::string(32, '2');
  store.override_with(store_of({elsewhere}));
  EXPECT_EQ(store.choose(candidate()).tier, sched::Tier::analytic);
  store.override_with(store_of({r}));
  EXPECT_EQ(store.choose(candidate()).tier, sched::Tier::nearest);
  store.erase(r.key);
  EXPECT_EQ(store.choose(candidate()).tier, sched::Tier::analytic);
}

TEST_F(LookUpTest, OperandsNameTypes) {
  EXPECT_EQ(operands_text(region()), "f32[64] -> f32[64]");
  EXPECT_EQ(key_of(candidate()).region.size(), 32u);
}

}  // namespace
}  // namespace tcc::autotune
