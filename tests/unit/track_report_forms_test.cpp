// Reports of tcc-track for other programs: JUnit, SARIF, Google Benchmark; and the options by which
// all forms are written.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "support/file.h"
#include "tests/expect_error.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"
#include "tests/unit/track_report_fixture.h"
#include "tools/track/report_google.h"
#include "tools/track/report_json.h"
#include "tools/track/report_junit.h"
#include "tools/track/report_options.h"
#include "tools/track/report_sarif.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::span<const TrackReport> only(const TrackReport& report) { return {&report, 1}; }

size_t count(const std::string& text, const std::string& words) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(words, at)) != std::string::npos; ++at) ++count;
  return count;
}

// A report of which every form is short enough to stand in a test.
TrackReport small_report() {
  TrackReport report = testing::sample_report(0);
  report.notes.clear();
  ReportedCase slower, unmeasurable, wrong;
  slower.name = "softmax";
  slower.file = "suites/a.yaml";
  slower.line = 7;
  slower.quantities = {testing::timed(1e-5, 1.02, 0, Quantity::Verdict::worse, 1),
                       testing::counted("launches", "", 3, 4),
                       testing::counted("compile time", "s", 1, 2)};
  slower.quantities[0].budget = 1e-5;
  slower.quantities[0].over_budget = true;
  slower.quantities[2].gates = false;
  unmeasurable.name = "matmul";
  unmeasurable.quantities = {testing::timed(2e-5, 1.001, 0.1, Quantity::Verdict::unmeasurable, 2)};
  wrong.name = "conv";
  wrong.quantities.resize(1);
  wrong.quantities[0].name = "time";
  wrong.quantities[0].unit = "s";
  wrong.quantities[0].verdict = Quantity::Verdict::failed;
  wrong.quantities[0].reason = "the results differ by 3 %";
  report.cases = {slower, unmeasurable, wrong};
  return report;
}

// ---- JUnit

TEST(TrackReportJunitTest, ACaseIsATest) {
  const std::string text = report_junit(only(small_report()));
  EXPECT_EQ(text.find("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                      "<testsuites name=\"tcc-track\" tests=\"3\" failures=\"2\" errors=\"0\">\n"
                      "  <testsuite name=\"build/head against build/base on NVIDIA H200\" "
                      "tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"1\" time=\"143.200\" "
                      "timestamp=\"2026-11-22T12:31:05Z\">\n"),
            0u)
      << text;
  EXPECT_EQ(count(text,
                  "<failure type=\"over budget\" message=\"time: over budget, 10.00 us -&gt; "
                  "10.20 us, +2.00 % (+2.00 % .. +2.00 %), budget 10.00 us, would see 0.50 %"
                  "&#10;launches: worse, 3 -&gt; 4, +33.3 %: more than the base has\"/>"),
            1u)
      << text;
  EXPECT_EQ(count(text,
                  "<failure type=\"failed\" message=\"time: failed: the results differ by 3 %"
                  "\"/>"),
            1u)
      << text;
  EXPECT_EQ(count(text, "<skipped "), 1u);
  EXPECT_EQ(count(text, "compile time: worse, 1.000 s -&gt; 2.000 s, +100.0 %, does not gate"), 1u);
  EXPECT_EQ(count(text, "<testcase classname=\"a\" name=\"softmax\">"), 1u);
  EXPECT_EQ(count(text, "suites/a.yaml:7"), 1u);
}

TEST(TrackReportJunitTest, WhatIsNotJudgedIsSkipped) {
  TrackReport report = small_report();
  report.cases.resize(1);
  report.cases[0].quantities = {testing::counted("launches", "", 3, 3)};
  report.cases[0].quantities[0].base.reset();
  report.cases[0].quantities[0].verdict = Quantity::Verdict::not_judged;
  const std::string text = report_junit(only(report));
  EXPECT_EQ(count(text, "<skipped message=\"not judged\"/>"), 1u) << text;
  EXPECT_EQ(count(text, "&#10;launches: not judged, 3</system-out>"), 1u) << text;
}

// Well-formed, and valid by the schema that Jenkins publishes, as far as that is short to say.
TEST(TrackReportJunitTest, HostileNamesAreText) {
  const std::string text = report_junit(only(testing::hostile_report()));
  for (const char* words : {"<script", "<img", "<!--", "\x01", "\xff", "nan", "inf "})
    EXPECT_EQ(text.find(words), std::string::npos) << words;
  EXPECT_EQ(count(text, "<testcase "), 2u);
  EXPECT_GT(count(text, "&lt;/script&gt;&lt;script&gt;"), 5u);
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= ' ');
  if (testing::run_command("command -v xmllint").code != 0) GTEST_SKIP() << "no xmllint";
  const fs::path file = fs::path(::testing::TempDir()) / "tcc-junit.xml";
  write_file_atomic(file, text);
  const auto outcome = testing::run_command("xmllint --noout '" + file.string() + "' 2>&1");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
}

