// The Vulkan example: a program's image, filtered in its own memory by a recorded network.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tcc/tcc.hpp"
#include "tests/run_command.h"
#include "tests/unit/public_api_fixture.h"

namespace tcc {
namespace {

constexpr std::size_t kSize = 256;

// RGB bytes of a .ppm.
std::vector<unsigned char> read_image(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::string header = "P6\n256 256\n255\n";
  EXPECT_TRUE(text.starts_with(header)) << path;
  if (text.size() != header.size() + kSize * kSize * 3) return {};
  return {text.begin() + static_cast<std::ptrdiff_t>(header.size()), text.end()};
}

TEST(FilterImage, TheExampleFiltersItsOwnImage) {
  if (!std::filesystem::exists(testing::program("filter_image"))) GTEST_SKIP() << "no examples";
  if (!testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  const std::filesystem::path folder = ::testing::TempDir();
  const auto before = folder / "filter_before.ppm", after = folder / "filter_after.ppm";
  const auto model = testing::source_dir() / "examples/vulkan/filter.yaml";
  const testing::Outcome outcome =
      testing::run_command(testing::program("filter_image").string() + " " + model.string() + " " +
                           before.string() + " " + after.string() + " 2>&1");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  const std::vector<unsigned char> drawn = read_image(before), filtered = read_image(after);
  ASSERT_EQ(drawn.size(), kSize * kSize * 3);
  ASSERT_EQ(filtered.size(), drawn.size());

  HostTensor image("u8", {kSize, kSize, 4});
  for (std::size_t i = 0; i < kSize * kSize; ++i) {
    for (std::size_t c = 0; c < 3; ++c) image.bytes[4 * i + c] = std::byte(drawn[3 * i + c]);
    image.bytes[4 * i + 3] = std::byte(255);
  }
  EXPECT_NEAR(drawn[0], 26, 1) << "the background";
  EXPECT_EQ(drawn[3 * (21 * kSize + 9)], 16) << "a square";
  const HostTensor expected = run_reference(Graph::load(model), {{image}}).at(0);
  std::size_t changed = 0;
  for (std::size_t i = 0; i < kSize * kSize; ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      const int got = filtered[3 * i + c], wanted = std::to_integer<int>(expected.bytes[4 * i + c]);
      ASSERT_LE(std::abs(got - wanted), 1) << "pixel " << i << ", channel " << c;
      changed += got != drawn[3 * i + c];
    }
  EXPECT_GT(changed, kSize * kSize / 2) << "the network does something";
  std::filesystem::remove(before);
  std::filesystem::remove(after);
}

}  // namespace
}  // namespace tcc
