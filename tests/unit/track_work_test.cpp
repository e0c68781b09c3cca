// The work of a case: what changes its hash and what does not, and what a history does where it
// changed.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include <gtest/gtest.h>

#include "ir/text.h"
#include "support/error.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"
#include "tools/track/history.h"
#include "tools/track/judge.h"
#include "tools/track/work.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;
using Verdict = Quantity::Verdict;

constexpr const char* kGraph = R"(graph @g(B = 4) {
  %x: f32[B, 8] = input
  %w: f32[8, 8] = weight
  %v: f32[8, 8] = weight
  %half: f32[] = const 0.5
  %a: f32[B, 8] = linear(%x, %w, _)
  %b: f32[B, 8] = linear(%x, %v, _)
  %c: f32[B, 8] = gelu(%a) {approximate = "tanh"}
  %d: f32[B, 8] = mul(%b, %half)
  %y: f32[B, 8] = add(%c, %d)
  return %y
})";

std::string work(const std::string& text, int64_t batch = 4,
                 const std::string& precision = "highest") {
  return work_of(ir::parse_graph(text).bind({{"B", batch}}), precision);
}
std::string work_with(const std::string& from, const std::string& to) {
  std::string text = kGraph;
  const size_t at = text.find(from);
  TCC_CHECK(at != std::string::npos, from);
  return work(text.replace(at, from.size(), to));
}

TEST(TrackWork, NamesAndOrderDoNotCount) {
  const std::string here = work(kGraph);
  EXPECT_EQ(work(std::regex_replace(kGraph, std::regex("%([a-dvwxy])\\b"), "%other_$1")), here);
  EXPECT_EQ(work_with("graph @g", "graph @h"), here);
  EXPECT_EQ(work_with("  %c: f32[B, 8] = gelu(%a) {approximate = \"tanh\"}\n"
                      "  %d: f32[B, 8] = mul(%b, %half)\n",
                      "  %d: f32[B, 8] = mul(%b, %half)\n"
                      "  %c: f32[B, 8] = gelu(%a) {approximate = \"tanh\"}\n"),
            here);
  EXPECT_EQ(work_with("  return", "  %unused: f32[B, 8] = relu(%y)\n  return"), here);
}

TEST(TrackWork, WhatIsComputedCounts) {
  const std::string here = work(kGraph);
  EXPECT_NE(work(kGraph, 5), here);
  EXPECT_NE(work(kGraph, 4, "medium"), here);
  EXPECT_NE(work_with(" {approximate = \"tanh\"}", ""), here);
  EXPECT_NE(work_with("const 0.5", "const 0.25"), here);
  EXPECT_NE(work_with("= add(%c", "= sub(%c"), here);
  EXPECT_NE(work_with("add(%c, %d)", "add(%d, %c)"), here);
  EXPECT_NE(work_with("return %y", "return %y, %d"), here);
  EXPECT_NE(work_with("= weight", "= mutable weight"), here);
  EXPECT_NE(work_with("linear(%x, %v, _)", "linear(%x, %w, _)"), here)
      << "a weight that is used twice is less to read than two";
  std::string narrow = std::regex_replace(kGraph, std::regex("f32"), "bf16");
  EXPECT_NE(work(narrow), here);
}

// If this fails, hashes of unchanged graphs changed: increase the scheme in work.cpp.
TEST(TrackWork, TheHashOfAGraphStays) {
  EXPECT_EQ(work(kGraph), "1:3999576ad5ca6a13ea4ce91edff9330c");
}

TEST(TrackWork, UnknownWorksDoNotDiffer) {
  EXPECT_TRUE(works_differ("1:a", "1:b"));
  EXPECT_FALSE(works_differ("1:a", "1:a"));
  EXPECT_FALSE(works_differ("", "1:b"));
  EXPECT_FALSE(works_differ("1:a", "2:a")) << "another scheme";
}

// ---- Stored runs.

class TrackWorkHistory : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / str("tcc-work-", ::getpid());
    fs::create_directories(folder_ / "runs");
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Run `number` of a case "a".
  void store(int number, const std::string& work, double time, double launches,
             const std::string& compiler = "c 1") const {
    TrackedRun run;
    run.date = str("2026-01-", number < 9 ? "0" : "", number + 1, "T00:00:00Z");
    run.host = "h";
    run.commit = str("c", number);
    run.compiler = compiler;
    run.name = new_run_name(run);
    TrackedCase one;
    one.name = "a";
    one.kind = "graph";
    one.work = work;
    // Times of real runs are never all the same.
    one.quantities["time"] = {time * (1 + 1e-3 * (number % 3)), time, time, ""};
    one.quantities["launches"] = {launches, launches, launches, ""};
    std::ofstream file(folder_ / "runs" / (run.name + ".jsonl"));
    file << header_line(run) << case_lines(one) << end_line({"complete", 1});
  }
  TrackReport judged(bool any_work = false) const {
    return judge_stored(*open_store(folder_.string()), "", {.any_work = any_work});
  }
  TrackReport history(bool any_work = false) const {
    Damage damage;
    const auto machines =
        load_histories(*open_store(folder_.string()), {.any_work = any_work}, damage);
    return history_report(machines.at(0), {.runs = 20});
  }
  static const Quantity& quantity(const TrackReport& report, const std::string& name) {
    for (const Quantity& one : report.cases.at(0).quantities)
      if (one.name == name) return one;
    throw InternalError("no " + name);
  }

  fs::path folder_;
};

