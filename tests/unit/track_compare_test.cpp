// tcc-track compare as a program, on libraries whose times and faults are simulated
// (tests/track/stand_in.cpp).
#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/error.h"
#include "support/file.h"
#include "tests/run_command.h"
#include "tests/sanitized.h"
#include "tests/source_dir.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Outcome;

class TrackCompareTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::kSanitized) GTEST_SKIP() << "libraries are opened with RTLD_DEEPBIND";
    folder_ = fs::temp_directory_path() / str("tcc-track-compare-", getpid());
    for (const char* side : {"base", "head"}) library(side, "", "new");
    make_suite(4);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Cases c0, c1, ...
  void make_suite(int cases) const {
    std::string suite = "suite: s\ncases:\n";
    for (int i = 0; i < cases; ++i) {
      write(str("c", i, ".yaml"),
            "tcc: 1\ninputs:\n  x: {dtype: f32, shape: [16]}\nnodes:\n"
            "  - {out: y, op: relu, in: [x]}\noutputs: [y]\n");
      suite += str("  - {graph: c", i, ".yaml}\n");
    }
    write("suite.yaml", suite);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  // A library that behaves so, as if nothing had used it yet.
  void library(const std::string& side, const std::string& behaviour,
               const std::string& age = "new") const {
    fs::remove_all(folder_ / side);
    fs::create_directories(folder_ / side);
    fs::copy_file(testing::binary_dir() / "stand_in" / age / "libtcc-core.so",
                  folder_ / side / "libtcc-core.so");
    write(side + "/behaviour", behaviour);
  }

  Outcome run(const std::string& arguments) const {
    return testing::run_command(str("cd '", folder_.string(), "' && '",
                                    testing::program("tcc-track").string(), "' ", arguments,
                                    " 2>&1"));
  }
  static constexpr int kAnyCode = -1;
  // Fails the test where the exit code is not `code`, or there are no results.
  json compare(const std::string& options, int code) const {
    const fs::path file = folder_ / "results.json";
    fs::remove(file);
    const Outcome outcome =
        run("compare base head suite.yaml --device null --results results.json " + options);
    if (code != kAnyCode) { EXPECT_EQ(outcome.code, code) << outcome.text; }
    if (!fs::exists(file)) {
      ADD_FAILURE() << "no results: " << outcome.text;
      return {{"cases", json::array()}, {"notes", json::array()}};
    }
    return json::parse(read_file(file));
  }
  static json quantity(const json& results, const std::string& name, const std::string& what) {
    for (const json& one : results.at("cases"))
      if (one.at("name") == name)
        for (const json& quantity : one.at("quantities"))
          if (quantity.at("name") == what) return quantity;
    return {{"verdict", "none"}, {"reason", ""}};
  }
  // Returns the verdicts on the quantities of this name, by case.
  static std::map<std::string, std::string> verdicts(const json& results,
                                                     const std::string& what = "time") {
    std::map<std::string, std::string> all;
    for (const json& one : results.at("cases")) {
      const auto name = one.at("name").get<std::string>();
      all[name] = quantity(results, name, what).at("verdict");
    }
    return all;
  }
  static std::string reason(const json& results, const std::string& name) {
    return quantity(results, name, "time").at("reason");
  }
  // One case is `failed` and gives a reason, the others are `same`.
  static void expect_failed(const json& results, const std::string& name, const std::string& why) {
    for (const auto& [other, verdict] : verdicts(results))
      EXPECT_EQ(verdict, other == name ? "failed" : "same") << other;
    EXPECT_NE(reason(results, name).find(why), std::string::npos) << reason(results, name);
  }

  fs::path folder_;
};

using Verdicts = std::map<std::string, std::string>;
constexpr const char* kNoise = "noise 0.003\nplacement 0.002\n";

// 5 of 100 runs may report a change; the seeds are always the same.
TEST_F(TrackCompareTest, ALibraryAgainstItsEqualIsSame) {
  make_suite(12);
  int alarms = 0;
  for (int seed = 0; seed < 20; ++seed) {
    library("base", str(kNoise, "seed ", 2 * seed, "\n"));
    library("head", str(kNoise, "seed ", 2 * seed + 1, "\n"));
    const json results = compare("--smallest 0.01 --most-blocks 16", kAnyCode);
    bool alarm = false;
    for (const auto& [name, verdict] : verdicts(results)) {
      EXPECT_NE(verdict, "failed") << reason(results, name);
      alarm |= verdict == "worse" || verdict == "better";
    }
    alarms += alarm;
    // The noise of both sides is there.
    EXPECT_GT(quantity(results, "c0", "time").at("effect").at("deviation"), 0.001);
  }
  EXPECT_LE(alarms, 3);
  RecordProperty("alarms", alarms);
}

