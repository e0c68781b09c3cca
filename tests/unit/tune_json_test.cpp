// The --json of tcc-tune prints what docs/tune-report.schema.json says.
#include <unistd.h>

#include <filesystem>
#include <regex>

#include <gtest/gtest.h>

#include "support/error.h"
#include "support/file.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"
#include "tests/unit/json_schema.h"
#include "tests/unit/sweep_fixture.h"
#include "tools/tune/report.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// "" when the text is a valid report of that kind, else where and why not.
std::string violation(const std::string& text, const std::string& kind) {
  json root = json::parse(read_file(tcc::testing::source_dir() / "docs/tune-report.schema.json"));
  EXPECT_TRUE(std::ranges::any_of(
      root.at("oneOf"), [&](const json& one) { return one.at("$ref") == "#/$defs/" + kind; }));
  root.erase("oneOf");
  root["$ref"] = "#/$defs/" + kind;
  if (json::parse(text).at("kind") != kind) return "another kind";
  return tcc::testing::Schema(root).violation(YAML::Load(text));
}

class TuneJsonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tcc-tune-json-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Standard output of a tcc-tune command of the mlp, with records in tuned/.
  std::string output(const std::string& command, const std::string& rest, int code = 0) const {
    const auto outcome = testing::run_command(str("cd '", testing::source_dir().string(), "' && '",
                                                  testing::program("tcc-tune").string(), "' ",
                                                  command, " ", rest, " --json 2>/dev/null"));
    EXPECT_EQ(outcome.code, code) << outcome.text;
    return outcome.text;
  }
  std::string tuned() const { return "'" + (folder_ / "tuned").string() + "'"; }

  fs::path folder_;
};

TEST_F(TuneJsonTest, EveryCommandFollowsTheSchema) {
  const std::string model = "configs/models/mlp.yaml --device null ";
  const std::string sweep = output("", model + "--trials 2 --dim B=1,8 --output " + tuned());
  EXPECT_EQ(violation(sweep, "sweep"), "") << sweep;
  const json result = json::parse(sweep);
  EXPECT_EQ(result["batches"].size(), 2u);
  EXPECT_EQ(result["batches"][1]["name"], "mlp.yaml B=8");
  EXPECT_EQ(result["options"]["--trials"], "2");
  EXPECT_EQ(result["device"]["name"], "null");
  EXPECT_FALSE(result["files"].empty());
  const std::string show = output("show", tuned());
  EXPECT_EQ(violation(show, "show"), "") << show;
  EXPECT_EQ(json::parse(show)["records"].size(), result["kernels"].size());
  const std::string why = output("why", model + "--dim B=8 --tuning " + tuned());
  EXPECT_EQ(violation(why, "why"), "") << why;
  const std::string open = output("why", model + "--dim B=1..64 --tuning " + tuned());
  EXPECT_EQ(violation(open, "why"), "") << open;
  EXPECT_FALSE(nlohmann::json::parse(open)["by_sizes"].empty());
  const json explained = json::parse(why);
  for (const json& kernel : explained["kernels"]) EXPECT_EQ(kernel["tier"], "exact");
  const std::string verify = output("verify", model + "--dim B=8 --tuning " + tuned());
  EXPECT_EQ(violation(verify, "verify"), "") << verify;
  EXPECT_EQ(json::parse(verify)["records"].size(), 3u);
  EXPECT_EQ(json::parse(output("verify", model, 1))["without_record"], 3);
}

// Records of two folders: the later one's are used, and compared with what they shadow.
TEST_F(TuneJsonTest, VerifyComparesWithWhatARecordShadows) {
  const std::string model = "configs/models/mlp.yaml --device null ";
  output("", model + "--trials 0 --output " + tuned());
  fs::copy(folder_ / "tuned", folder_ / "below");
  const auto change = [&](const char* folder, const std::string& value) {
    const fs::path file = folder_ / folder / "null.contraction.yaml";
    const std::string text =
        std::regex_replace(read_file(file), std::regex("slices: [0-9]+"), "slices: " + value);
    write_file_atomic(file, text);
  };
  change("below", "1");
  change("tuned", "2");
  const std::string paths = "--tuning '" + (folder_ / "below").string() + "' --tuning " + tuned();
  const json both = json::parse(output("verify", model + paths));
  ASSERT_EQ(both["records"].size(), 3u);
  size_t shadowing = 0;
  for (const json& record : both["records"]) {
    EXPECT_EQ(record["path"], (folder_ / "tuned").string());
    shadowing += !record["shadowed"].is_null();
  }
  EXPECT_EQ(shadowing, 2u) << "the reduction's records are the same";
  const json verified = json::parse(output("verify", model + "--tuning " + tuned()));
  for (const json& record : verified["records"]) EXPECT_TRUE(record["shadowed"].is_null());
}

TEST_F(TuneJsonTest, SweepsWithHolesFollowIt) {
  autotune::TuneResult result = tcc::testing::tuned_sweep();
  for (size_t i = 0; i < result.kernels.size(); ++i)
    result.kernels[i].task.key.region = std::string(32, static_cast<char>('a' + i));
  result.kernels[0].today_seconds = result.kernels[0].best_seconds = 0;
  result.kernels[0].task.bound_seconds = 0;
  const std::string text = report_json(result, tcc::testing::sweep_report(result), false);
  EXPECT_EQ(violation(text, "sweep"), "") << text;
  json changed = json::parse(text);
  changed["kernels"][0].erase("kept");
  EXPECT_NE(violation(changed.dump(), "sweep"), "");
  changed = json::parse(text);
  changed["speed"] = 1;
  EXPECT_NE(violation(changed.dump(), "sweep"), "");
}

}  // namespace
}  // namespace tcc::tools