TEST_F(TrackWorkHistory, OtherWorkBeginsANewLevel) {
  for (int r = 0; r < 10; ++r) store(r, "1:a", 1e-4, 3);
  store(10, "1:b", 2e-4, 5);
  TrackReport report = judged();
  EXPECT_TRUE(report.passes());
  EXPECT_EQ(quantity(report, "launches").verdict, Verdict::not_judged);
  EXPECT_EQ(quantity(report, "launches").reason, "the work changed");
  EXPECT_EQ(quantity(report, "launches").base, 3);
  EXPECT_EQ(quantity(report, "launches").head, 5);
  EXPECT_EQ(report.notes, std::vector<std::string>{"a: the work changed, 2026-01-11, c9..c10"});
  EXPECT_FALSE(judged(true).passes()) << "--any-work";
  // The new level is held from its second run on, and times from the seventh.
  store(11, "1:b", 2e-4, 5);
  EXPECT_EQ(quantity(judged(), "launches").verdict, Verdict::same);
  for (int r = 12; r < 18; ++r) store(r, "1:b", 2e-4, 5);
  EXPECT_EQ(quantity(judged(), "time").verdict, Verdict::same);
  report = history();
  EXPECT_TRUE(report.passes());
  for (const TrackedHistory& one : report.cases.at(0).histories) {
    EXPECT_TRUE(one.changes.empty()) << one.quantity;
    ASSERT_EQ(one.breaks.size(), 1u);
    EXPECT_EQ(one.breaks[0].point, 10u);
  }
  EXPECT_FALSE(history(true).passes()) << "--any-work";
  store(18, "1:b", 4e-4, 6);
  EXPECT_EQ(quantity(judged(), "launches").verdict, Verdict::worse);
  EXPECT_EQ(quantity(judged(), "time").verdict, Verdict::worse);
  EXPECT_FALSE(history().passes());
}

TEST_F(TrackWorkHistory, RecordsOfBeforeAreUnknown) {
  for (int r = 0; r < 10; ++r) store(r, "", 1e-4, 3);
  store(10, "1:b", 2e-4, 5);
  const TrackReport report = judged();
  EXPECT_EQ(quantity(report, "launches").verdict, Verdict::worse);
  EXPECT_EQ(quantity(report, "time").verdict, Verdict::worse);
  // The work that was known before a run of unknown work still counts after it.
  store(11, "", 2e-4, 3);
  store(12, "1:a", 2e-4, 3);
  ASSERT_EQ(history().cases.at(0).histories.at(0).breaks.size(), 1u);
  EXPECT_EQ(history().cases.at(0).histories[0].breaks[0].point, 12u);
}

// The suite's dims are the same; the graph's own defaults are not.
TEST_F(TrackWorkHistory, AChangedDefaultDimIsNoRegression) {
  const auto run = [&](int batch) {
    std::ofstream(folder_ / "g.yaml")
        << "tcc: 1\ndims: {B: " << batch << "}\ninputs:\n  x: {dtype: f32, shape: [B, 64]}\n"
        << "nodes:\n  - {out: y, op: softmax, in: [x], dim: 0}\noutputs: [y]\n";
    std::ofstream(folder_ / "s.yaml") << "suite: s\ncases: [{graph: g.yaml, name: g}]\n";
    return testing::run_command("cd '" + folder_.string() + "' && '" +
                                testing::program("tcc-track").string() +
                                "' run s.yaml --target vulkan --host any --store st --judge 2>&1");
  };
  EXPECT_EQ(run(64).code, 0);
  EXPECT_NE(run(64).text.find("1 case: 1 same"), std::string::npos);
  const auto changed = run(65536);
  EXPECT_EQ(changed.code, 0) << changed.text;
  EXPECT_NE(changed.text.find("g: the work changed"), std::string::npos) << changed.text;
  const auto explained =
      testing::run_command("cd '" + folder_.string() + "' && '" +
                           testing::program("tcc-track").string() + "' explain g --store st 2>&1");
  EXPECT_NE(explained.text.find("The work changed"), std::string::npos) << explained.text;
}

}  // namespace
}  // namespace tcc::tools