TEST_F(TrackCompareTest, ASlowerAndAFasterCaseAreNamed) {
  make_suite(12);
  library("base", str(kNoise, "seed 1\n"));
  library("head", str(kNoise, "seed 2\nslow c7 1.03\nslow c3 0.97\n"));
  const json results = compare("", 1);
  for (const auto& [name, verdict] : verdicts(results))
    EXPECT_EQ(verdict, name == "c7" ? "worse" : name == "c3" ? "better" : "same") << name;
  const json effect = quantity(results, "c7", "time").at("effect");
  EXPECT_LT(effect.at("low"), 1.03);
  EXPECT_GT(effect.at("high"), 1.03);
  // A case that changed shows its kernels' times.
  EXPECT_NEAR(results.at("cases")[7].at("head_kernels")[0].at("seconds"), 20.6e-6, 1e-6);
  EXPECT_EQ(results.at("notes"), json::array());
}

TEST_F(TrackCompareTest, ALibraryThatCannotTimeKernelsIsComparedAllTheSame) {
  library("base", "", "old");
  library("head", "slow c1 0.5\n");
  const json results = compare("", 0);
  EXPECT_EQ(verdicts(results),
            (Verdicts{{"c0", "same"}, {"c1", "better"}, {"c2", "same"}, {"c3", "same"}}));
  ASSERT_EQ(results.at("notes").size(), 1u);
  EXPECT_NE(results.at("notes")[0].get<std::string>().find("too old to time its kernels"),
            std::string::npos);
}

TEST_F(TrackCompareTest, ACaseThatFailsLeavesTheOthers) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"crash c1", "the measuring process was killed by SIGSEGV"},
      {"refuse c1 no kernel for \xff relu", "head: no kernel for"},
      {"wrong c1", "the results differ by"},
      {"nan c1", "the results differ by inf"},
      {"time c1 nan", "it took nan s"},
      {"time c1 0", "positive"},
      {"killed c1 1000", "the measuring process was killed by SIGKILL"},
      // The cases after it are measured by another process, whose device works.
      {"lost c1", "head: device lost"}};
  for (const auto& [fault, why] : faults) {
    SCOPED_TRACE(fault);
    library("head", fault + "\n");
    expect_failed(compare("", 1), "c1", why);
  }
}

TEST_F(TrackCompareTest, ACaseThatHangsFailsAfterTheLimit) {
  library("head", "hang c1\n");
  expect_failed(compare("--limit 1", 1), "c1", "the measuring process took more than 1 s");
}

TEST_F(TrackCompareTest, AWorkerThatIsKilledFromOutsideIsReplaced) {
  library("head", "killed c2 1\n");
  const json results = compare("", 0);
  for (const auto& [name, verdict] : verdicts(results)) EXPECT_EQ(verdict, "same") << name;
  ASSERT_EQ(results.at("notes").size(), 1u);
  EXPECT_EQ(results.at("notes")[0],
            "c2: the measuring process was killed by SIGKILL; another took its place");
}

TEST_F(TrackCompareTest, MoreLaunchesOrBytesAreWorse) {
  library("head", "launches c1 2\narena c2 1025\narena c3 1000\n");
  for (const char* options : {"", "--only counts"}) {
    SCOPED_TRACE(options);
    const json results = compare(options, 1);
    EXPECT_EQ(verdicts(results, "launches"),
              (Verdicts{{"c0", "same"}, {"c1", "worse"}, {"c2", "same"}, {"c3", "same"}}));
    EXPECT_EQ(verdicts(results, "arena bytes"),
              (Verdicts{{"c0", "same"}, {"c1", "same"}, {"c2", "worse"}, {"c3", "better"}}));
    EXPECT_EQ(verdicts(results)["c0"], *options ? "none" : "same");
  }
}

TEST_F(TrackCompareTest, EqualCountsAndWhatIsLeftOutAreSaid) {
  library("head", "");
  std::string suite = read_file(folder_ / "suite.yaml");
  suite += "  - {command: [\"true\"], name: command}\n";
  write_file_atomic(folder_ / "suite.yaml", suite);
  const Outcome outcome = run("compare base head suite.yaml --device null --only counts");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("12 counts are equal in both libraries, of 4 cases."),
            std::string::npos)
      << outcome.text;
  EXPECT_EQ(outcome.text.find("95 % interval"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("of the suites, this is left out: 1 command."), std::string::npos)
      << outcome.text;
  EXPECT_EQ(compare("--only counts", 0).at("base").at("label"), "base");
  const Outcome calibrated = run("calibrate base suite.yaml --device null --only counts");
  EXPECT_NE(calibrated.text.find("left out: 1 command."), std::string::npos) << calibrated.text;
}

