// Suites of tcc-track, and the difference of results.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "support/error.h"
#include "tests/source_dir.h"
#include "tools/track/contestant.h"
#include "tools/track/rules.h"
#include "tools/track/suite.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

class TrackSuite : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
    std::ofstream(folder_ / "g.yaml") << "tcc: 1\n";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<TrackCase> read(const std::string& text) const {
    std::ofstream(folder_ / "suite.yaml") << text;
    return read_suite(folder_ / "suite.yaml");
  }
  std::string message(const std::string& text) const {
    try {
      read(text);
    } catch (const Error& error) {
      const std::string message = error.what();
      return message.substr(message.find("suite.yaml"));
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(TrackSuite, NamesCasesByGraphDimsAndType) {
  const auto cases = read(
      "suite: s\ndtype: bf16\npeers: [eager]\ncases:\n"
      "  - {graph: g.yaml, dims: [{N: 2, M: 1}, {M: 3, N: 4}], group: x}\n"
      "  - {graph: g.yaml, dtype: f32, matmul_precision: high}\n"
      "  - {graph: g.yaml, name: mine}\n"
      "  - {graph: g.yaml, random: {count: 3, dims: {M: [1, 2]}}}\n");
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(cases[0].name, "g M=1 N=2 bf16");
  EXPECT_EQ(cases[1].name, "g M=3 N=4 bf16");
  EXPECT_EQ(cases[2].name, "g f32 high");
  EXPECT_EQ(cases[3].name, "mine");
  EXPECT_EQ(cases[0].dims.at("N"), 2);
  EXPECT_EQ(cases[3].dtype, "bf16");
}

TEST_F(TrackSuite, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(message("cases:\n  - {graph: g.yaml}\n  - {graph: g.yaml}\n"),
            "suite.yaml:3: case: a second case 'g': give one of them a name");
  EXPECT_NE(message("cases:\n  - {graph: h.yaml}\n").find("h.yaml is not there"),
            std::string::npos);
  EXPECT_NE(message("cases:\n  - {graph: g.yaml, dims: {M: -1}}\n").find("not negative"),
            std::string::npos);
  EXPECT_NE(message("cases:\n  - {grph: g.yaml}\n").find("suite.yaml:2"), std::string::npos);
  EXPECT_NE(message("cases: []\n").find("no case"), std::string::npos);
}

TEST_F(TrackSuite, BudgetsAreOfTheSuiteAndOfItsCases) {
  std::ofstream(folder_ / "suite.yaml")
      << "budget: {launches: 9, compile_time: 2 s}\ncases:\n"
         "  - {graph: g.yaml, budget: {time: 120us, launches: 3, arena: 1.5KiB, error: 1e-3}}\n"
         "  - {command: [x], name: c, budget: {top1: 1}, counters: {top1: less}}\n";
  const auto cases = read_suite(folder_ / "suite.yaml");
  ASSERT_EQ(cases.size(), 2u);
  using Budget = std::map<std::string, double>;
  EXPECT_EQ(cases[0].budget, (Budget{{"arena bytes", 1536},
                                     {"compile time", 2},
                                     {"error", 1e-3},
                                     {"launches", 3},
                                     {"time", 120 * 1e-6}}));
  EXPECT_EQ(cases[1].budget, (Budget{{"compile time", 2}, {"launches", 9}, {"top1", 1}}));
  EXPECT_EQ(cases[1].kind, TrackCase::Kind::command);
  EXPECT_EQ(cases[1].line, 4);
}

TEST(TrackRules, AmountsHaveTheirUnits) {
  const Rule time = rule_of("time"), bytes = rule_of("arena bytes"), count = rule_of("launches");
  EXPECT_DOUBLE_EQ(*parse_amount(time, "3.5ms"), 3.5e-3);
  EXPECT_DOUBLE_EQ(*parse_amount(time, "5min"), 300);
  EXPECT_DOUBLE_EQ(*parse_amount(bytes, "2 GiB"), 2147483648.0);
  EXPECT_DOUBLE_EQ(*parse_amount(count, "12"), 12);
  for (const char* text : {"", "3", "us", "-1s", "1e999s", "nan", "1 sec", "0x10s"})
    EXPECT_FALSE(parse_amount(time, text)) << text;
  EXPECT_FALSE(parse_amount(bytes, "3s"));
}

TEST(TrackRules, EachQuantityHasItsOwn) {
  using Verdict = Quantity::Verdict;
  EXPECT_EQ(judged(rule_of("launches"), 3, 4), Verdict::worse);
  EXPECT_EQ(judged(rule_of("launches"), 3, 2), Verdict::better);
  EXPECT_EQ(judged(rule_of("error"), 1e-4, 1.9e-4), Verdict::same);
  EXPECT_EQ(judged(rule_of("error"), 1e-4, 2.2e-4), Verdict::worse);
  EXPECT_EQ(judged(rule_of("error"), 0, 1e-8), Verdict::same) << "rounding";
  EXPECT_EQ(judged(rule_of("source bytes"), 1000, 1050), Verdict::same);
  EXPECT_EQ(judged(rule_of("top1", "exact"), 1, 2), Verdict::worse);
  EXPECT_TRUE(rule_of("top1", "more").more_is_better);
  EXPECT_FALSE(rule_of("kernel fc1").gates);
  EXPECT_EQ(rule_of("compile time").ignored, 0.1);
}

TEST_F(TrackSuite, ThoseOfTheRepositoryAreRead) {
  for (const auto& entry : fs::directory_iterator(testing::source_dir() / "bench" / "suites"))
    if (entry.path().stem() != "unseen") {  // random sizes alone
      EXPECT_FALSE(read_suite(entry.path()).empty()) << entry.path();
    }
}

Tensor floats(const std::vector<float>& values) {
  Tensor tensor(DType::f32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<float>().begin());
  return tensor;
}

TEST(TrackDifference, IsRelativeToTheScale) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(relative_difference({floats({1, nan, 0})}, {floats({1, nan, 0})}), 0);
  EXPECT_NEAR(relative_difference({floats({3, 4})}, {floats({3, 4.5f})}), 0.1, 1e-6);
  EXPECT_TRUE(std::isinf(relative_difference({floats({1, nan})}, {floats({1, 2})})));
  EXPECT_TRUE(std::isinf(relative_difference({floats({1})}, {floats({1, 2})})));
  EXPECT_TRUE(std::isinf(relative_difference({}, {floats({1})})));
}

}  // namespace
}  // namespace tcc::tools
