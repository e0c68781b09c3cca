// Suites of tcc-track, and the difference of results.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "support/error.h"
#include "tests/source_dir.h"
#include "tools/track/contestant.h"
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
