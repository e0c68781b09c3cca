// Plan records: order, merging, files that may be hostile; and the search, on times by a formula.
#include "autotune/plan_search.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "autotune/plan_records.h"
#include "autotune/plan_sites.h"
#include "autotune/record_file.h"
#include "frontend/graph_file.h"
#include "support/error.h"
#include "support/file.h"
#include "tools/tune/plan_table.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;

std::string digits(char digit) { return std::string(32, digit); }

PlanRecord example(char site, int64_t choice, const std::string& date = "2026-11-21") {
  PlanRecord record;
  record.key = {"cuda:sm_90a", "split_k", digits(site)};
  record.description = "matmul of \"24\" x 40";
  record.choice = choice;
  record.default_choice = 1;
  record.seconds = {{1, 2e-5}, {2, 1.5e-5}, {4, 1e-5}};
  record.measured_on = "NVIDIA H200";
  record.driver = "580.1";
  record.tcc = "0.1.0";
  record.date = date;
  return record;
}

PlanStore store_of(std::initializer_list<PlanRecord> records) {
  PlanStore store;
  for (const PlanRecord& record : records) store.add(record);
  return store;
}

std::string text_of(const PlanStore& store) {
  std::vector<const PlanRecord*> list;
  for (const auto& [key, record] : store.records()) list.push_back(&record);
  return plan_file_text(list);
}

class PlanRecordsTest : public testing::Test {
 protected:
  PlanStore parse(const std::string& text) {
    warnings_.clear();
    PlanStore store;
    read_plan_text(text, "a.plan.yaml", store,
                   [&](const std::string& warning) { warnings_.push_back(warning); });
    return store;
  }
  std::vector<std::string> warnings_;
};

TEST_F(PlanRecordsTest, TextReadsBack) {
  const PlanStore store = store_of({example('a', 4), example('b', 1, "")});
  const PlanStore again = parse(text_of(store));
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
  EXPECT_EQ(again.records(), store.records());
}

TEST_F(PlanRecordsTest, ChoicesThatAreNoLongerThereAreNotTaken) {
  const PlanStore store = store_of({example('a', 4)});
  sched::Target target = sched::target_by_name("cuda:sm_90a");
  sched::PlanSite site{"split_k", digits('a'), {1, 2, 4}, 1, ""};
  EXPECT_EQ(store.choose(site, target), 4);
  site.alternatives = {1, 2};
  EXPECT_EQ(store.choose(site, target), 1);
  site = {"split_k", digits('b'), {1, 2, 4}, 2, ""};
  EXPECT_EQ(store.choose(site, target), 2);
  site = {"fuse", digits('a'), {1, 4}, 1, ""};
  EXPECT_EQ(store.choose(site, target), 1);
  site = {"split_k", digits('a'), {1, 4}, 1, ""};
  EXPECT_EQ(store.choose(site, sched::target_by_name("cuda:sm_80")), 1);
}

TEST_F(PlanRecordsTest, MergingIsAJoin) {
  // All of one key: any two are ordered, and only equal ones are equivalent.
  std::vector<PlanRecord> all = {example('a', 1), example('a', 2), example('a', 4),
                                 example('a', 1, "2026-12-01"), example('a', 4, "")};
  all.push_back(all[0]);
  all.back().driver = "581";
  all.push_back(all[0]);
  all.back().seconds.clear();
  EXPECT_TRUE(preferred(all[3], all[2]));  // newer
  EXPECT_TRUE(preferred(all[2], all[1]));  // gains more
  for (const PlanRecord& a : all)
    for (const PlanRecord& b : all) {
      EXPECT_EQ(preferred(a, b) || preferred(b, a), a != b);
      EXPECT_FALSE(preferred(a, b) && preferred(b, a));
      PlanStore ab = store_of({a}), ba = store_of({b});
      ab.merge(store_of({b}));
      ba.merge(store_of({a}));
      EXPECT_EQ(ab.records(), ba.records());
      PlanStore twice = ab;
      twice.merge(ab);
      EXPECT_EQ(twice.records(), ab.records());
      for (const PlanRecord& c : all) {
        PlanStore left = ab, right = store_of({b});
        left.merge(store_of({c}));
        right.merge(store_of({c}));
        right.merge(store_of({a}));
        EXPECT_EQ(left.records(), right.records());
      }
    }
}

