// The page of tcc-track as a browser shows it, and what its tools, rows and plots do.
#include <cstdlib>

#include "tests/source_dir.h"
#include "tests/unit/browser_fixture.h"
#include "tests/unit/track_report_fixture.h"
#include "tools/track/report_html.h"

namespace tcc::tools {
namespace {

std::string page_of(const TrackReport& report) { return track_report_page(std::span(&report, 1)); }

class TrackPageBrowserTest : public testing::BrowserTest {
 protected:
  // The text between `from` and the next `to`.
  static std::string between(const std::string& text, const std::string& from,
                             const std::string& to) {
    const size_t start = text.find(from);
    if (start == std::string::npos) return "no " + from;
    const size_t begin = start + from.size();
    return text.substr(begin, text.find(to, begin) - begin);
  }
  // The document without its scripts.
  static std::string body(const std::string& document) {
    return document.substr(0, document.find("<script"));
  }
};

TEST_F(TrackPageBrowserTest, EveryCaseHasARow) {
  const std::string document = drawn(page_of(testing::sample_report()));
  EXPECT_EQ(title(document), "build/head against build/base \u2013 tcc-track report");
  EXPECT_EQ(count(document, "data-drawn=\"24\""), 1u);
  const std::string text = body(document);
  EXPECT_EQ(count(text, "class=\"case\""), 24u);
  EXPECT_EQ(count(text, "role=\"row\""), 25u);  // and the head
  EXPECT_EQ(count(text, "Fails: something that gates"), 1u);
  // The worst first: budgets, then what became worse, the largest change first.
  const size_t budget = text.find("over-budget\"><span"), worse = text.find("+8.73 %");
  EXPECT_LT(budget, worse);
  EXPECT_LT(worse, text.find("verdict-cell better"));
  for (const char* fact : {"NVIDIA H200", "580.65.06", "5f76e6a91c3d", "84c65da2b1f0",
                           "2026-11-22 12:31:05 UTC", "clocks fell to 1,605 MHz"})
    EXPECT_GE(count(text, fact), 1u) << fact;
  EXPECT_EQ(count(text, "<b>5 %</b>"), 1u);  // false alarms
  EXPECT_EQ(count(text, "class=\"details\""), 0u);
}

TEST_F(TrackPageBrowserTest, ACaseOpens) {
  const std::string document =
      drawn(page_of(testing::sample_report()),
            "document.querySelectorAll('.open').forEach(one => {"
            "  if (one.textContent.startsWith('bert-base B=8')) one.click(); });");
  EXPECT_EQ(title(document), "build/head against build/base \u2013 tcc-track report");
  const std::string text = body(document);
  EXPECT_EQ(count(text, "aria-expanded=\"true\""), 3u);
  EXPECT_EQ(count(text, "class=\"quantities\""), 3u);
  EXPECT_EQ(count(text, "class=\"history\""), 3u);  // launches never changed
  EXPECT_EQ(count(text, "The same in all runs: launches 24 (120 runs)."), 3u);
  EXPECT_EQ(count(text, "class=\"kernel-bars\""), 3u);
  EXPECT_EQ(count(text, "class=\"step\""), 1u);
  EXPECT_EQ(count(text, "<li>step of +8.73 % at nightly-1080"), 1u);
  EXPECT_GE(count(text, "<span class=\"mark-changed\">config</span>"), 1u);
  EXPECT_GE(count(text, "\u2212 block_m=128"), 1u);
  EXPECT_GE(count(text, "bench/suites/bandwidth.yaml:18"), 1u);
}

TEST_F(TrackPageBrowserTest, DriftsAreDrawnAndDated) {
  const std::string document = drawn(page_of(testing::sample_report(5)),
                                     "document.querySelectorAll('.open').forEach("
                                     "one => one.click());");
  EXPECT_EQ(count(body(document), "class=\"drift\""), 1u);
  EXPECT_EQ(count(body(document), "<li>drift of \u22125.69 % from nightly-1000"), 1u);
}

// A history that is shown and not judged: no tick, nothing "same", and a rise from 0 is a rise.
TEST_F(TrackPageBrowserTest, AHistoryWithoutAGateIsNeutral) {
  TrackReport report;
  report.head = {"9 runs", "", "5f76e6a91c3d1234567890123456789012345678-dirty", ""};
  ReportedCase& quiet = report.cases.emplace_back();
  quiet.name = "quiet";
  quiet.quantities.resize(1);
  quiet.quantities[0].gates = false;
  quiet.quantities[0].verdict = Quantity::Verdict::not_judged;
  ReportedCase& one = report.cases.emplace_back();
  one.name = "a";
  TrackedHistory history = testing::sample_history("arena bytes", "bytes", 0, 0, 9, {}, 1);
  for (size_t i = 6; i < 9; ++i)
    history.points[i].value = history.points[i].low = history.points[i].high = 524288;
  history.changes = {{track::Change::Kind::step, 6, 6, std::numeric_limits<double>::infinity()}};
  one.histories = {history};
  Quantity& arena = one.quantities.emplace_back();
  arena.name = "arena bytes";
  arena.unit = "bytes";
  arena.head = 524288;
  arena.gates = false;
  arena.verdict = Quantity::Verdict::not_judged;
  arena.reason = "step from 0 B";
  const std::string text = body(drawn(page_of(report), "document.querySelector('.open').click();"));
  EXPECT_EQ(count(text, "Nothing was to be judged"), 1u) << text;
  EXPECT_EQ(count(text, "5f76e6a91c3d-dirty"), 1u);
  EXPECT_LT(text.find("id=\"case-1\""), text.find("id=\"case-0\"")) << "what changed is first";
  EXPECT_EQ(count(text, "Passes"), 0u);
  EXPECT_EQ(count(text, "does not gate"), 0u);
  EXPECT_GE(count(text, "<li>step from 0 B to 512 KiB at "), 1u) << text;
  EXPECT_EQ(count(between(text, "class=\"step\"", ">"), "var(--fail)"), 1u);
}

// Other work ends a level without being a change.
TEST_F(TrackPageBrowserTest, ABreakOfAHistoryIsDrawnAndSaid) {
  TrackReport report;
  ReportedCase& one = report.cases.emplace_back();
  one.name = "a";
  one.histories = {testing::sample_history("time", "s", 1e-4, 0.001, 20, {}, 1)};
  one.histories[0].changes.clear();
  one.histories[0].breaks = {{12, "the work changed"}};
  Quantity& time = one.quantities.emplace_back();
  time.name = "time";
  time.unit = "s";
  time.head = 1e-4;
  const std::string text = body(drawn(page_of(report), "document.querySelector('.open').click();"));
  EXPECT_EQ(count(text, "class=\"break\""), 1u) << text;
  EXPECT_EQ(count(text, "class=\"step\""), 0u);
  EXPECT_EQ(count(text, "<li>the work changed at "), 1u);
  // A level on each side: the path moves twice.
  EXPECT_EQ(count(between(text, "class=\"level\" d=\"", "\""), "M"), 2u);
}

TEST_F(TrackPageBrowserTest, TheTableFiltersAndSorts) {
  const std::string page = page_of(testing::sample_report());
  const auto rows = [&](const std::string& script) {
    return between(drawn(page, script), "data-rows=\"", "\"");
  };
  const std::string search =
      "const box = document.querySelector('input');"
      "box.value = 'gelu BF16'; box.dispatchEvent(new Event('input'));";
  EXPECT_EQ(rows(search), "3");
  const std::string chips =
      "document.querySelectorAll('.chip').forEach(one => {"
      "  if (!one.textContent.includes('better')) one.click(); });";
  EXPECT_EQ(rows(chips), "2");
  EXPECT_EQ(rows("document.querySelectorAll('.chip').forEach(one => one.click());"), "0");
  const std::string quantity =
      "const list = document.querySelector('select[aria-label=quantity]');"
      "list.value = 'launches'; list.dispatchEvent(new Event('change'));";
  const std::string launches = drawn(page, quantity);
  EXPECT_EQ(between(launches, "data-rows=\"", "\""), "24");
  EXPECT_EQ(count(body(launches), "class=\"verdict-cell worse\""), 2u);  // by launches alone
  const std::string sorted =
      body(drawn(page,
                 "const sort = () => [...document.querySelectorAll('th button')]"
                 "  .find(one => one.textContent === 'case').click(); sort(); sort();"));
  EXPECT_EQ(count(sorted, "aria-sort=\"descending\""), 1u);
  EXPECT_LT(sorted.find(">transpose M=8192 N=4096 f32 #3<"), sorted.find(">softmax"));
}

TEST_F(TrackPageBrowserTest, KeysTellEachRunOfAHistory) {
  const std::string press =
      "document.querySelector('.open').click(); const plot = document.querySelector('.history');"
      "const key = name => plot.dispatchEvent(new KeyboardEvent('keydown', {key: name}));"
      "key('Home'); key('ArrowRight'); key('ArrowRight');";
  const std::string document = drawn(page_of(testing::sample_report(1)), press);
  EXPECT_NE(between(document, "role=\"status\"", "</div>").find("nightly-1002"), std::string::npos);
  EXPECT_NE(between(document, "role=\"status\"", "</div>").find("2026-01-03"), std::string::npos);
}

TEST_F(TrackPageBrowserTest, HostileNamesAreText) {
  const std::string document =
      drawn(page_of(testing::hostile_report()),
            "document.querySelectorAll('.open').forEach(one => one.click());");
  EXPECT_EQ(count(document, "data-drawn=\"2\""), 1u);
  EXPECT_EQ(title(document).find("report error"), std::string::npos) << title(document);
  EXPECT_GE(count(body(document), "&lt;/script&gt;&lt;script&gt;alert('x')"), 10u);
  EXPECT_EQ(count(document, "<img"), 0u);
  EXPECT_EQ(count(body(document), "NaN"), 0u) << body(document);
  EXPECT_EQ(count(body(document), "undefined"), 0u);
  EXPECT_EQ(count(body(document), "Infinity"), 0u);
}

TEST_F(TrackPageBrowserTest, NoCasesAndSeveralReports) {
  EXPECT_EQ(count(body(drawn(page_of({}))), "There is no case."), 1u);
  const std::vector<TrackReport> several = {testing::sample_report(3), testing::sample_report(5)};
  const std::string document = drawn(track_report_page(several),
                                     "const list = document.querySelector('.reports');"
                                     "list.value = 1; list.dispatchEvent(new Event('change'));");
  EXPECT_EQ(count(document, "data-drawn=\"5\""), 1u);
}

// 200 cases with 300 runs each: the table is there, and a case opens, within a second each.
TEST_F(TrackPageBrowserTest, ManyCasesAreFast) {
  const std::string page = page_of(testing::sample_report(200, 300));
  EXPECT_LT(page.size(), 25'000'000u);
  const std::string document =
      drawn(page,
            "let start = performance.now(); draw(0);"
            "document.body.dataset.draw = Math.round(performance.now() - start);"
            "start = performance.now(); document.querySelector('.open').click();"
            "document.body.dataset.open = Math.round(performance.now() - start);");
  EXPECT_EQ(count(document, "data-drawn=\"200\""), 1u);
  const std::string drew = between(document, "data-draw=\"", "\""),
                    opened = between(document, "data-open=\"", "\"");
  RecordProperty("draw_ms", drew);
  RecordProperty("open_ms", opened);
  EXPECT_LT(std::stoi(drew), 1000);
  EXPECT_LT(std::stoi(opened), 1000);
}

// docs/images/track-report.png, written anew where TCC_UPDATE_GOLDENS is set.
TEST_F(TrackPageBrowserTest, ThePictureOfTheDocs) {
  const std::filesystem::path picture = testing::source_dir() / "docs/images/track-report.png";
  if (std::getenv("TCC_UPDATE_GOLDENS")) {
    TrackReport report = testing::sample_report(12);
    report.notes.clear();
    std::string page = page_of(report);
    page.insert(page.rfind("</body>"),
                "<script>document.querySelectorAll('.open')[1].click();</script>");
    take_picture(page, picture, 1180, 1390);
  }
  EXPECT_TRUE(std::filesystem::exists(picture));
}

}  // namespace
}  // namespace tcc::tools
