// docs/onnx.md lists the operators of the import table, its opsets, and how many cases of the ONNX
// project's tests do not pass.
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "frontend/onnx/rules.h"
#include "support/file.h"
#include "tests/source_dir.h"

namespace tcc {
namespace {

std::string page() {
  const auto path = testing::source_dir() / "docs/onnx.md";
  return std::filesystem::exists(path) ? read_file(path) : "";
}

TEST(OnnxDocs, ListEveryOperatorOnce) {
  const std::string text = page();
  if (text.empty()) GTEST_SKIP() << "no docs beside this program";
  std::multiset<std::string> listed;
  std::istringstream lines(text.substr(0, text.find("\n## Dims")));
  const std::regex name("`([\\w.]+)`");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ")) continue;
    for (std::sregex_iterator at(line.begin(), line.end(), name), end; at != end; ++at)
      listed.insert((*at)[1]);
  }
  std::multiset<std::string> known;
  for (const onnx::Rule* rule : onnx::all_rules())
    known.insert((rule->domain.empty() ? "" : std::string(rule->domain) + ".") +
                 std::string(rule->op));
  EXPECT_EQ(listed, known);
}

TEST(OnnxDocs, NameTheNewestOpset) {
  const std::string text = page();
  if (text.empty()) GTEST_SKIP() << "no docs beside this program";
  EXPECT_NE(text.find("Opsets 1 to " + std::to_string(onnx::kNewestOpset) + " "),
            std::string::npos);
}

TEST(OnnxDocs, CountTheCasesThatDoNotPass) {
  const std::string text = page();
  if (text.empty()) GTEST_SKIP() << "no docs beside this program";
  const YAML::Node groups = YAML::LoadFile(testing::source_dir() / "tests/onnx/unsupported.yaml");
  for (const char* release : {"1.12", "1.23.2"}) {
    std::map<std::string, std::map<std::string, int>> counts;  // suite -> outcome -> cases
    for (const auto& group : groups) {
      if (group["release"] && group["release"].as<std::string>() != release) continue;
      for (const auto& entry : group["cases"]) {
        const auto name = entry.as<std::string>();
        ++counts[name.substr(0, name.find('/'))][group["outcome"].as<std::string>()];
      }
    }
    for (const char* suite : {"node", "simple", "pytorch-operator", "pytorch-converted"}) {
      std::smatch row;
      const std::regex pattern(std::string("\\| ") + release + " \\| " + suite +
                               " \\| (\\d+) \\| (\\d+) \\| (\\d+) \\| (\\d+) \\|");
      ASSERT_TRUE(std::regex_search(text, row, pattern)) << release << " " << suite;
      EXPECT_EQ(std::stoi(row[3]), counts[suite]["differs"]) << release << " " << suite;
      EXPECT_EQ(std::stoi(row[4]), counts[suite]["refused"]) << release << " " << suite;
      EXPECT_EQ(std::stoi(row[1]), std::stoi(row[2]) + std::stoi(row[3]) + std::stoi(row[4]))
          << release << " " << suite;
    }
  }
}

}  // namespace
}  // namespace tcc