// Both sides were given one graph; one of them reads another size from it.
TEST_F(TrackCompareTest, OtherWorkIsNotCompared) {
  library("head", "elements c1 32\nslow c1 2\n");
  const std::string why =
      "the work differs: base reads f32[16] -> f32[16] from the graph, head f32[32] -> f32[32]";
  expect_failed(compare("", 1), "c1", why);
  const json counted = quantity(compare("--only counts", 1), "c1", "compiling");
  EXPECT_NE(counted.at("reason").get<std::string>().find(why), std::string::npos) << counted;
}

TEST_F(TrackCompareTest, OnlyCountsSaysWhichCaseIsRefused) {
  library("head", "refuse c1 too large\n");
  const json failure = quantity(compare("--only counts", 1), "c1", "compiling");
  EXPECT_EQ(failure.at("verdict"), "failed");
  EXPECT_EQ(failure.at("reason"), "head: too large");
}

TEST_F(TrackCompareTest, CompileTimesAreCompared) {
  make_suite(2);
  const std::string alike = "compile_seconds c0 0.004\n";
  library("base", alike + "compile_seconds c1 0.004\n");
  library("head", alike + "compile_seconds c1 0.012\n");
  const json results = compare("--only compile-time --smallest-compile 50 --false-alarms 0.1", 1);
  EXPECT_EQ(verdicts(results, "compile time")["c1"], "worse");
  EXPECT_NE(verdicts(results, "compile time")["c0"], "worse");
  EXPECT_EQ(verdicts(results)["c0"], "none");
}

TEST_F(TrackCompareTest, AnInterruptWritesWhatThereIs) {
  // In the third block of c1; c2 crashed before.
  library("head", "interrupt c1 3\ncrash c2\n");
  const json results = compare("", 1);
  EXPECT_EQ(verdicts(results), (Verdicts{{"c0", "unmeasurable"},
                                         {"c1", "unmeasurable"},
                                         {"c2", "failed"},
                                         {"c3", "unmeasurable"}}));
  EXPECT_EQ(reason(results, "c0"), "interrupted");
  EXPECT_EQ(results.at("notes"), json({"interrupted: cases without a verdict"}));
}

TEST_F(TrackCompareTest, AnInterruptDoesNotWaitForACaseThatHangs) {
  library("head", "interrupt c1 1\nhang c1\n");  // for 600 s
  const json results = compare("", 1);
  EXPECT_EQ(reason(results, "c1"), "interrupted");
}

TEST_F(TrackCompareTest, AFullDiskIsAnErrorThatNamesTheFile) {
  fs::create_symlink("/dev/full", folder_ / "full.json");
  const Outcome outcome =
      run("compare base head suite.yaml --device null --only counts --results full.json");
  EXPECT_EQ(outcome.code, 2) << outcome.text;
  EXPECT_NE(outcome.text.find("/dev/full: cannot write: No space left on device"),
            std::string::npos)
      << outcome.text;
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(TrackCompareTest, ALibraryThatCannotBeOpenedIsNamed) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"opened abort", "was killed by SIGABRT"}, {"opened sleep", "took more than 1 s"}};
  for (const auto& [fault, why] : faults)
    for (const char* side : {"base", "head"}) {
      library("base", "");
      library("head", "");
      library(side, fault + "\n");
      const Outcome outcome = run("compare base head suite.yaml --device null --limit 1");
      EXPECT_EQ(outcome.code, 2) << outcome.text;
      const std::string file = (fs::canonical(folder_ / side) / "libtcc-core.so").string();
      EXPECT_NE(outcome.text.find(file + ": opening it failed"), std::string::npos) << outcome.text;
      EXPECT_NE(outcome.text.find(why), std::string::npos) << outcome.text;
      EXPECT_EQ(outcome.text.find('\n'), outcome.text.size() - 1) << "one line: " << outcome.text;
    }
}

TEST_F(TrackCompareTest, WhatIsNoLibraryIsSaid) {
  const std::string rest = " suite.yaml --device null";
  write("text.so", "no library\n");
  fs::create_directory(folder_ / "empty");
  // A library of something else.
  Dl_info other;
  ASSERT_NE(::dladdr(::dlsym(RTLD_DEFAULT, "getpid"), &other), 0);
  const std::vector<std::pair<std::string, std::string>> messages = {
      {"base text.so", (folder_ / "text.so").string() + ": "},
      {"base missing", "missing: not there"},
      {"empty head", "empty: no libtcc-core.so there"},
      {str("base ", other.dli_fname), "has no function tcc_version"},
      {"base base/libtcc-core.so", "is both base and head; tcc-track calibrate"}};
  for (const auto& [sides, message] : messages) {
    const Outcome outcome = run(str("compare ", sides, rest));
    EXPECT_EQ(outcome.code, 2) << sides << ": " << outcome.text;
    EXPECT_NE(outcome.text.find(message), std::string::npos) << outcome.text;
    EXPECT_EQ(outcome.text.find('\n'), outcome.text.size() - 1) << "one line: " << outcome.text;
  }
}

}  // namespace
}  // namespace tcc
