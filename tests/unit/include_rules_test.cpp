// Checks the layering and the size of the sources: which folder may include which, and which
// third-party headers stay where. The rules are stated in CONTRIBUTING.md.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/source_dir.h"

namespace {

namespace fs = std::filesystem;
using Folders = std::set<std::string>;

// Each library may include these besides itself; folders that are not listed see everything.
const std::map<std::string, Folders> allowed = {
    {"support", {}},
    {"ir", {"support"}},
    {"executable", {"support", "ir"}},
    {"frontend", {"support", "ir"}},
    {"scheduler", {"support", "ir", "executable"}},
    {"backends", {"support", "ir", "executable", "scheduler"}},
    {"runtime", {"support", "ir", "executable"}},
    {"autotune", {"support", "ir", "executable", "frontend", "scheduler", "backends", "runtime"}},
    {"track", {"support"}},
};

const Folders source_folders = {"support",  "ir",      "executable", "frontend", "scheduler",
                                "backends", "runtime", "autotune",   "track",    "api",
                                "include",  "tools",   "examples",   "bench",    "tests"};

// A program that runs executables without the compiler needs these, and of ir its data types alone.
const Folders without_compiler = {"executable", "runtime"};
const Folders data_of_ir = {"ir/deciding_extent.h", "ir/device_value.h", "ir/dtype.h",
                            "ir/size_range.h",      "ir/symint.h",       "ir/tensor.h",
                            "ir/tensor_rows.h"};

// Headers that only some folders may include, by the beginning of their name.
struct Fence {
  std::string prefix;
  Folders folders;
};
const std::vector<Fence> fences = {
    {"cuda", {"runtime"}},
    {"nvrtc", {}},
    {"vulkan/", {"runtime", "include", "tests", "examples"}},
    {"onnx.pb", {"frontend", "tests"}},
    {"google/protobuf", {"frontend", "tests"}},
    {"yaml-cpp/", {"frontend", "scheduler", "autotune", "tests"}},
    {"boost/", {"track"}},
    {"CLI/", {"tools", "tests", "bench", "examples"}},
};

constexpr int max_lines = 800;

struct Include {
  int line;
  bool quoted;
  std::string path;
};

// The include directives of a C++ text. Raw string literals are blanked first: they may hold device
// code.
std::vector<Include> includes_of(std::string text) {
  for (size_t at = text.find("R\""); at != std::string::npos; at = text.find("R\"", at + 1)) {
    const size_t open = text.find('(', at);
    if (open == std::string::npos || open - at > 18) continue;
    const size_t close = text.find(")" + text.substr(at + 2, open - at - 2) + "\"", open);
    for (size_t i = open; i < std::min(close, text.size()); ++i)
      if (text[i] != '\n') text[i] = ' ';
  }
  static const std::regex directive(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"])re");
  std::vector<Include> result;
  std::istringstream lines(text);
  std::string line;
  std::smatch match;
  for (int number = 1; std::getline(lines, line); ++number)
    if (std::regex_search(line, match, directive))
      result.push_back({number, match[1] == "\"", match[2].str()});
  return result;
}

std::string first_component(const fs::path& path) { return path.begin()->string(); }

// The rule that an include in `folder` breaks, or nothing.
std::string violation(const fs::path& root, const std::string& folder, const Include& include) {
  // Headers that templates share with their device sources include nothing else.
  const std::string shared_with_devices = "backends/device/common/";
  const bool is_shared =
      include.path.starts_with(shared_with_devices) && fs::exists(root / include.path);
  if (folder == shared_with_devices)
    return include.quoted && is_shared ? "" : "headers for the device include only each other";
  if (!include.quoted) {
    if (source_folders.count(first_component(include.path)) && folder != "examples")
      return "our own headers are included with quotes";
    for (const Fence& fence : fences)
      if (include.path.starts_with(fence.prefix) && !fence.folders.count(folder))
        return "this folder may not include " + fence.prefix + "*";
    return "";
  }
  const std::string target = first_component(include.path);
  if (folder == "scheduler" && include.quoted && is_shared) return "";
  const bool is_public = target == "tcc" && fs::exists(root / "include" / include.path);
  // Types of both the library and its users.
  const Folders shared = {"tcc/error.hpp", "tcc/log.hpp", "tcc/progress.hpp"};
  if (folder == "support" && shared.count(include.path)) return "";
  if (is_public) {
    // Runtime, tuner and tracker implement public headers.
    return allowed.count(folder) && folder != "autotune" && folder != "runtime" && folder != "track"
               ? "the public headers are above this folder"
               : "";
  }
  if (!source_folders.count(target) || !fs::exists(root / include.path))
    return "write includes from the root of the repository";
  const auto rule = allowed.find(folder);
  if (rule != allowed.end() && target != folder && !rule->second.count(target))
    return folder + " may not include " + target;
  if (without_compiler.count(folder) && target == "ir" && !data_of_ir.count(include.path))
    return folder + " includes no more of ir than its data types";
  return "";
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> sources(const fs::path& root, const Folders& extensions) {
  std::vector<fs::path> result;
  for (const std::string& folder : source_folders) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file() && extensions.count(entry.path().extension().string()))
        result.push_back(fs::relative(entry.path(), root));
  }
  return result;
}

