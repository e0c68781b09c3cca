// tcc-track history and judge: 300 stored runs with planted steps and drifts, gates, machines that
// are never mixed, and one run against those before it.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "support/error.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"
#include "tools/track/history.h"
#include "tools/track/judge.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;
using track::Change;

// "2026-01-01T00:00:00Z" and hours later.
std::string date(int hours) {
  const int day = hours / 24;
  char text[32];
  std::snprintf(text, sizeof text, "2026-%02d-%02dT%02d:00:00Z", 1 + day / 28, 1 + day % 28,
                hours % 24);
  return text;
}

// A machine's runs look like this: run-to-run noise with slow waves and, now and then, a run that
// something else disturbed.
class Noise {
 public:
  explicit Noise(uint64_t seed, double deviation = 0.006) : random_(seed), deviation_(deviation) {}
  double next() {
    wave_ = 0.7 * wave_ + 0.4 * normal_(random_);
    double value = deviation_ * (normal_(random_) + wave_);
    if (uniform_(random_) < 0.02) value += 0.1 * uniform_(random_);
    return std::exp(value);
  }

 private:
  std::mt19937_64 random_;
  double deviation_, wave_ = 0;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_{0, 1};
};

class TrackHistory : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / str("tcc-history-", ::getpid());
    fs::create_directories(folder_ / "runs");
  }
  void TearDown() override { fs::remove_all(folder_); }

  TrackedRun run(int number, const std::string& host = "a") const {
    TrackedRun run;
    run.date = date(number);
    run.host = host;
    run.commit = str("c", number);
    run.description = "NVIDIA H200";
    run.target = "cuda:sm_90a";
    run.driver = number < 100 ? "550" : "580";
    run.name = new_run_name(run);
    return run;
  }
  void store(const TrackedRun& run, const std::vector<TrackedCase>& cases) const {
    std::ofstream file(folder_ / "runs" / (run.name + ".jsonl"));
    file << header_line(run);
    for (const TrackedCase& one : cases) file << case_lines(one);
    file << end_line({"complete", 1});
  }
  static TrackedCase one_case(const std::string& name, double time, double launches = 3) {
    TrackedCase one;
    one.name = name;
    one.kind = "graph";
    one.file = "suite.yaml";
    one.line = 4;
    one.quantities["time"] = {time, time * 0.99, time * 1.01, ""};
    one.quantities["launches"] = {launches, launches, launches, ""};
    return one;
  }
  std::vector<MachineHistory> load(const HistoryChoices& choices = {}) const {
    Damage damage;
    auto histories = load_histories(*open_store(folder_.string()), choices, damage);
    EXPECT_FALSE(damage.any());
    return histories;
  }
  testing::Outcome track(const std::string& command, const std::string& rest = "",
                         const std::string& environment = "") const {
    return testing::run_command(environment + " '" + testing::program("tcc-track").string() + "' " +
                                command + " --store '" + folder_.string() + "' " + rest + " 2>&1");
  }

  fs::path folder_;
};

const TrackedHistory& history_of(const TrackReport& report, size_t number) {
  return report.cases.at(number).histories.at(0);
}

