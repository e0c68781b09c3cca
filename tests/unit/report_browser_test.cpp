// The report as a browser shows it: headless Chromium draws the page, and what it drew is counted.
#include <regex>

#include "tests/unit/browser_fixture.h"
#include "tests/unit/sweep_fixture.h"
#include "tools/tune/report.h"

namespace tcc::tools {
namespace {

using testing::BrowserTest;

class ReportBrowserTest : public BrowserTest {};

TEST_F(ReportBrowserTest, EveryKernelIsDrawn) {
  const autotune::TuneResult sweep = testing::tuned_sweep();
  SweepReport report = testing::sweep_report(sweep);
  const auto device = runtime::open_device("null");
  report.device = device.get();
  const std::string document = drawn(report_page(sweep, report));
  EXPECT_EQ(title(document), "mlp.yaml \u2013 tcc-tune report");
  EXPECT_EQ(count(document, "data-drawn=\"2\""), 1u);
  for (const char* chart : {"class=\"scatter\"", "class=\"heat\"", "class=\"bars\""})
    EXPECT_EQ(count(document, chart), 2u) << chart;
  EXPECT_EQ(count(document, "tile_m 64 (today 32)"), 2u);  // of the winning config
  EXPECT_EQ(count(document, ">1.00\u00d7</text>"), 2u);    // the best cell of each heat map
  EXPECT_EQ(count(document, "class=\"winner\""), 2u);
  for (const char* fact : {">device</dt>", ">date</dt>", ">options</dt>", ">tcc</dt>"})
    EXPECT_EQ(count(document, fact), 1u) << fact;
  EXPECT_EQ(count(document, ">GRAPH mlp.yaml \u00b7 --budget 20</dd>"), 1u);
  EXPECT_EQ(count(document, "all launches: 274 \u00b5s \u2192 162 \u00b5s"), 1u);
  EXPECT_EQ(count(document, ">fail</text>"), 2u * 6);  // pairs that no config survived
}

// Trials may have looked faster than what is in use: where the finals say that it stays, every
// view does.
TEST_F(ReportBrowserTest, AllViewsAgreeWhereNothingWasFaster) {
  autotune::TuneResult sweep = testing::tuned_sweep();
  sweep.kernels.resize(1);
  autotune::KernelResult& kernel = sweep.kernels[0];
  kernel.kept = "nothing is faster";
  kernel.best_config = kernel.today.config;
  kernel.best_seconds = kernel.today_seconds;
  const std::string document = drawn(report_page(sweep, testing::sweep_report(sweep)));
  EXPECT_EQ(count(document, "kept: nothing is faster</td>"), 1u);
  EXPECT_EQ(count(document, "Today's config (default) stays: nothing is faster.</p>"), 1u);
  EXPECT_EQ(count(document, "class=\"changed\""), 0u);
  EXPECT_EQ(count(document, "(as today)</text>"), 1u);
  EXPECT_EQ(count(document, ">1.00\u00d7</b>"), 1u);  // the tile
  // The marked cell of the heat map is today's, though others are faster; so is the line.
  EXPECT_TRUE(
      std::regex_search(document, std::regex("class=\"winner\"[^>]*></rect><text[^>]*>1.00")))
      << document.substr(document.find("class=\"heat\""), 2000);
  EXPECT_GT(count(document, ">0."), 0u);
  EXPECT_TRUE(std::regex_search(document,
                                std::regex("<path d=\"M[0-9.]+ [0-9.]+H[0-9.]+\" class=\"used\"")));
}

TEST_F(ReportBrowserTest, BatchesHaveRowsOfTheirOwnAndKernelsAreSortedByCost) {
  autotune::TuneResult sweep = testing::tuned_sweep();
  sweep.kernels[1].launches = 9;  // softmax
  SweepReport report = testing::sweep_report(sweep, "mlp.yaml B=1", 1);
  report.batches.push_back(testing::sweep_report(sweep, "mlp.yaml B=8", 4).batches[0]);
  const std::string document = drawn(report_page(sweep, report));
  EXPECT_EQ(count(document, ">mlp.yaml B=8</td>"), 1u);
  EXPECT_EQ(count(document, "all launches:"), 0u + 1);  // in the script once
  EXPECT_LT(document.find("#kernel-0\">softmax"), document.find("#kernel-1\">matmul_gelu"));
}

TEST_F(ReportBrowserTest, SweepsWithHolesAreDrawn) {
  autotune::TuneResult result = testing::tuned_sweep();
  result.kernels[0].trials.clear();
  result.kernels[0].best_seconds = result.kernels[0].default_seconds = 0;
  result.kernels[0].best_config = {};
  result.kernels[0].error = "</script><b>no default";
  result.kernels[1].trials.resize(1);
  result.kernels[1].task.bound_seconds = 0;
  result.kernels.emplace_back();  // nothing is known of it
  const std::string document = drawn(report_page(result, testing::sweep_report(result, "holes")));
  EXPECT_EQ(title(document), "holes \u2013 tcc-tune report");
  EXPECT_EQ(count(document, "data-drawn=\"3\""), 1u);
  EXPECT_EQ(count(document, "no trial could be timed"), 2u + 1);  // in the script once
  EXPECT_EQ(count(document, "&lt;/script&gt;&lt;b&gt;no default"), 1u);
}

TEST_F(ReportBrowserTest, AFaultShowsInTheTitle) {
  const autotune::TuneResult sweep = testing::tuned_sweep();
  std::string page = report_page(sweep, testing::sweep_report(sweep));
  const std::string key = "\"kernels\":";
  page.replace(page.find(key), key.size(), "\"kernel\":");
  EXPECT_EQ(title(drawn(page)).find("report error: "), 0u);
}

}  // namespace
}  // namespace tcc::tools