TEST_F(PlanRecordsTest, HostileFilesAreSkippedWithFileAndLine) {
  const std::string good = text_of(store_of({example('a', 4), example('b', 2)}));
  auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  struct Case {
    std::string text;
    size_t kept;  // records
    std::string warning;
  };
  const std::vector<Case> cases = {
      {"", 0, "a.plan.yaml"},
      {"[1, 2]", 0, "is no plan file"},
      {std::string("\0\xff\x01", 3), 0, "a.plan.yaml"},
      {"tcc_tuning: 3\n", 0, "is no plan file"},
      {replaced("tcc_plan: 2", "tcc_plan: 3"), 0, "only schema 2"},
      {replaced("tcc_plan: 2", "tcc_plan: one"), 0, "a.plan.yaml:4"},
      {replaced("\"cuda:sm_90a\"", "\"../../etc\""), 0, "letters, digits"},
      {replaced("plans:", "plan:"), 0, "plan"},
      {replaced("plans:\n", "plans: 7\nmore:\n"), 0, "a.plan.yaml"},
      {replaced("site: split_k", "site: \"a b\""), 1, "letters, digits"},
      {replaced("site: split_k", "kind: split_k"), 1, "unknown key 'kind'"},
      {replaced(digits('a'), "abc"), 1, "32 hexadecimal"},
      {replaced(digits('a'), digits('A')), 1, "32 hexadecimal"},
      {replaced("choice: 4", "choice: -4"), 1, "not in [0"},
      {replaced("choice: 4", "choice: 4.5"), 1, "a.plan.yaml:10"},
      {replaced("choice: 4", "choice: 99999999999999999999"), 1, "a.plan.yaml:10"},
      {replaced("default: 1", "default: [1]"), 1, "default"},
      {replaced("{1: ", "{-1: "), 1, "is no alternative"},
      {replaced("{1: ", "{x: "), 1, "is no alternative"},
      {replaced("{1: ", "{2: "), 1, "a.plan.yaml:12"},
      {replaced("{1: 2.0e-05", "{1: .nan"), 1, "a.plan.yaml:12"},
      {replaced("{1: 2.0e-05", "{1: -1.0"), 1, "is not in"},
      {replaced("{1: 2.0e-05", "{1: 1.0e+300"), 1, "is not in"},
      {replaced("2026-11-21", "yesterday"), 1, "YYYY-MM-DD"},
      {replaced("2026-11-21", std::string(2000, '1')), 1, "longer than"},
      {replaced(digits('b'), digits('a')), 1, "a second plan of this site"},
  };
  for (const Case& c : cases) {
    const PlanStore store = parse(c.text);
    EXPECT_EQ(store.records().size(), c.kept) << c.text;
    ASSERT_FALSE(warnings_.empty()) << c.text;
    EXPECT_NE(warnings_[0].find(c.warning), std::string::npos) << warnings_[0];
    EXPECT_EQ(warnings_[0].rfind("a.plan.yaml", 0), 0u) << warnings_[0];
  }
  // Cut anywhere: never more than there was, never another choice.
  for (size_t size = 0; size < good.size(); ++size) {
    const PlanStore store = parse(good.substr(0, size));
    for (const auto& [key, record] : store.records())
      EXPECT_TRUE(record.choice == 4 || record.choice == 2) << size;
  }
}

