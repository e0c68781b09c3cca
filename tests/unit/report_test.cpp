#include "tools/tune/report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "frontend/graph_file.h"
#include "tests/unit/sweep_fixture.h"
#include "tools/tune/plain_lines.h"
#include "tools/tune/summary.h"

namespace tcc::tools {
namespace {

using autotune::KernelResult;
using autotune::Measurement;
using autotune::TuneResult;

TEST(ReportTest, TheDataSaysWhatTheSweepFound) {
  const TuneResult sweep = testing::tuned_sweep();
  const auto json = nlohmann::json::parse(report_json(sweep, testing::sweep_report(sweep), true));
  EXPECT_EQ(json["tcc_tune"], kTuneReportSchema);
  EXPECT_EQ(json["kind"], "sweep");
  EXPECT_EQ(json["title"], "mlp.yaml");
  EXPECT_EQ(json["options"]["--budget"], "20");
  EXPECT_TRUE(json["device"].is_null());
  ASSERT_EQ(json["batches"].size(), 1u);
  EXPECT_EQ(json["batches"][0]["launches"], (nlohmann::json{2, 2}));
  EXPECT_NEAR(json["batches"][0]["today_seconds"].get<double>(), 273.6e-6, 1e-9);
  ASSERT_EQ(json["kernels"].size(), 2u);
  const auto& kernel = json["kernels"][0];
  EXPECT_EQ(kernel["name"], "matmul_gelu");
  EXPECT_EQ(kernel["best_config"]["tile_m"], 64);
  EXPECT_EQ(kernel["default_config"]["tile_m"], 32);
  EXPECT_EQ(kernel["today_config"]["tile_m"], 32);
  EXPECT_EQ(kernel["today_seconds"], kernel["default_seconds"]);
  EXPECT_EQ(kernel["tier"], "default");
  EXPECT_EQ(kernel["kept"], "");
  EXPECT_EQ(kernel["failed"], 18);
  ASSERT_EQ(kernel["trials"].size(), 76u);
  EXPECT_EQ(kernel["trials"][0]["config"], (nlohmann::json{32, 64, 1}));
  EXPECT_EQ(kernel["trials"][0]["status"], autotune::name(Measurement::Status::measured));
  EXPECT_EQ(kernel["parameters"][1]["name"], "tile_n");
}

TEST(ReportTest, InfluenceFindsTheParametersThatMatter) {
  const std::vector<double> influence = parameter_influence(testing::tuned_kernel());
  ASSERT_EQ(influence.size(), 3u);
  EXPECT_GT(influence[0], influence[1]);  // tile_m costs more than tile_n, unroll hardly anything
  EXPECT_GT(influence[1], 10 * influence[2]);
  EXPECT_GT(influence[2], 0);
  EXPECT_LE(influence[0], 1);
}

TEST(ReportTest, InfluenceOfNothing) {
  KernelResult kernel = testing::tuned_kernel();
  kernel.trials.resize(1);
  EXPECT_EQ(parameter_influence(kernel), (std::vector<double>{0, 0, 0}));
  kernel.trials.clear();
  EXPECT_EQ(parameter_influence(kernel), (std::vector<double>{0, 0, 0}));
}

TEST(ReportTest, NamesCannotLeaveTheirElement) {
  TuneResult result = testing::tuned_sweep();
  const std::string hostile = "</script><script>alert('x')</script><!--";
  result.kernels[0].task.name = result.kernels[0].error = hostile;
  result.kernels[0].trials[0].result.reason = hostile + "\xff";
  SweepReport report = testing::sweep_report(result, hostile);
  const std::string data = report_json(result, report, true);
  EXPECT_EQ(data.find('<'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(data)["kernels"][0]["name"], hostile);
  const std::string page = report_page(result, report);
  EXPECT_EQ(page.find(hostile), std::string::npos);
  EXPECT_NE(page.find(data.substr(data.find("\"title\""))), std::string::npos);
}

TEST(ReportTest, ThePageNeedsNoNetwork) {
  const TuneResult sweep = testing::tuned_sweep();
  std::string page = report_page(sweep, testing::sweep_report(sweep));
  const std::string svg = "http://www.w3.org/2000/svg";  // a name, never fetched
  for (size_t at; (at = page.find(svg)) != std::string::npos;) page.erase(at, svg.size());
  for (const char* word : {"http:", "https:", "@import", "url(", " src=", "<link"})
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(SummaryTest, TableTotalsAndRates) {
  TuneResult sweep = testing::tuned_sweep();
  std::vector<Batch> batches = testing::sweep_report(sweep).batches;
  const std::string text = summary_text(sweep, batches);
  EXPECT_NE(
      text.find("matmul_gelu  f32[512, 512]  contraction  68.40 us  68.40 us  40.40 us  1.69x "
                "      62%      76  faster"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("all launches: 273.60 us -> 161.60 us (1.69x)"), std::string::npos) << text;
  EXPECT_NE(text.find("152 candidates in 0:30 (5.1 per second); compiled on 1.5 of 2 cores (75%); "
                      "workers replaced: 1"),
            std::string::npos)
      << text;
}

// Times of several batches are no one's run.
TEST(SummaryTest, BatchesAreNotAddedUp) {
  TuneResult sweep = testing::tuned_sweep();
  std::vector<Batch> batches = testing::sweep_report(sweep, "mlp.yaml B=1", 1).batches;
  batches.push_back(testing::sweep_report(sweep, "mlp.yaml B=8", 4).batches[0]);
  batches[0].launches.erase(sweep.kernels[1].task.key);
  const std::string text = summary_text(sweep, batches);
  EXPECT_EQ(text.find("all launches"), std::string::npos);
  EXPECT_NE(text.find("\nmlp.yaml B=1: 68.40 us -> 40.40 us (1.69x)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nmlp.yaml B=8: 547.20 us -> 323.20 us (1.69x)\n"), std::string::npos)
      << text;
  // Nor is there a sum where a kernel is unknown.
  sweep.kernels[1].best_seconds = 0;
  EXPECT_EQ(summary_text(sweep, batches).find("mlp.yaml B=8"), std::string::npos);
}

// A program with open dims runs at one size.
TEST(SummaryTest, SizesAreNotAddedUp) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\ndims: {B: 4}\n"
      "inputs: {x: {dtype: f32, shape: [B, 40]}, w: {dtype: f32, shape: [24, 40]}}\n"
      "nodes:\n"
      "  - {out: y, op: linear, in: [x, w]}\n"
      "  - {out: z, op: softmax, in: [y], dim: -1}\n"
      "  - {out: s, op: cumsum, in: [w], dim: 1}\n"
      "outputs: [z, s]\n",
      "test.yaml", ".");
  backends::CompileOptions compile;
  compile.open_dims = {{"B", {1, 64, 1}}};
  const auto scheduled = backends::schedule(graph, runtime::open_device("null")->target(), compile);
  std::vector<Batch> batches = batches_of(scheduled, "g.yaml B=1..64");
  ASSERT_GT(batches.size(), 2u);
  EXPECT_EQ(batches.front().label, "g.yaml B=1..64 at B=1");
  for (const Batch& batch : batches) EXPECT_EQ(batch.launches.size(), 3u) << batch.label;
  const auto fixed =
      backends::schedule(graph, runtime::open_device("null")->target(), backends::CompileOptions());
  const std::vector<Batch> one = batches_of(fixed, "g.yaml");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].label, "g.yaml");
  // One size of several is not all launches.
  TuneResult sweep = testing::tuned_sweep();
  batches.resize(1);
  batches[0].launches = {{sweep.kernels[0].task.key, 1}};
  const std::string text = summary_text(sweep, batches);
  EXPECT_EQ(text.find("all launches"), std::string::npos);
  EXPECT_NE(text.find("\ng.yaml B=1..64 at B=1: 68.40 us -> 40.40 us (1.69x)\n"), std::string::npos)
      << text;
}

TEST(SummaryTest, WhatStaysSaysWhy) {
  TuneResult sweep = testing::tuned_sweep();
  KernelResult& kept = sweep.kernels[0];
  kept.kept = "no finals";
  kept.record.reset();
  kept.today.tier = sched::Tier::nearest;
  kept.today_seconds = kept.best_seconds = 50e-6;
  const std::string text = summary_text(sweep, {});
  EXPECT_NE(text.find("50.00 us (nearest)  50.00 us  1.00x"), std::string::npos) << text;
  EXPECT_NE(text.find("kept: no finals"), std::string::npos) << text;
  EXPECT_EQ(plain_line(kept).find("matmul_gelu f32[512, 512]: 50.00 us, kept: no finals, "), 0u)
      << plain_line(kept);
}

TEST(SummaryTest, WhatABudgetLeftOutIsCounted) {
  TuneResult sweep = testing::tuned_sweep();
  const std::string nothing = "nothing was written: no kernel has a result that a duel confirmed\n";
  EXPECT_EQ(left_out_text(sweep, 2, 0), nothing);
  EXPECT_EQ(left_out_text(sweep, 8, 4),
            "6 of 8 kernels were not reached within --budget 4\n" + nothing);
  autotune::Record record;
  record.key = sweep.kernels[0].task.key;
  sweep.records.add(record);
  EXPECT_EQ(left_out_text(sweep, 2, 4), "");
  sweep.kernels[0].kept = "no finals";
  EXPECT_EQ(left_out_text(sweep, 3, 0.5),
            "1 of 3 kernels was not reached within --budget 0.5\n"
            "1 of 3 kernels had no time for finals within --budget 0.5\n");
  sweep.interrupted = true;
  EXPECT_EQ(left_out_text(sweep, 3, 0.5), "");
}

TEST(SummaryTest, TrialsOfALogAreNotCountedAsWork) {
  TuneResult result = testing::tuned_sweep();
  result.kernels[0].resumed = 70;
  EXPECT_DOUBLE_EQ(candidates_per_second(result), 82.0 / 30);
  EXPECT_NE(summary_text(result, {})
                .find("82 candidates in 0:30 (2.7 per second), 70 more from the "
                      "log"),
            std::string::npos);
}

TEST(SummaryTest, NothingIsKnown) {
  TuneResult result;
  result.kernels.emplace_back();
  EXPECT_EQ(summary_text(result, {}), "0 candidates in 0:00 (0.0 per second)\n");
  EXPECT_EQ(gain_text(gain(result.kernels[0])), "-");
  EXPECT_EQ(share_text(roofline_share(result.kernels[0])), "-");
}

TEST(SummaryTest, FailuresAreCountedAndTheFirstIsShown) {
  TuneResult result = testing::tuned_sweep();
  result.kernels.resize(1);
  Measurement& wrong = result.kernels[0].trials[3].result;
  wrong.status = Measurement::Status::wrong;
  wrong.reason = "element 5 is 1,\nnot 2";
  const std::string text = rejected_text(result);
  EXPECT_NE(text.find("matmul_gelu [contraction] 1 wrong, first tile_m=16 tile_n=64 unroll=1: "
                      "element 5 is 1, not 2\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("18 refused, first tile_m=64 tile_n=256 unroll=1: too much shared memory"),
            std::string::npos)
      << text;
}

TEST(SummaryTest, AKernelWithoutARecordIsAFailureUnlessItWasCutShort) {
  KernelResult kernel = testing::tuned_kernel();
  EXPECT_EQ(failure(kernel), "");
  kernel.record.reset();
  EXPECT_NE(failure(kernel), "");
  kernel.trials.resize(1);  // the default, which is right
  for (const char* ended : {"budget", "interrupted"}) {
    kernel.ended = ended;
    EXPECT_EQ(failure(kernel), "") << ended;
  }
  kernel.trials[0].result.status = Measurement::Status::wrong;
  kernel.trials[0].result.reason = "element 3 is 1, not 2";
  for (const char* ended : {"budget", "trials"}) {
    kernel.ended = ended;
    EXPECT_EQ(failure(kernel),
              "no config gave a right result: 1 trial, 1 wrong; the default: element 3 is 1, not 2")
        << ended;
    EXPECT_TRUE(is_wrong(kernel));
  }
  kernel.trials.clear();
  EXPECT_NE(failure(kernel), "");
  kernel.ended = "budget";
  EXPECT_EQ(failure(kernel), "") << "nothing was tried";
  kernel.error = "the worker crashed";
  EXPECT_EQ(failure(kernel), "the worker crashed");
  EXPECT_FALSE(is_wrong(kernel));
}

TEST(PlainLinesTest, LongOnesAreToldOfNowAndThen) {
  std::ostringstream out;
  PlainLines all(out, 2, PlainLines::Seconds(0)), few(out, 2, PlainLines::Seconds(3600));
  KernelResult kernel = testing::tuned_kernel();
  few.events().trial(kernel);
  EXPECT_EQ(out.str(), "");
  all.events().trial(kernel);
  EXPECT_EQ(out.str(),
            "0:00  0 of 2 kernels; matmul_gelu f32[512, 512]: 76 trials, 18 refused, 68.40 us "
            "today, 40.40 us so far\n");
}

TEST(PlainLinesTest, OneLinePerFinishedKernel) {
  std::ostringstream out;
  PlainLines lines(out, 2);
  autotune::TuneEvents events = lines.events();
  KernelResult kernel = testing::tuned_kernel();
  events.finished(kernel);
  kernel.ended = "budget";
  events.finished(kernel);
  kernel.task.key.region = std::string(32, 'b');
  kernel.record.reset();
  kernel.trials.clear();
  kernel.default_seconds = kernel.best_seconds = 0;
  kernel.ended.clear();
  kernel.error = "the default config crashed: SIGSEGV";
  events.finished(kernel);
  EXPECT_EQ(out.str(),
            "[1/2] matmul_gelu f32[512, 512]: 68.40 us -> 40.40 us (1.69x), 62% of roofline, 76 "
            "trials, 18 refused; ended: space exhausted\n"
            "[1/2] again, with time left: matmul_gelu f32[512, 512]: 68.40 us -> 40.40 us (1.69x), "
            "62% of roofline, 76 trials, 18 refused; ended: budget\n"
            "[2/2] matmul_gelu f32[512, 512]: no result, 0 trials; error: the default config "
            "crashed: SIGSEGV\n");
}

}  // namespace
}  // namespace tcc::tools