// ---- SARIF

TEST(TrackReportSarifTest, WhatGatesIsAResult) {
  const json sarif = json::parse(report_sarif(only(small_report())));
  EXPECT_EQ(sarif["version"], "2.1.0");
  ASSERT_EQ(sarif["runs"].size(), 1u);
  const json& run = sarif["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["name"], "tcc-track");
  EXPECT_EQ(run["automationDetails"]["id"], "tcc-track/cuda:sm_90a/");
  std::vector<std::string> rules;
  for (const json& rule : run["tool"]["driver"]["rules"]) rules.push_back(rule["id"]);
  EXPECT_EQ(rules, (std::vector<std::string>{"failed", "more-compile-time", "more-launches",
                                             "over-budget", "slower"}));
  EXPECT_EQ(
      run["tool"]["driver"]["rules"][0]["help"]["text"],
      "Which kernels of the case changed: tcc-track explain CASE --base BASE --head HEAD SUITE. "
      "This report is of: tcc-track compare build/base build/head bench/suites/bandwidth.yaml");
  ASSERT_EQ(run["results"].size(), 5u);
  const json& slower = run["results"][1];
  EXPECT_EQ(slower["ruleId"], "slower");
  EXPECT_EQ(slower["ruleIndex"], 4);
  EXPECT_EQ(slower["level"], "error");
  EXPECT_EQ(slower["message"]["text"],
            "softmax: time 10.00 us -> 10.20 us, +2.00 % (95 % interval +2.00 % .. +2.00 %).");
  const json& place = slower["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["region"]["startLine"], 7);
  EXPECT_EQ(run["results"][3]["level"], "warning");  // compile time does not gate
  EXPECT_EQ(run["results"][4]["ruleId"], "failed");
  EXPECT_TRUE(run["results"][4]["locations"].empty());
  // A fingerprint tells the results apart, and stays where a line moves.
  std::set<std::string> fingerprints;
  for (const json& result : run["results"])
    fingerprints.insert(result["partialFingerprints"]["primaryLocationLineHash"]);
  EXPECT_EQ(fingerprints.size(), 5u);
  TrackReport moved = small_report();
  moved.cases[0].line = 70;
  EXPECT_EQ(json::parse(report_sarif(only(moved)))["runs"][0]["results"][1]["partialFingerprints"],
            slower["partialFingerprints"]);
}

TEST(TrackReportSarifTest, HostileNamesAndNoCases) {
  const json run = json::parse(report_sarif(only(testing::hostile_report())))["runs"][0];
  for (const json& result : run["results"]) {
    EXPECT_TRUE(std::regex_match(
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].get<std::string>(),
        std::regex("file:///etc/[A-Za-z0-9._~%/-]+")));
    EXPECT_EQ(result["locations"][0]["physicalLocation"]["region"]["startLine"], 1);
  }
  EXPECT_TRUE(json::parse(report_sarif(only({})))["runs"][0]["results"].empty());
}

TEST(TrackReportSarifTest, FilesAreTheRepositorys) {
  const fs::path root =
      fs::path(::testing::TempDir()) / ("tcc-sarif-" + std::to_string(::getpid()));
  fs::create_directories(root / ".git");
  fs::create_directories(root / "bench/my suites");
  EXPECT_EQ(repository_uri(root / "bench/my suites/../my suites/\xc3\xa9.yaml"),
            "bench/my%20suites/%C3%A9.yaml");
  EXPECT_EQ(repository_uri("/nowhere/a b.yaml"), "file:///nowhere/a%20b.yaml");
  fs::remove_all(root);
}

// ---- Google Benchmark

TEST(TrackReportGoogleTest, TimesAreBenchmarks) {
  const json head = json::parse(report_google_benchmark(only(small_report()), ReportSide::head));
  const json base = json::parse(report_google_benchmark(only(small_report()), ReportSide::base));
  EXPECT_EQ(head["context"]["device"], "NVIDIA H200");
  EXPECT_EQ(head["context"]["commit"], "5f76e6a91c3d");
  EXPECT_EQ(base["context"]["executable"], "build/base");
  EXPECT_TRUE(head["context"]["caches"].is_array());
  ASSERT_EQ(head["benchmarks"].size(), 3u);
  ASSERT_EQ(base["benchmarks"].size(), 3u);
  const json& softmax = head["benchmarks"][0];
  EXPECT_EQ(softmax["name"], "softmax");
  EXPECT_NEAR(softmax["real_time"].get<double>(), 10200, 1e-6);
  EXPECT_EQ(softmax["cpu_time"], softmax["real_time"]);
  EXPECT_EQ(softmax["time_unit"], "ns");
  EXPECT_EQ(softmax["iterations"], 18);
  EXPECT_EQ(softmax["launches"], 4.0);
  EXPECT_EQ(base["benchmarks"][0]["launches"], 3.0);
  EXPECT_EQ(head["benchmarks"][1]["name"], "softmax/compile time");
  EXPECT_EQ(head["benchmarks"][1]["iterations"], 1);
  EXPECT_FALSE(head["benchmarks"][1].contains("launches"));
}

TEST(TrackReportGoogleTest, HostileNamesAndNoCases) {
  TrackReport report = testing::hostile_report();
  report.cases[0].quantities[3].name = "real_time";  // no counter takes a member's place
  report.cases[0].quantities[0].head = 3;
  const json hostile = json::parse(report_google_benchmark(only(report), ReportSide::head));
  ASSERT_EQ(hostile["benchmarks"].size(), 2u);
  EXPECT_EQ(hostile["benchmarks"][0]["real_time"], 3e9);
  EXPECT_TRUE(json::parse(report_google_benchmark({}, ReportSide::head))["benchmarks"].empty());
}

// ---- options

class TrackReportOptionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("tcc-forms-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    results_ = folder_ / "results.json";
    write_file_atomic(results_, report_json(small_report(), JsonWriter::Style::indented));
  }
  void TearDown() override { fs::remove_all(folder_); }
  testing::Outcome report(const std::string& arguments) const {
    return testing::run_command("cd '" + folder_.string() + "' && '" +
                                testing::program("tcc-track").string() + "' report " + arguments +
                                " 2>&1");
  }
  fs::path folder_, results_;
};

