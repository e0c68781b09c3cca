// tcc tracks itself: bench/track/self.yaml, counted for targets without a device, against the runs
// in bench/track/baseline. An intended change is accepted as docs/tracking.md says.
#include <unistd.h>

#include <filesystem>
#include <regex>

#include <gtest/gtest.h>

#include "backends/compile/glsl.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

class TrackSelf : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / str("tcc-track-self-", ::getpid());
    fs::copy(testing::source_dir() / "bench/track/baseline", folder_, fs::copy_options::recursive);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string command(const std::string& store) const {
    return "'" + testing::program("tcc-track").string() + "' run bench/track/self.yaml --target " +
           GetParam() + (has_instructions() ? " --instructions" : "") + " --host any --store '" +
           store + "'";
  }
  // The baseline counts instructions where they are known, as this compiler makes them.
  bool has_instructions() const { return GetParam().starts_with("vulkan"); }
  bool baseline_has(const std::string& compiler) const {
    for (const auto& entry : fs::directory_iterator(folder_ / "runs"))
      if (read_file(entry.path()).find(compiler) != std::string::npos) return true;
    return false;
  }
  testing::Outcome judged() const {
    return testing::run_command("cd '" + testing::source_dir().string() + "' && " +
                                command(folder_.string()) + " --judge 2>&1");
  }

  fs::path folder_;
};

TEST_P(TrackSelf, NothingGrew) {
  const bool other = has_instructions() && !baseline_has(backends::glsl_compiler_id());
  const testing::Outcome outcome = judged();
  EXPECT_EQ(outcome.code, 0) << outcome.text << "\nTo accept an intended change:\n  "
                             << command("bench/track/baseline") << " --replace\n";
  // All but the compile times of the 14 cases have a baseline; instructions have none of another
  // compiler.
  EXPECT_NE(outcome.text.find(str(other ? 28 : 14, " quantities have too short a history")),
            std::string::npos)
      << outcome.text;
}

TEST_P(TrackSelf, OneLaunchMoreIsFound) {
  const int launches = std::string_view(GetParam()) == "vulkan" ? 9 : 7, fewer = launches - 1;
  for (const auto& entry : fs::directory_iterator(folder_ / "runs")) {
    const std::string text = read_file(entry.path());
    write_file_atomic(
        entry.path(),
        std::regex_replace(text, std::regex(str(R"("launches":\{"value":)", launches, R"(\})")),
                           str(R"("launches":{"value":)", fewer, "}")));
  }
  const testing::Outcome outcome = judged();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(
      std::regex_search(outcome.text, std::regex(str("transformer-encoder-layer bf16 +launches +",
                                                     fewer, " +", launches, " .*worse"))))
      << outcome.text;
}

// A kernel that got a quarter more instructions.
TEST_P(TrackSelf, MoreInstructionsAreFound) {
  if (!has_instructions()) GTEST_SKIP() << "they are counted for Vulkan";
  if (!baseline_has(backends::glsl_compiler_id()))
    GTEST_SKIP() << "the baseline is of another compiler";
  const std::regex pattern(R"("case":"sum[^\n]*"instructions":\{"value":(\d+)\})");
  for (const auto& entry : fs::directory_iterator(folder_ / "runs")) {
    std::string text = read_file(entry.path());
    std::smatch match;
    if (!std::regex_search(text, match, pattern)) continue;
    const std::string fewer = std::to_string(std::stoi(match[1]) * 4 / 5);
    text.replace(static_cast<size_t>(match.position(1)), static_cast<size_t>(match.length(1)),
                 fewer);
    write_file_atomic(entry.path(), text);
  }
  const testing::Outcome outcome = judged();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(std::regex_search(outcome.text, std::regex("sum[^\n]* +instructions [^\n]*worse")))
      << outcome.text;
}

std::string printed(const ::testing::TestParamInfo<std::string>& info) {
  return std::regex_replace(info.param, std::regex("[^a-z0-9]"), "_");
}
INSTANTIATE_TEST_SUITE_P(Targets, TrackSelf, ::testing::Values("cuda:sm_90a", "vulkan"), printed);

}  // namespace
}  // namespace tcc::tools