TEST_F(PlanRecordsTest, FilesStandBesideThoseOfKernels) {
  const fs::path folder = fs::path(testing::TempDir()) / "tcc_plan_records";
  fs::remove_all(folder);
  fs::create_directories(folder / "none");
  ::setenv("TCC_CONFIG_DIR", (folder / "none").c_str(), 1);
  auto warn = [&](const std::string& warning) { warnings_.push_back(warning); };
  const auto files = save_plans(store_of({example('a', 4)}), folder);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].filename(), "cuda-sm_90a.plan.yaml");
  EXPECT_EQ(load_plans({folder}, warn).records(), store_of({example('a', 4)}).records());
  EXPECT_EQ(load_plans({files[0]}, warn).records().size(), 1u);
  // The readers of kernels' records leave them alone.
  EXPECT_TRUE(load_records({folder}, warn).records().empty());
  EXPECT_TRUE(load_records({files[0]}, warn).records().empty());
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
  // The same choice on another day changes nothing; another choice does.
  save_plans(store_of({example('a', 4, "2026-12-01")}), folder);
  EXPECT_EQ(load_plans({folder}, warn).records().begin()->second.date, "2026-11-21");
  save_plans(store_of({example('a', 2, "2026-12-01")}), folder);
  EXPECT_EQ(load_plans({folder}, warn).records().begin()->second.choice, 2);
  save_plans(store_of({example('a', 4, "2026-11-30"), example('b', 1)}), folder, Saving::merge);
  EXPECT_EQ(load_plans({folder}, warn).records().begin()->second.choice, 2);
  EXPECT_EQ(load_plans({folder}, warn).records().size(), 2u);
  fs::remove_all(folder);
  ::unsetenv("TCC_CONFIG_DIR");
}

// ---- the search

ir::Graph long_matmul() {
  return parse_yaml_graph(
      "tcc: 1\nname: g\n"
      "inputs: {x: {dtype: f32, shape: [24, 4096]}, w: {dtype: f32, shape: [40, 4096]}}\n"
      "nodes: [{out: h, op: linear, in: [x, w]}, {out: y, op: gelu, in: [h]}]\noutputs: [y]\n",
      "g.yaml", ".");
}

class PlanSearchTest : public testing::Test {
 protected:
  using Seconds = std::function<double(const sched::Region&)>;
  using Deadline = std::chrono::steady_clock::time_point;

  // `seconds` gives the seconds of a region; 0: it cannot be measured, -1: the budget did not reach
  // so far.
  PlanSearchResult search(const Seconds& seconds, double spread = 0.01) {
    const ir::Graph graph = long_matmul();
    const ScheduleByPlan schedule = [&](const sched::PlanSource& plan) {
      backends::CompileOptions compile;
      compile.plan = &plan;
      std::vector<backends::Scheduled> graphs;
      graphs.push_back(backends::schedule(graph, target_, compile));
      return graphs;
    };
    std::set<RecordKey> out_of_budget;  // of today's plan: they may be tuned again
    const TuneKernels tune = [&](std::span<const TuningTask> tasks, Deadline deadline) {
      deadlines_.push_back(deadline);
      TunedKernels tuned;
      for (const TuningTask& task : tasks) {
        EXPECT_TRUE(tuned_.insert(task.key).second || out_of_budget.contains(task.key))
            << "tuned twice: " << task.candidate->region().name();
        const double time = seconds(task.candidate->region());
        if (time < 0) tuned.out_of_budget.insert(task.key);
        if (time < 0) out_of_budget.insert(task.key);
        if (time <= 0) continue;
        Record record;
        record.key = task.key;
        record.seconds = time;
        record.low = time * (1 - spread);
        record.high = time * (1 + spread);
        tuned.records.add(record);
      }
      return tuned;
    };
    const ConfirmKernels confirm = [&](std::span<const TuningTask> tasks,
                                       const RecordStore& records) {
      RecordStore again;
      for (const TuningTask& task : tasks) {
        Record record = records.records().at(task.key);
        const double time = confirmed_ ? confirmed_(task.candidate->region()) : record.seconds;
        record.low *= time / record.seconds;
        record.high *= time / record.seconds;
        record.seconds = time;
        again.add(record);
      }
      return again;
    };
    return search_plans(schedule, tune, confirm, target_, options_);
  }