TEST_F(TrackReportOptionsTest, TheProgramWritesEveryForm) {
  const testing::Outcome outcome = report(
      "results.json --results a.json --html a.html --markdown a.md --junit a.xml "
      "--sarif a.sarif --google-benchmark head.json --google-benchmark-base base.json");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.text,
            "build/head against build/base on NVIDIA H200\n"
            "3 cases: 1 failed, 1 over budget, 1 not measurable\n");
  EXPECT_EQ(read_file(folder_ / "a.json"), read_file(results_) + "\n");
  const std::pair<const char*, const char*> starts[] = {{"a.html", "<!doctype html>"},
                                                        {"a.md", "<!-- tcc-track -->"},
                                                        {"a.xml", "<?xml "},
                                                        {"a.sarif", "{\n  \"$schema\""},
                                                        {"head.json", "{\n  \"context\""},
                                                        {"base.json", "{\n  \"context\""}};
  for (const auto& [file, start] : starts)
    EXPECT_TRUE(read_file(folder_ / file).starts_with(start)) << file;
}

TEST_F(TrackReportOptionsTest, StandardOutputHoldsOneForm) {
  const testing::Outcome one = report("results.json --markdown -");
  EXPECT_EQ(one.code, 0);
  EXPECT_TRUE(one.text.starts_with("<!-- tcc-track -->\n### ")) << one.text;
  EXPECT_EQ(count(one.text, "build/head against"), 1u);
  const testing::Outcome two = report("results.json --markdown - --junit -");
  EXPECT_EQ(two.code, 2);
  EXPECT_EQ(count(two.text, "--junit -: another report goes there too"), 1u) << two.text;
}

TEST_F(TrackReportOptionsTest, SeveralResultsAreOneReport) {
  const testing::Outcome outcome = report("results.json results.json --junit a.xml");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(count(read_file(folder_ / "a.xml"), "<testsuite "), 2u);
  // Saved as a list, which is read like the single ones.
  EXPECT_EQ(report("results.json results.json --results a.json").code, 0);
  EXPECT_EQ(report("a.json results.json --junit b.xml").code, 0);
  EXPECT_EQ(count(read_file(folder_ / "b.xml"), "<testsuite "), 3u);
}

TEST_F(TrackReportOptionsTest, WhatCannotBeReadOrWrittenIsSaid) {
  const testing::Outcome folder = report("results.json --html nowhere/a.html");
  EXPECT_EQ(folder.code, 2);
  EXPECT_EQ(count(folder.text, "--html nowhere/a.html: there is no folder nowhere"), 1u);
  std::ofstream(folder_ / "none.json") << "[]";
  EXPECT_EQ(count(report("none.json --html a.html").text, "none.json: holds no report"), 1u);
  std::ofstream(folder_ / "bad.json") << "{\n\"tcc_track\": 1,\n";
  const testing::Outcome bad = report("bad.json");
  EXPECT_EQ(bad.code, 2);
  EXPECT_EQ(count(bad.text, "bad.json:3: is not JSON"), 1u) << bad.text;
}

}  // namespace
}  // namespace tcc::tools
