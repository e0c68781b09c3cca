// The Markdown of a report: what stands first, how hostile names are told, how long it may be.
#include "tools/track/report_markdown.h"

#include <gtest/gtest.h>

#include "tests/unit/track_report_fixture.h"
#include "tools/track/report_text.h"

namespace tcc::tools {
namespace {

std::string markdown(const TrackReport& report, size_t most = kMaxMarkdown) {
  return report_markdown(std::span(&report, 1), most);
}

size_t count(const std::string& text, const std::string& words) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(words, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(TrackReportMarkdownTest, VerdictFirstThenWhatChanged) {
  const std::string text = markdown(testing::sample_report());
  EXPECT_EQ(text.find("<!-- tcc-track -->\n"
                      "### \u274c 24 cases: 2 over budget, 4 worse, 2 better, 2 not measurable, "
                      "14 same\n\n<code>build/head against build/base on NVIDIA H200</code>\n"),
            0u)
      << text;
  // Budgets first; then what became worse, the largest change first.
  const size_t budget = text.find("**over budget** of "), launches = text.find("| +50.0 % | - |"),
               slower = text.find("| +8.73 % | +8.61 % .. +8.85 % | **worse** |"),
               better = text.find("**better**"), rest = text.find("<details>");
  EXPECT_LT(budget, launches) << text;
  EXPECT_LT(launches, slower) << text;
  EXPECT_LT(slower, better);
  EXPECT_LT(better, rest);
  EXPECT_NE(rest, std::string::npos);
  EXPECT_GT(text.find("unmeasurable: a change of 1 %"), rest);
  EXPECT_NE(text.find("with a probability of at most 5 %"), std::string::npos) << text;
  EXPECT_EQ(count(text, "<details>"), count(text, "</details>"));
}

TEST(TrackReportMarkdownTest, PassingAndEmptyReports) {
  TrackReport report;
  EXPECT_EQ(markdown(report).find("<!-- tcc-track -->\n### \u26aa no case was measured\n"), 0u);
  report.cases.resize(1);
  report.cases[0].name = "softmax";
  report.cases[0].quantities = {testing::counted("launches", "", 3, 3)};
  const std::string text = markdown(report);
  EXPECT_NE(text.find("### \u2705 1 case: 1 same\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("| case |"), std::string::npos) << text;
  EXPECT_NE(text.find("\n1 more quantity is as before.\n"), std::string::npos) << text;
}

// No tick where nothing was held against anything, and no words about false alarms.
TEST(TrackReportMarkdownTest, NothingJudgedIsNeutral) {
  TrackReport report;
  report.cases.resize(1);
  report.cases[0].quantities = {testing::counted("launches", "", 3, 3)};
  Quantity& launches = report.cases[0].quantities[0];
  launches.base.reset();
  launches.verdict = Quantity::Verdict::not_judged;
  std::string text = markdown(report);
  EXPECT_NE(text.find("### \u26aa 1 case: 1 not judged\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1 quantity was not judged"), std::string::npos) << text;
  EXPECT_NE(text.find("| launches | - | 3 | - | - | not judged |"), std::string::npos) << text;
  EXPECT_EQ(text.find("probability"), std::string::npos) << text;
  EXPECT_EQ(text.find("as before"), std::string::npos) << text;
  launches.budget = 4;
  text = markdown(report);
  EXPECT_NE(text.find("### \u2705 "), std::string::npos) << "it is within its budget\n" << text;
  launches.budget.reset();
  launches.verdict = Quantity::Verdict::unmeasurable;
  text = markdown(report);
  EXPECT_NE(text.find("### \u26aa 1 case: 1 not measurable\n"), std::string::npos) << text;
}

TEST(TrackReportMarkdownTest, RatiosOfPairsAreExplained) {
  const std::string words = "A change is the median ratio of pairs";
  TrackReport report = testing::sample_report(1);
  EXPECT_EQ(count(markdown(report), words), 1u);
  for (Quantity& quantity : report.cases[0].quantities) quantity.base_samples.clear();
  EXPECT_EQ(count(markdown(report), words), 0u) << "a run against its history has no pairs";
}

TEST(TrackReportMarkdownTest, WhatDoesNotGateIsSaid) {
  TrackReport report;
  report.cases.resize(1);
  report.cases[0].quantities = {testing::counted("launches", "", 3, 3),
                                testing::counted("compile time", "s", 3, 4)};
  report.cases[0].quantities[1].gates = false;
  const std::string text = markdown(report);
  EXPECT_NE(text.find("### \u2705 1 case: 1 same\n"), std::string::npos) << text;
  EXPECT_NE(text.find("| 3.000 s | 4.000 s | +33.3 % | - | **worse** (does not gate)"),
            std::string::npos)
      << text;
}

// Names mark up nothing, whatever Markdown or HTML they hold.
TEST(TrackReportMarkdownTest, HostileNamesAreText) {
  std::string text = markdown(testing::hostile_report());
  for (const char* words : {"<script", "<img", "alert('", "`", "@m", "#1 ", "*b*", "\n## ", "]]>",
                            "\x01", "\xff", "nan", "inf"})
    EXPECT_EQ(text.find(words), std::string::npos) << words << "\n" << text;
  EXPECT_NE(text.find("&#64;&#8288;mention"), std::string::npos) << text;
  // Pipes stand between cells alone: each row of a table has as many as its head.
  for (size_t at = text.find("\n| "); at != std::string::npos; at = text.find("\n| ", at + 1)) {
    const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    EXPECT_EQ(count(line, "|"), 8u) << line;
  }
  // No tag but ours.
  for (const char* tag : {"<!-- tcc-track -->", "<code>", "</code>", "<details><summary>",
                          "</summary>", "</details>"})
    for (size_t at; (at = text.find(tag)) != std::string::npos;)
      text.erase(at, std::string_view(tag).size());
  EXPECT_EQ(text.find('<'), std::string::npos) << text;
}

// Text that GitHub and GitLab would make links and mentions of is broken up; what people copy
// stays.
TEST(TrackReportMarkdownTest, NothingRefersToAnything) {
  TrackReport report;
  report.command = "tcc-track compare a:b --device cuda:0 100%full #5";
  report.notes = {
      "@all see #12, !3, :smile: and https://example.com or www.example.com; 5 % at 12:30"};
  const std::string text = markdown(report);
  EXPECT_NE(text.find("<code>tcc-track compare a:b --device cuda:0 100%full &#35;5</code>"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("> \u26a0\ufe0f &#64;&#8288;all see &#35;&#8288;12, &#33;&#8288;3, "
                      ":&#8288;smile: and https:&#8288;//example.com or www.&#8288;example.com; "
                      "5 % at 12:&#8288;30"),
            std::string::npos)
      << text;
  report.command = "https://user@example.com";
  EXPECT_NE(markdown(report).find("<code>https:&#8288;//user&#64;&#8288;example.com</code>"),
            std::string::npos);
}

TEST(TrackReportMarkdownTest, ItsLengthHasALimit) {
  TrackReport report = testing::sample_report(3000, 0);
  for (ReportedCase& one : report.cases) one.name += std::string(400, '<');
  for (const size_t most : {size_t{12'000}, kMaxMarkdown}) {
    const std::string text = markdown(report, most);
    EXPECT_LE(text.size(), most);
    EXPECT_GT(text.size(), most / 2);
    EXPECT_NE(text.find(" more rows are left out of this text.\n"), std::string::npos);
    EXPECT_EQ(count(text, "<details>"), count(text, "</details>"));
    EXPECT_NE(text.find("How to read this"), std::string::npos);
  }
  const std::vector<TrackReport> several(4, report);
  EXPECT_LE(report_markdown(several).size(), kMaxMarkdown);
}

TEST(TrackReportTextTest, FiguresAreReadable) {
  EXPECT_EQ(value_text(std::nullopt, "s"), "-");
  EXPECT_EQ(value_text(12.34e-6, "s"), "12.34 us");
  EXPECT_EQ(value_text(1536, "bytes"), "1.5 KiB");
  EXPECT_EQ(value_text(24, ""), "24");
  EXPECT_EQ(value_text(1.0 / 0.0, ""), "-");
  EXPECT_EQ(value_text(3, "W"), "3 W");
  EXPECT_EQ(change_text(1.01234), "+1.23 %");
  EXPECT_EQ(change_text(0.5), "-50.0 %");
  EXPECT_EQ(interval_text({1.01, 1.005, 1.015, 0.1, 8}), "+0.50 % .. +1.50 %");
  EXPECT_EQ(interval_text({1.01, 0, 1.0 / 0.0, 0.1, 1}), "-");
  EXPECT_EQ(clean_text("a\xff\xe2\x82\xac", 99), "a\xef\xbf\xbd\xe2\x82\xac");
  EXPECT_EQ(clean_text("\xe2\x82\xac\xe2\x82\xac", 5), "\xe2\x82\xac...");
}

TEST(TrackReportTextTest, TheStandingOfACaseIsOfWhatGates) {
  ReportedCase one;
  EXPECT_EQ(standing(one), Standing::same);
  one.quantities = {testing::counted("a", "", 3, 2), testing::counted("b", "", 2, 3)};
  EXPECT_EQ(standing(one), Standing::worse);
  one.quantities[1].gates = false;
  EXPECT_EQ(standing(one), Standing::better);
  one.quantities[0].gates = false;
  EXPECT_EQ(standing(one), Standing::worse);
  one.quantities[0].over_budget = true;
  EXPECT_EQ(standing(one), Standing::over_budget);
  one.quantities = {testing::counted("a", "", 3, 3), testing::counted("b", "", 3, 3)};
  one.quantities[0].verdict = Quantity::Verdict::not_judged;
  EXPECT_EQ(standing(one), Standing::same);
  one.quantities[1].verdict = Quantity::Verdict::not_judged;
  EXPECT_EQ(standing(one), Standing::not_judged);
}

}  // namespace
}  // namespace tcc::tools