  // Parts of K of a region, 0 where it is no matmul.
  static int64_t parts(const sched::Region& region) {
    if (!region.anchor || region.anchor->op_name() != "matmul") return 0;
    return 4096 / ir::const_shape(*region.anchor->inputs[0]).back();
  }

  static const PlanComparison* find(const PlanSearchResult& result, const std::string& kind) {
    for (const PlanComparison& comparison : result.comparisons)
      if (comparison.site.kind == kind) return &comparison;
    return nullptr;
  }

  sched::Target target_ = sched::target_by_name("cuda:sm_90a");
  PlanSearchOptions options_;
  Seconds confirmed_;  // when measured side by side; empty: the same times again
  std::set<RecordKey> tuned_;
  std::vector<Deadline> deadlines_;  // of what was tuned
};

TEST_F(PlanSearchTest, TheFastestAlternativeIsRecordedAndUsed) {
  // Four parts are best.
  const PlanSearchResult result = search([](const sched::Region& region) {
    const int64_t count = parts(region);
    return count == 0 ? 2e-6 : count == 4 ? 10e-6 : 40e-6;
  });
  const PlanComparison* split = find(result, "split_k");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->choice, 4);
  EXPECT_EQ(split->site.default_choice, 8);
  EXPECT_EQ(split->alternatives.size(), 6u);
  EXPECT_LT(result.best_seconds, result.today_seconds);
  EXPECT_EQ(result.kernels.records().size(), tuned_.size());
  EXPECT_EQ(result.plans.choose(split->site, target_), 4);

  backends::CompileOptions compile;
  compile.plan = &result.plans;
  const ir::Graph graph = long_matmul();
  const backends::Scheduled scheduled = backends::schedule(graph, target_, compile);
  EXPECT_EQ(parts(scheduled.regions.at(0)), 4);
}

TEST_F(PlanSearchTest, FusionIsRefusedWhereThatIsFaster) {
  const PlanSearchResult result = search([](const sched::Region& region) {
    return region.name() == "sum_gelu" || region.name() == "matmul_gelu" ? 100e-6 : 5e-6;
  });
  const PlanComparison* fuse = find(result, "fuse");
  ASSERT_TRUE(fuse);
  EXPECT_EQ(fuse->choice, 0);
}

TEST_F(PlanSearchTest, ALargeGainReplacesTheDefaultAndAChanceOneDoesNot) {
  const Seconds slightly = [](const sched::Region& region) {
    return parts(region) == 1 ? 100e-6 : parts(region) == 4 ? 9.7e-6 : 10e-6;
  };
  options_.launch_seconds = 0;
  EXPECT_EQ(find(search(slightly, 0.05), "split_k")->choice, 8);
  tuned_.clear();
  EXPECT_EQ(find(search(slightly, 0.001), "split_k")->choice, 4);
}

TEST_F(PlanSearchTest, AGainThatDoesNotLastIsNone) {
  confirmed_ = [](const sched::Region&) { return 10e-6; };
  const PlanSearchResult result = search([](const sched::Region& region) {
    return parts(region) == 1 ? 100e-6 : parts(region) == 4 ? 5e-6 : 10e-6;
  });
  const PlanComparison* split = find(result, "split_k");
  EXPECT_EQ(split->choice, 8);
  EXPECT_EQ(split->alternatives.at(2).choice, 4);
  EXPECT_NEAR(split->alternatives.at(2).seconds, split->alternatives.at(3).seconds, 1e-9);
}

TEST_F(PlanSearchTest, WhatCannotBeMeasuredDoesNotWin) {
  const PlanSearchResult result = search([](const sched::Region& region) {
    const int64_t count = parts(region);
    return count == 4 ? 0.0 : count == 2 ? 1e-6 : count == 1 ? 100e-6 : 10e-6;
  });
  const PlanComparison* split = find(result, "split_k");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->choice, 2);
  for (const PlanAlternative& alternative : split->alternatives)
    EXPECT_EQ(alternative.failure.empty(), alternative.choice != 4);
  // If the default cannot be measured, nothing is chosen.
  tuned_.clear();
  EXPECT_TRUE(search([](const sched::Region&) { return 0.0; }).comparisons.empty());
}

