// README.md shows what tcc generates: its kernel text is that of tests/golden/pointwise_vector.
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/file.h"
#include "tests/source_dir.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

// What stands between "```LANGUAGE" and "```", of every such block.
std::vector<std::string> fenced_blocks(const std::string& text, const std::string& language) {
  std::vector<std::string> blocks;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "```" + language) {
      inside = true;
      blocks.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

struct Shown {
  const char* language;
  const char* file;
};
constexpr Shown kShown[] = {{"yaml", "graph.yaml"}, {"cuda", "out.cu"}, {"glsl", "out.comp"}};

TEST(Readme, ShowsTheTextOfTheGoldenKernel) {
  const fs::path readme = testing::source_dir() / "README.md";
  if (!fs::exists(readme)) GTEST_SKIP() << "no README.md beside this program";
  const std::string text = read_file(readme);
  for (const Shown& shown : kShown) {
    const fs::path path = testing::source_dir() / "tests/golden/pointwise_vector" / shown.file;
    const std::string golden = read_file(path);
    const std::vector<std::string> blocks = fenced_blocks(text, shown.language);
    ASSERT_EQ(blocks.size(), 1u) << shown.language;
    EXPECT_FALSE(blocks[0].empty()) << shown.language;
    EXPECT_NE(golden.find(blocks[0]), std::string::npos)
        << "README.md's " << shown.language << " block is not in " << path.string() << ":\n"
        << blocks[0];
  }
}

}  // namespace
}  // namespace tcc