class IncludeRules : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(root / "CONTRIBUTING.md")) GTEST_SKIP() << "no source tree in " << root;
  }
  const fs::path root = tcc::testing::source_dir();
};

TEST_F(IncludeRules, FoldersIncludeOnlyWhatIsBelowThem) {
  for (const fs::path& path : sources(root, {".h", ".hpp", ".cpp"})) {
    const bool shared_with_devices = path.string().starts_with("backends/device/common/");
    const bool device_text = path.string().starts_with("backends/device/") && !shared_with_devices;
    const bool consumer = path.string().starts_with("tests/package/");
    if (device_text || consumer) continue;  // not sources of this build
    const std::string folder =
        shared_with_devices ? "backends/device/common/" : first_component(path);
    for (const Include& include : includes_of(read(root / path))) {
      const std::string broken = violation(root, folder, include);
      EXPECT_EQ(broken, "") << path.string() << ":" << include.line << ": " << include.path;
    }
  }
}

// The rest of the compiler asks candidates, never their templates.
bool enters_templates(const fs::path& path, const Include& include) {
  const Folders users = {"backends", "runtime", "api", "tools"};
  const bool is_user =
      users.count(first_component(path)) > 0 ||
      (first_component(path) == "scheduler" && !path.string().starts_with("scheduler/templates/"));
  return is_user && include.quoted && include.path.starts_with("scheduler/templates/");
}

TEST_F(IncludeRules, OnlyTemplatesIncludeTheHeadersOfTemplates) {
  for (const fs::path& path : sources(root, {".h", ".hpp", ".cpp"}))
    for (const Include& include : includes_of(read(root / path)))
      EXPECT_FALSE(enters_templates(path, include)) << path.string() << ":" << include.line;
  const Include common{1, true, "scheduler/templates/common.h"};
  EXPECT_TRUE(enters_templates("scheduler/partition.cpp", common));
  EXPECT_TRUE(enters_templates("backends/build_executable.cpp", common));
  EXPECT_FALSE(enters_templates("scheduler/templates/gemv.cpp", common));
}

TEST_F(IncludeRules, PublicHeadersIncludeOnlyPublicHeaders) {
  for (const fs::path& path : sources(root, {".h", ".hpp"})) {
    if (first_component(path) != "include") continue;
    for (const Include& include : includes_of(read(root / path)))
      EXPECT_TRUE(!include.quoted || include.path.starts_with("tcc/"))
          << path.string() << ":" << include.line;
  }
}

TEST_F(IncludeRules, NoFileIsTooLong) {
  for (const fs::path& path :
       sources(root, {".h", ".hpp", ".cpp", ".cu", ".cuh", ".comp", ".glsl", ".inc"})) {
    const std::string text = read(root / path);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), max_lines) << path.string();
  }
}

TEST_F(IncludeRules, TheCheckItselfFindsViolations) {
  const std::string text =
      "#include <vulkan/vulkan.h>\nR\"(\n#include <cuda.h>\n)\"\n #  include \"ir/op.h\"\n";
  const auto found = includes_of(text);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].line, 5);
  EXPECT_NE(violation(root, "backends", found[0]), "");
  EXPECT_EQ(violation(root, "runtime", found[0]), "");
  EXPECT_NE(violation(root, "ir", {1, true, "scheduler/CMakeLists.txt"}), "");
  EXPECT_NE(violation(root, "ir", {1, true, "graph.h"}), "");
  EXPECT_NE(violation(root, "tools", {1, true, "../ir/dtype.h"}), "");
  EXPECT_EQ(violation(root, "frontend", {1, true, "ir/dtype.h"}), "");
  const std::string shared = "backends/device/common/matrix.h";
  EXPECT_EQ(violation(root, "scheduler", {1, true, shared}), "");
  EXPECT_NE(violation(root, "ir", {1, true, shared}), "");
  EXPECT_NE(violation(root, "scheduler", {1, true, "backends/device_source.h"}), "");
  EXPECT_NE(violation(root, "backends/device/common/", {1, true, "ir/dtype.h"}), "");
  EXPECT_NE(violation(root, "backends/device/common/", {1, false, "vector"}), "");
  EXPECT_EQ(violation(root, "runtime", {1, true, "ir/dtype.h"}), "");
  EXPECT_NE(violation(root, "runtime", {1, true, "ir/graph.h"}), "");
  EXPECT_NE(violation(root, "runtime", {1, true, "scheduler/target.h"}), "");
}

// A program with libtcc-core.so and an archive of a folder would have two copies of the lists in
// which back ends and templates register themselves.
TEST(LinkRules, NoProgramHasALibraryTwice) {
  std::ifstream ninja(tcc::testing::binary_dir() / "build.ninja");
  if (!ninja) GTEST_SKIP() << "another generator than Ninja";
  const std::regex archive(
      R"(lib/libtcc_(support|ir|executable|frontend|scheduler|backends|runtime|autotune)(_data)?\.a)");
  std::string line, program;
  int with_core = 0;
  while (std::getline(ninja, line)) {
    if (line.starts_with("build bin/")) program = line.substr(6, line.find(':') - 6);
    if (!line.starts_with("  LINK_LIBRARIES = ") || line.find("libtcc-core.so") == line.npos)
      continue;
    ++with_core;
    EXPECT_FALSE(std::regex_search(line, archive)) << program;
  }
  EXPECT_GT(with_core, 0);
}

}  // namespace