TEST_F(PlanSearchTest, WhatTheBudgetLeftOutIsNoFailureAndDecidesNothing) {
  const auto with_times = [&](double of_4, double of_default) {
    tuned_.clear();
    return search([=](const sched::Region& region) {
      const int64_t count = parts(region);
      if (count == 0) return 2e-6;
      return count == 4 ? of_4 : count == 8 ? of_default : count == 2 ? -1.0 : 500e-6;
    });
  };
  // The default is faster than what was measured, but not everything was.
  const PlanSearchResult undecided = with_times(100e-6, 10e-6);
  const PlanComparison* split = find(undecided, "split_k");
  ASSERT_TRUE(split);
  EXPECT_FALSE(split->is_decided);
  EXPECT_EQ(split->choice, 8);
  EXPECT_TRUE(undecided.out_of_time);
  for (const auto& [key, record] : undecided.plans.records()) EXPECT_NE(key.kind, "split_k");
  for (const PlanAlternative& alternative : split->alternatives) {
    EXPECT_EQ(alternative.out_of_budget, alternative.choice == 2);
    EXPECT_EQ(alternative.failure == "not measured: out of budget", alternative.choice == 2);
  }
  const std::string line = tools::comparison_text(*split);
  EXPECT_NE(line.find(", 2 not measured: out of budget,"), std::string::npos) << line;
  EXPECT_NE(line.find("-> 8 (default; undecided)"), std::string::npos) << line;
  EXPECT_EQ(line.find("failed"), std::string::npos) << line;
  // One that was measured faster than the default is a decision.
  const PlanSearchResult decided = with_times(1e-6, 10e-6);
  split = find(decided, "split_k");
  ASSERT_TRUE(split);
  EXPECT_TRUE(split->is_decided);
  EXPECT_EQ(decided.plans.choose(split->site, target_), 4);
  EXPECT_TRUE(decided.out_of_time);
  // The default itself was left out.
  const PlanSearchResult none = with_times(1e-6, -1.0);
  EXPECT_TRUE(none.out_of_time);
  EXPECT_FALSE(find(none, "split_k"));
  EXPECT_EQ(none.today_seconds, 0);
}

TEST_F(PlanSearchTest, KnownKernelsAreNotTunedAgain) {
  const Seconds seconds = [](const sched::Region&) { return 1e-5; };
  const RecordStore found = search(seconds).kernels;
  RecordStore known;
  const ir::Graph graph = long_matmul();
  std::vector<backends::Scheduled> graphs;
  graphs.push_back(backends::schedule(graph, target_));
  for (const TuningTask& task : tuning_tasks(graphs)) {
    Record record = found.records().at(task.key);
    record.best = task.candidate->default_config();
    record.environment = environment_of(task.candidate->space(), target_);
    record.tcc = tcc_version();
    known.add(record);
  }
  const size_t all = tuned_.size();
  tuned_.clear();
  options_.known = &known;
  search(seconds);
  EXPECT_EQ(tuned_.size() + known.records().size(), all);
}