// 40 cases of 300 runs. Ten have a step of 4 % or more, five a drift of 10 %; the other 25 change
// nothing. All are found, steps within 3 runs, and few of the 25 show anything.
TEST_F(TrackHistory, FindsAndDatesPlantedChanges) {
  constexpr int kRuns = 300, kSteps = 10, kDrifts = 5, kCases = 40;
  std::mt19937 random(3);
  std::vector<Noise> noise;
  std::vector<int> at;
  std::vector<double> by;
  for (int i = 0; i < kCases; ++i) {
    noise.emplace_back(100 + i);
    at.push_back(20 + static_cast<int>(random() % 180));
    by.push_back(i < kSteps ? (i % 2 == 0 ? 0.04 + 0.01 * i : -0.04 - 0.01 * i) : 0.1);
  }
  for (int r = 0; r < kRuns; ++r) {
    std::vector<TrackedCase> cases;
    for (int i = 0; i < kCases; ++i) {
      const auto k = static_cast<size_t>(i);
      double level = 1;
      if (i < kSteps && r >= at[k]) level = 1 + by[k];
      if (i >= kSteps && i < kSteps + kDrifts)
        level = 1 + by[k] * std::clamp((r - at[k]) / 80.0, 0.0, 1.0);
      cases.push_back(one_case(str("case ", 100 + i), 1e-4 * level * noise[k].next()));
    }
    store(run(r), cases);
  }
  const auto histories = load();
  ASSERT_EQ(histories.size(), 1u);
  const TrackReport report = history_report(histories[0], {});
  ASSERT_EQ(report.cases.size(), static_cast<size_t>(kCases));
  size_t dated = 0, false_positives = 0;
  for (int i = 0; i < kSteps; ++i) {
    const auto k = static_cast<size_t>(i);
    const TrackedHistory& history = history_of(report, k);
    ASSERT_EQ(history.points.size(), static_cast<size_t>(kRuns));
    for (const Change& change : history.changes) {
      const double distance = std::abs(static_cast<double>(change.first) - at[k]);
      if (change.kind == Change::Kind::step && distance <= 3 &&
          std::abs(change.ratio - 1 - by[k]) < 0.02)
        ++dated;
      else
        ++false_positives;
    }
  }
  EXPECT_EQ(dated, static_cast<size_t>(kSteps));
  size_t drifts = 0;
  for (int i = kSteps; i < kSteps + kDrifts; ++i) {
    const auto& changes = history_of(report, static_cast<size_t>(i)).changes;
    double total = 1;
    for (const Change& change : changes) total *= change.ratio;
    drifts += !changes.empty() && std::abs(total - 1.1) < 0.03;
  }
  EXPECT_EQ(drifts, static_cast<size_t>(kDrifts));
  for (int i = kSteps + kDrifts; i < kCases; ++i)
    false_positives += history_of(report, static_cast<size_t>(i)).changes.size();
  // 35 histories without another change, at 5 % each.
  EXPECT_LE(false_positives, 4u);
  RecordProperty("false_positives", static_cast<int>(false_positives));
}

TEST_F(TrackHistory, ExactQuantitiesChangeWhereTheyDiffer) {
  for (int r = 0; r < 12; ++r) store(run(r), {one_case("a", 1, r == 11 ? 4 : 3)});
  const TrackReport report = history_report(load()[0], {.runs = 2});
  const ReportedCase& one = report.cases.at(0);
  ASSERT_EQ(one.histories.at(1).quantity, "launches");
  ASSERT_EQ(one.histories[1].changes.size(), 1u);
  EXPECT_EQ(one.histories[1].changes[0].first, 11u);
  EXPECT_EQ(one.quantities.at(1).verdict, Quantity::Verdict::worse);
  EXPECT_EQ(one.quantities[1].base, 3);
  EXPECT_EQ(one.quantities[1].head, 4);
  EXPECT_EQ(one.file, "suite.yaml");
  EXPECT_EQ(one.line, 4);
  EXPECT_FALSE(report.passes());
}

TEST_F(TrackHistory, MachinesAreNeverMixed) {
  for (int r = 0; r < 20; ++r) {
    store(run(r, "fast"), {one_case("a", 1)});
    store(run(r, "slow"), {one_case("a", 9)});
  }
  const auto histories = load();
  ASSERT_EQ(histories.size(), 2u);
  for (const MachineHistory& machine : histories) {
    const TrackReport report = history_report(machine, {});
    EXPECT_EQ(history_of(report, 0).points.size(), 20u);
    EXPECT_TRUE(history_of(report, 0).changes.empty());
  }
  EXPECT_EQ(load({.machines = {"slow"}}).size(), 1u);
  EXPECT_EQ(load({.since = "2026-01-01T10"})[0].runs.size(), 10u);
  EXPECT_THROW(load({.since = "yesterday"}), Error);
  EXPECT_THROW(load({.machines = {"none"}}), Error);
}

// Runs of older commits that were made up for later stand where their commits do.
TEST_F(TrackHistory, OrdersByRunOrByCommit) {
  for (int r = 0; r < 6; ++r) {
    TrackedRun one = run(r);
    one.commit_date = date(100 - r);
    store(one, {one_case("a", 1 + r)});
  }
  EXPECT_EQ(load()[0].cases.at("a").quantities.at("time").values().front(), 1);
  EXPECT_EQ(load({.by_commit = true})[0].cases.at("a").quantities.at("time").values().front(), 6);
  EXPECT_EQ(load({.by_commit = true})[0].cases.at("a").last.quantities.at("time").value, 1);
}

