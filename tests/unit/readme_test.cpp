// README.md shows what tcc generates: its kernel text is that of tests/golden/pointwise_vector, and
// its picture of fusion has the kernels of the transformer layer.
#include <cctype>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "support/file.h"
#include "tests/source_dir.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

// Gives what stands between "```LANGUAGE" and "```", of every such block.
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

// Gives what stands in the <text> elements of a drawing, in order.
std::vector<std::string> texts_of(const std::string& svg) {
  std::vector<std::string> texts;
  for (size_t at = 0; (at = svg.find("<text", at)) != std::string::npos;) {
    const size_t begin = svg.find('>', at) + 1;
    at = svg.find("</text>", begin);
    texts.push_back(svg.substr(begin, at - begin));
  }
  return texts;
}

TEST(Readme, PictureOfFusionHasTheKernelsOfTheLayer) {
  const fs::path picture = testing::source_dir() / "docs/images/fusion-light.svg";
  if (!fs::exists(picture)) GTEST_SKIP() << "no docs/images beside this program";
  backends::CompileOptions options;
  options.binaries = false;
  const exec::Executable executable = backends::compile(
      load_graph(testing::source_dir() / "configs/models/transformer-encoder-layer.yaml"),
      sched::target_by_name("vulkan"), options);
  std::vector<std::string> kernels;  // "1  contraction" and the kernel's name below it
  for (const exec::KernelLaunch* launch : exec::launches(executable)) {
    const exec::KernelBinary& kernel = executable.kernels[static_cast<size_t>(launch->kernel)];
    kernels.push_back(std::to_string(kernels.size() / 2 + 1) + "  " + kernel.template_name);
    kernels.push_back(kernel.region);
  }
  const std::vector<std::string> texts = texts_of(read_file(picture));
  std::vector<std::string> drawn;
  for (size_t i = 0; i + 1 < texts.size(); ++i)
    if (!texts[i].empty() && std::isdigit(static_cast<unsigned char>(texts[i][0])) &&
        texts[i].find("  ") != std::string::npos) {
      drawn.push_back(texts[i]);
      drawn.push_back(texts[i + 1]);
    }
  EXPECT_EQ(drawn, kernels);
}

}  // namespace
}  // namespace tcc