// An alternative must win against the plan that is in use, not against the default.
TEST_F(PlanSearchTest, WhatLosesToTodaysPlanIsNotSaved) {
  PlanStore in_use;
  const Seconds seconds = [](const sched::Region& region) {
    const int64_t count = parts(region);
    return count == 0 ? 2e-6 : count == 4 ? 10e-6 : count == 2 ? 15e-6 : 40e-6;
  };
  const PlanSearchResult first = search(seconds);
  ASSERT_EQ(find(first, "split_k")->choice, 4);
  for (const auto& [key, record] : first.plans.records())
    if (key.kind == "split_k") in_use.put(record);
  options_.in_use = &in_use;
  tuned_.clear();
  const PlanSearchResult again = search(seconds);
  const PlanComparison* split = find(again, "split_k");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->today, 4);
  EXPECT_EQ(split->choice, 4) << "2 beats the default, and loses to what is in use";
  EXPECT_EQ(again.plans.choose(split->site, target_), 4);
  EXPECT_EQ(again.today_seconds, again.best_seconds);
  EXPECT_NE(tools::comparison_text(*split).find("-> 4 (as today)"), std::string::npos)
      << tools::comparison_text(*split);
  // It only seems faster, until it is measured beside what is in use.
  confirmed_ = [](const sched::Region& region) { return parts(region) == 2 ? 11e-6 : 10e-6; };
  tuned_.clear();
  const PlanSearchResult noisy = search([](const sched::Region& region) {
    const int64_t count = parts(region);
    return count == 0 ? 2e-6 : count == 4 ? 10e-6 : count == 2 ? 5e-6 : 40e-6;
  });
  EXPECT_EQ(noisy.plans.choose(split->site, target_), 4);
  // A better alternative is saved.
  confirmed_ = {};
  tuned_.clear();
  const PlanSearchResult better = search([](const sched::Region& region) {
    const int64_t count = parts(region);
    return count == 0 ? 2e-6 : count == 4 ? 10e-6 : count == 2 ? 5e-6 : 40e-6;
  });
  EXPECT_EQ(better.plans.choose(split->site, target_), 2);
}

TEST_F(PlanSearchTest, ACutSearchLeavesTodaysPlan) {
  PlanStore in_use;
  const PlanSearchResult first = search([](const sched::Region& region) {
    return parts(region) == 0 ? 2e-6 : parts(region) == 4 ? 10e-6 : 40e-6;
  });
  in_use.override_with(first.plans);
  options_.in_use = &in_use;
  tuned_.clear();
  // There was no time for the alternatives.
  const PlanSearchResult cut = search([](const sched::Region& region) {
    return parts(region) == 0 ? 2e-6 : parts(region) == 4 ? 10e-6 : -1.0;
  });
  const PlanComparison* split = find(cut, "split_k");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->choice, 4);
  EXPECT_FALSE(split->is_decided);
  for (const auto& [key, record] : cut.plans.records()) EXPECT_NE(key.kind, "split_k");
}

// Every site is one shard's, and a shard tunes only what its own sites need.
TEST_F(PlanSearchTest, ShardsShareTheSites) {
  const Seconds seconds = [](const sched::Region& region) {
    const int64_t count = parts(region);
    return count == 0 ? 2e-6 : count == 4 ? 10e-6 : 40e-6;
  };
  const PlanSearchResult whole = search(seconds);
  const size_t kernels_of_whole = std::exchange(tuned_, {}).size();
  PlanStore plans;
  for (const int index : {0, 1, 2}) {
    options_.is_part = [=](const sched::PlanSite& site) { return in_shard(site, index, 3); };
    const PlanSearchResult part = search(seconds);
    for (const auto& [key, record] : part.plans.records())
      EXPECT_FALSE(plans.records().count(key)) << key.kind;
    if (part.comparisons.empty())
      EXPECT_TRUE(tuned_.empty());
    else
      EXPECT_LE(tuned_.size(), kernels_of_whole);
    EXPECT_TRUE(part.is_part);
    plans.merge(part.plans);
    tuned_.clear();
  }
  const PlanComparison* split = find(whole, "split_k");
  ASSERT_TRUE(split);
  EXPECT_EQ(plans.choose(split->site, target_), 4);
  // Sites of others are answered as their plans have it.
  options_.is_part = [](const sched::PlanSite&) { return false; };
  options_.in_use = &plans;
  const PlanSearchResult none = search(seconds);
  EXPECT_TRUE(none.comparisons.empty());
  EXPECT_TRUE(tuned_.empty());
  EXPECT_EQ(none.today_launches, whole.best_launches);
}

