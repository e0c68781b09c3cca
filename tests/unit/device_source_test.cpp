#include "backends/device_source.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "support/error.h"
#include "tests/source_dir.h"

namespace tcc::backends {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(DeviceSource, EmbedsEveryFileByteForByte) {
  const fs::path root = testing::source_dir() / "backends/device";
  if (!fs::exists(root)) GTEST_SKIP() << "no source tree";
  const auto paths = device_source_paths();
  EXPECT_TRUE(std::is_sorted(paths.begin(), paths.end()));
  for (std::string_view path : paths) EXPECT_EQ(device_source(path), read(root / path)) << path;
  for (const char* folder : {"common", "cuda", "glsl"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file()) continue;
      const std::string path = fs::relative(entry.path(), root).string();
      EXPECT_TRUE(std::find(paths.begin(), paths.end(), path) != paths.end()) << path;
    }
  }
}

TEST(DeviceSource, UnknownPathIsAnInternalError) {
  EXPECT_THROW(device_source("cuda/no_such_file.cu"), InternalError);
}

TEST(DeviceSource, IncludesEveryFileOnce) {
  const fs::path folder = fs::path(::testing::TempDir()) / "tcc_device_include_test";
  fs::create_directories(folder / "cuda");
  std::ofstream(folder / "cuda/part.cuh") << "part\n";
  std::ofstream(folder / "cuda/whole.cu") << "#include \"part.cuh\"\n#include \"part.cuh\"\nrest\n";
  ::setenv("TCC_DEVICE_DIR", folder.c_str(), 1);
  EXPECT_EQ(device_source_with_includes("cuda/whole.cu"), "part\nrest\n");

  // Bodies are texts that a source has more than once.
  std::ofstream(folder / "cuda/turn.body") << "turn\n";
  std::ofstream(folder / "cuda/turns.cu")
      << "#include \"turn.body\"\nand\n#include \"turn.body\"\n";
  EXPECT_EQ(device_source_with_includes("cuda/turns.cu"), "turn\nand\nturn\n");

  // Headers that the host includes too are named from the repository's root.
  fs::create_directories(folder / "common");
  std::ofstream(folder / "common/base.h") << "#pragma once\nbase\n";
  std::ofstream(folder / "common/shape.h")
      << "#pragma once\n#include \"backends/device/common/base.h\"\nshape\n";
  std::ofstream(folder / "cuda/deep.cuh") << "#include \"../common/base.h\"\ndeep\n";
  std::ofstream(folder / "cuda/kernel.cu")
      << "#include \"deep.cuh\"\n#include \"../common/shape.h\"\nkernel\n";
  EXPECT_EQ(device_source_with_includes("cuda/kernel.cu"), "base\ndeep\nshape\nkernel\n");
  EXPECT_EQ(resolve_device_includes("#include \"backends/device/common/shape.h\"\n"
                                    "#include \"kernel.cu\"\n",
                                    "cuda/"),
            "base\nshape\ndeep\nkernel\n");
  EXPECT_THROW(resolve_device_includes("#include \"no_such.cuh\"\n", "cuda/"), Error);
  ::unsetenv("TCC_DEVICE_DIR");
  fs::remove_all(folder);
}

TEST(DeviceSource, EnvironmentReplacesTheEmbeddedFiles) {
  const fs::path folder = fs::path(::testing::TempDir()) / "tcc_device_source_test";
  fs::create_directories(folder / "cuda");
  std::ofstream(folder / "cuda/new.cu") << "replaced";
  ::setenv("TCC_DEVICE_DIR", folder.c_str(), 1);
  EXPECT_EQ(device_source("cuda/new.cu"), "replaced");
  EXPECT_THROW(device_source("cuda/missing.cu"), Error);
  ::unsetenv("TCC_DEVICE_DIR");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tcc::backends