TEST_F(TrackHistory, FailedRunsHaveNoPoint) {
  for (int r = 0; r < 5; ++r) {
    TrackedCase one = one_case("a", 1);
    if (r == 2 || r == 4) one.status = TrackedCase::Status::wrong, one.reason = "element 3";
    store(run(r), {one});
  }
  const TrackReport report = history_report(load()[0], {.runs = 1});
  EXPECT_EQ(history_of(report, 0).points.size(), 3u);
  EXPECT_FALSE(report.passes());
  bool failed = false;
  for (const Quantity& quantity : report.cases[0].quantities)
    failed |= quantity.verdict == Quantity::Verdict::failed && quantity.reason == "element 3";
  EXPECT_TRUE(failed);
}

TEST_F(TrackHistory, KernelsHaveHistoriesUnderTheirLayers) {
  for (int r = 0; r < 30; ++r) {
    TrackedCase one = one_case("a", 1);
    TrackedKernel kernel;
    kernel.region = r < 15 ? "old" : "redesigned";
    kernel.key = kernel.region;
    kernel.layers = {"fc1"};
    kernel.seconds = r < 15 ? 1.0 : 0.5;
    one.kernels = {kernel};
    store(run(r), {one});
  }
  const TrackReport report = history_report(load({.kernels = true})[0], {.runs = 20});
  const TrackedHistory& history = report.cases[0].histories.at(1);
  EXPECT_EQ(history.quantity, "kernel fc1");
  EXPECT_EQ(history.unit, "s");
  EXPECT_EQ(history.points.size(), 30u) << "a redesign does not cut it";
  ASSERT_EQ(history.changes.size(), 1u);
  EXPECT_EQ(history.changes[0].first, 15u);
  EXPECT_EQ(report.cases[0].head_kernels.at(0).region, "redesigned");
  EXPECT_TRUE(report.passes());
}

TEST_F(TrackHistory, TheProgramPrintsDatesAndGates) {
  Noise noise(5);
  for (int r = 0; r < 60; ++r) {
    TrackedCase one = one_case("a", (r < 50 ? 1e-4 : 1.2e-4) * noise.next());
    one.budget["launches"] = 3;
    store(run(r), {one});
  }
  const auto plain = track("history");
  EXPECT_EQ(plain.code, 0) << plain.text;
  EXPECT_NE(plain.text.find("at run 51 of 60, 2026-01-03, c49..c50"), std::string::npos)
      << plain.text;
  EXPECT_EQ(track("history", "--gate 12").code, 1);
  EXPECT_EQ(track("history", "--gate").code, 1) << "of 20 runs";
  EXPECT_EQ(track("history", "--gate 5").code, 0) << "it is older";
  EXPECT_EQ(plain.text, track("history", "", "TZ=Asia/Tokyo").text);
  const auto nothing = track("history", "--gate 5 --case b");
  EXPECT_EQ(nothing.code, 2) << "such a gate would never fail";
  EXPECT_NE(nothing.text.find("no case's name holds 'b'; there are 'a'"), std::string::npos)
      << nothing.text;
  // A budget.
  TrackedCase over = one_case("a", 1.2e-4, 4);
  over.budget["launches"] = 3;
  store(run(60), {over});
  const auto gated = track("history", "--gate 1");
  EXPECT_EQ(gated.code, 1);
  EXPECT_NE(gated.text.find("gate: a, launches: over budget"), std::string::npos) << gated.text;
}

TEST_F(TrackHistory, WithoutAGateNothingIsJudged) {
  for (int r = 0; r < 12; ++r) {
    TrackedCase one = one_case("a", 1e-4);
    const double arena = r < 6 ? 0 : 524288;
    one.quantities["arena bytes"] = {arena, arena, arena, ""};
    store(run(r), {one});
  }
  const MachineHistory machine = load().at(0);
  for (const size_t gate : {0, 12}) {
    const TrackReport report = history_report(machine, {.runs = gate});
    for (const Quantity& quantity : report.cases.at(0).quantities) {
      const bool rose = quantity.name == "arena bytes";
      EXPECT_EQ(quantity.verdict, gate == 0 ? Quantity::Verdict::not_judged
                                  : rose    ? Quantity::Verdict::worse
                                            : Quantity::Verdict::same);
      EXPECT_EQ(quantity.base.has_value(), gate > 0);
      if (rose) {
        EXPECT_EQ(quantity.reason.find("step from 0 B to 512.0 KiB at run 7 of 12"), 0u)
            << quantity.reason;
      }
    }
    EXPECT_EQ(report.passes(), gate == 0);
  }
  EXPECT_NE(track("history").text.find("0 B to 512.0 KiB 2026-01-01"), std::string::npos);
}