TEST_F(PlanSearchTest, AnInterruptLeavesTheDefaults) {
  std::atomic<bool> interrupted = false;
  options_.interrupted = &interrupted;
  const PlanSearchResult result = search([&](const sched::Region& region) {
    if (parts(region) == 2) interrupted = true;
    return parts(region) == 8 ? 10e-6 : 1e-6;
  });
  EXPECT_TRUE(result.plans.records().empty());
}

TEST_F(PlanSearchTest, ADeadlineEndsTheComparisons) {
  const Seconds seconds = [&](const sched::Region& region) {
    if (parts(region) == 2) options_.deadline = {};  // while the first choice is compared
    return parts(region) == 8 ? 10e-6 : 1e-6;
  };
  const PlanSearchResult cut = search(seconds);
  EXPECT_TRUE(cut.out_of_time);
  EXPECT_TRUE(cut.comparisons.empty());
  EXPECT_GT(cut.today_seconds, 0);
  EXPECT_EQ(cut.best_seconds, cut.today_seconds);
  EXPECT_EQ(cut.kernels.records().size(), tuned_.size()) << "what was tuned is kept";
  tuned_.clear();
  EXPECT_TRUE(search(seconds).out_of_time);
  EXPECT_TRUE(tuned_.empty()) << "it was spent from the start";
  options_.deadline = deadline_after(1e300);
  EXPECT_FALSE(search([](const sched::Region&) { return 1e-6; }).out_of_time);
}

// Today's kernels leave time for the choices, and the first choice for the others.
TEST_F(PlanSearchTest, APartOfTheBudgetIsForTheChoices) {
  const Deadline begin = std::chrono::steady_clock::now();
  options_.deadline = deadline_after(1000);
  const PlanSearchResult result = search([](const sched::Region&) { return 1e-6; });
  ASSERT_GE(deadlines_.size(), 3u);
  const auto seconds = [&](Deadline end) {
    return std::chrono::duration<double>(end - begin).count();
  };
  EXPECT_NEAR(seconds(deadlines_[0]), 1000 * kTodaysShare, 100);
  EXPECT_NEAR(seconds(deadlines_[1]), 1000 * kComparisonShare, 100);
  EXPECT_NEAR(seconds(deadlines_.back()), 1000 * kLastComparisonShare, 100);
  EXPECT_GE(result.choices, 2u);
  EXPECT_EQ(result.compared, result.choices);
  deadlines_.clear();
  tuned_.clear();
  options_.deadline = Deadline::max();
  search([](const sched::Region&) { return 1e-6; });
  for (const Deadline deadline : deadlines_) EXPECT_EQ(deadline, Deadline::max());
}

// A kernel that all alternatives have is not what they are judged by.
TEST_F(PlanSearchTest, ChoicesAreComparedWithoutATotal) {
  int asked = 0;
  const PlanSearchResult result = search([&](const sched::Region& region) {
    const int64_t count = parts(region);
    if (count == 8 && ++asked == 1) return -1.0;  // the first time
    return count == 0 ? 2e-6 : count == 4 ? 10e-6 : 40e-6;
  });
  const PlanComparison* split = find(result, "split_k");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->choice, 4);
  EXPECT_EQ(result.today_seconds, 0);
  const std::string table = tools::plan_table(result);
  EXPECT_NE(table.find("before every kernel of today's plan was tuned"), std::string::npos);
  EXPECT_NE(table.find("split_k"), std::string::npos) << table;
}

TEST_F(PlanSearchTest, TheTableCountsTheChoices) {
  const PlanSearchResult none = search([&](const sched::Region& region) {
    if (parts(region) == 2) options_.deadline = {};
    return 1e-6;
  });
  const std::string table = tools::plan_table(none);
  EXPECT_NE(table.find(str("0 of ", none.choices, " choices compared; today: ")), std::string::npos)
      << table;
}

}  // namespace
}  // namespace tcc::autotune