// ---- One run against those before it.

// Quantities that became worse stand first; what cannot be measured is a count.
TEST(TrackJudgeTable, FindingsFirst) {
  TrackReport report;
  report.smallest = 0.05;
  const auto add = [&](const char* name, Quantity::Verdict verdict, std::optional<double> visible) {
    Quantity quantity;
    quantity.name = "time";
    quantity.unit = "s";
    quantity.base = quantity.head = 1e-3;
    quantity.effect = track::Effect{1, 0.9, 1.1, 0.1, 8};
    quantity.visible = visible;
    quantity.verdict = verdict;
    report.cases.emplace_back().name = name;
    report.cases.back().quantities = {quantity};
  };
  add("same", Quantity::Verdict::same, 0.04);
  add("noisy", Quantity::Verdict::unmeasurable, 0.2);
  add("noisier", Quantity::Verdict::unmeasurable, 1.5);
  add("better", Quantity::Verdict::better, 0.04);
  add("slow", Quantity::Verdict::worse, 0.04);
  const std::string text = judge_table(report);
  EXPECT_LT(text.find("\nslow "), text.find("\nbetter ")) << text;
  EXPECT_LT(text.find("\nbetter "), text.find("\nsame ")) << text;
  EXPECT_EQ(text.find("\nnois"), std::string::npos) << text;
  EXPECT_NE(text.find("2 quantities are not measurable, since runs differ too much: a change of "
                      "up to +150.0 % (noisier, time) could have been missed."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("probability of 5 %"), std::string::npos) << text;
}

TEST_F(TrackHistory, JudgesTheNewestRun) {
  std::vector<Noise> noise;
  for (int i = 0; i < 10; ++i) noise.emplace_back(30 + i, 0.003);
  const auto add = [&](int number, double change, double launches) {
    std::vector<TrackedCase> cases;
    for (size_t i = 0; i < noise.size(); ++i)
      cases.push_back(one_case(str("case ", i), 1e-4 * noise[i].next() * (i == 3 ? change : 1),
                               i == 4 ? launches : 3));
    store(run(number), cases);
  };
  for (int r = 0; r < 30; ++r) add(r, 1, 3);
  EXPECT_EQ(track("judge", "--smallest 15").code, 0) << track("judge", "--smallest 15").text;
  add(30, 1.4, 4);
  const auto outcome = track("judge", "--smallest 15");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("2 worse"), std::string::npos) << outcome.text;
  // The run before it is judged by what was known then.
  const std::vector<std::string> names = open_store(folder_.string())->names();
  EXPECT_EQ(track("judge", "--smallest 15 --run " + names[29]).code, 0);
  EXPECT_EQ(track("judge", "--run nothing").code, 2);
}

// An intended change is accepted once: the gate and judge count from there.
TEST_F(TrackHistory, AcceptsAnIntendedChange) {
  Noise noise(6, 0.003);
  for (int r = 0; r < 40; ++r) {
    const bool changed = r >= 36;
    TrackedCase one = one_case("a", 1e-4 * noise.next() * (changed ? 1.5 : 1), changed ? 4 : 3);
    // A quantity that later runs have no more.
    const double words = r < 29 ? 5 : 6;
    if (r < 31) one.quantities["words"] = {words, words, words, "exact"};
    store(run(r), {one, one_case("b", 1e-4 * noise.next())});
    if (r < 33) continue;
    EXPECT_EQ(track("judge", "--smallest 15").code, changed ? 1 : 0)
        << r << ": a run again passes no more than the first";
  }
  EXPECT_EQ(track("history", "--gate").code, 1);
  const std::string first = open_store(folder_.string())->names()[36];
  EXPECT_EQ(track("accept", "--case a --note why --run nothing").code, 2);
  EXPECT_EQ(track("accept", "--case a --quantity tim --note why").code, 2);
  const auto misspelt = track("accept", "--case aa --note why");
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_NE(misspelt.text.find("has no case 'aa'; did you mean 'a'?"), std::string::npos)
      << misspelt.text;
  ASSERT_EQ(track("accept", "--case a --quantity time --note why --run " + first).code, 0);
  EXPECT_EQ(track("judge", "--smallest 15").code, 1) << "launches were not accepted";
  ASSERT_EQ(track("accept", "--case a --note 'a larger model' --run " + first).code, 0);
  const auto judged = track("judge", "--smallest 15");
  EXPECT_EQ(judged.code, 0) << judged.text;
  const auto gated = track("history", "--gate");
  EXPECT_EQ(gated.code, 0) << gated.text;
  EXPECT_NE(gated.text.find("a, launches: accepted from run 37 of 40 on: a larger model"),
            std::string::npos)
      << gated.text;
  EXPECT_EQ(load()[0].runs.size(), 40u) << "what accepts is no run";
  // Runs after it are judged.
  TrackedRun next = run(40);
  next.date = "2999-01-01T00:00:00Z";
  next.name = new_run_name(next);
  store(next, {one_case("a", 1.5e-4, 5), one_case("b", 1e-4)});
  EXPECT_EQ(track("judge", "--smallest 15").code, 1);
  EXPECT_EQ(track("history", "--gate").code, 1);
  ASSERT_EQ(track("accept", "--case a --note again").code, 0);
  EXPECT_EQ(track("judge", "--smallest 15").code, 0) << "the accepted run itself";
}

TEST_F(TrackHistory, DirtyCommitsStayDirty) {
  for (int r = 0; r < 3; ++r) {
    TrackedRun one = run(r);
    one.commit = r == 0 ? "0000000000000001" : "bec1e95f90123456";
    if (r == 2) one.commit += "-dirty";
    one.name = new_run_name(one);
    EXPECT_EQ(one.name.find("-dirty-") != std::string::npos, r == 2) << one.name;
    store(one, {one_case("a", 1, r == 2 ? 4 : 3)});
  }
  const auto history = track("history");
  EXPECT_NE(history.text.find("bec1e95f90..bec1e95f90-dirty"), std::string::npos) << history.text;
  const auto clean = track("explain a", "--head bec1e95");
  EXPECT_NE(clean.text.find("head " + open_store(folder_.string())->names()[1]), std::string::npos)
      << clean.text;
  const auto dirty = track("explain a", "--head bec1e95f90123456-dirty");
  EXPECT_NE(dirty.text.find("head " + open_store(folder_.string())->names()[2]), std::string::npos)
      << dirty.text;
  EXPECT_NE(track("explain aa").text.find("did you mean 'a'?"), std::string::npos);
}

TEST_F(TrackHistory, MoreIsBetterForSomeCounters) {
  for (int r = 0; r < 21; ++r) {
    TrackedCase one = one_case("a", 1);
    const double value = r < 20 ? 0.75 : 0.5;
    one.quantities["top1"] = {value, value, value, "more"};
    one.quantities["loss"] = {value, value, value, "less"};
    store(run(r), {one});
  }
  const TrackReport report = judge_stored(*open_store(folder_.string()), "", {});
  for (const Quantity& quantity : report.cases.at(0).quantities) {
    if (quantity.name == "top1") { EXPECT_EQ(quantity.verdict, Quantity::Verdict::worse); }
    if (quantity.name == "loss") { EXPECT_EQ(quantity.verdict, Quantity::Verdict::better); }
  }
}

TEST_F(TrackHistory, ErrorsMayGrowByAFactor) {
  for (const double error : {1e-4, 1.9e-4, 2.1e-4}) {
    for (int r = 0; r < 3; ++r) {
      TrackedCase one = one_case("a", 1);
      const double value = r < 2 ? 1e-4 : error;
      one.quantities["error"] = {value, value, value, ""};
      TrackedRun header = run(r);
      header.host = str("h", error);
      header.name = new_run_name(header);
      store(header, {one});
    }
    const auto histories = load({.machines = {str("h", error)}});
    EXPECT_EQ(judged_report(histories.at(0), 2, {}).passes(), error < 2e-4) << error;
  }
}

}  // namespace
}  // namespace tcc::tools
