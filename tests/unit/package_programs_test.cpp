// Packages as users make and run them: tcc-compile --package, tcc-run, and programs that link
// libtcc-runtime alone.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "backends/backend.h"
#include "executable/package.h"
#include "frontend/tensor_file.h"
#include "runtime/device.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

using testing::Outcome;

constexpr const char* kGraph =
    "tcc: 1\nname: small\n"
    "inputs: {x: {dtype: f32, shape: [4, 32]}, i: {dtype: i64, shape: [4]}}\n"
    "weights: {w: {dtype: f32, shape: [48, 32], init: {normal: 1}}}\n"
    "nodes:\n"
    "  - {out: y, op: linear, in: [x, w]}\n"
    "  - {out: z, op: softmax, in: [y], dim: -1}\n"
    "  - {out: n, op: cast, in: [i], dtype: f32}\n"
    "outputs: [z, n]\n";

bool is_one_line(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n') == 1 && text.ends_with('\n');
}

class PackagePrograms : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tcc-packages-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    write_file_atomic(path("small.yaml"), kGraph);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Outcome run(const char* program, const std::string& arguments) const {
    return testing::run_command(str("cd '", folder_.string(), "' && '",
                                    testing::program(program).string(), "' ", arguments, " 2>&1"));
  }
  // The outputs that the program prints, without its times.
  Outcome results(const char* program, const std::string& arguments) const {
    return testing::run_command(str("cd '", folder_.string(), "' && '",
                                    testing::program(program).string(), "' ", arguments,
                                    " 2>/dev/null"));
  }
  // Makes a package for lavapipe, and for what `more` adds.
  Outcome make(const std::string& name, const std::string& more = "") const {
    return run("tcc-compile",
               "small.yaml --target vulkan:amd-rdna,vulkan:lavapipe" + more + " --package " + name);
  }
  static bool has_nvrtc() {
    return backends::backend_for(exec::Api::cuda).compiler_missing().empty();
  }
  // The name of a software device, "": there is none.
  static std::string lavapipe() {
    for (const runtime::DeviceEntry& entry : runtime::list_devices().devices)
      if (entry.target.arch == "llvmpipe" && entry.target.subgroup_size == 8) return entry.name;
    return "";
  }

  fs::path folder_;
};

TEST_F(PackagePrograms, APackageRunsWithoutTheCompiler) {
  const Outcome made = make("small.tccpkg");
  ASSERT_EQ(made.code, 0) << made.text;
  EXPECT_NE(made.text.find("2 targets: vulkan:amd-rdna"), std::string::npos) << made.text;
  const std::string device = lavapipe();
  if (device.empty()) GTEST_SKIP() << "no lavapipe";
  const Outcome cpp = results("run_package", "small.tccpkg " + device);
  ASSERT_EQ(cpp.code, 0) << cpp.text;
  const Outcome c = run("run_package_c", "small.tccpkg " + device);
  EXPECT_EQ(c.code, 0);
  EXPECT_EQ(c.text, cpp.text);
  EXPECT_NE(cpp.text.find("f32 0 1 2 3\n"), std::string::npos) << cpp.text;

  // The same as tcc-run has of the graph, on the same inputs.
  for (const char* what : {"small.yaml", "small.tccpkg"}) {
    const Outcome ran =
        run("tcc-run", str(what, " --device ", device, " --seed 3 --outputs ", what, ".npz"));
    ASSERT_EQ(ran.code, 0) << ran.text;
  }
  const auto graph = open_tensor_file(path("small.yaml.npz"));
  const auto package = open_tensor_file(path("small.tccpkg.npz"));
  for (const char* name : {"z", "n"}) {
    const Tensor expected = graph->load(name), got = package->load(name);
    ASSERT_EQ(got.shape(), expected.shape());
    for (int64_t i = 0; i < got.numel(); ++i)
      EXPECT_NEAR(got.get(i), expected.get(i), 1e-6) << name << " " << i;
  }
}

TEST_F(PackagePrograms, TheSameInputsGiveTheSameBytes) {
  const std::string cuda = has_nvrtc() ? ",cuda:sm_80,cuda:sm_90a" : "";
  ASSERT_EQ(make("one.tccpkg", cuda).code, 0);
  ASSERT_EQ(make("two.tccpkg", cuda).code, 0);
  EXPECT_EQ(read_file(path("one.tccpkg")), read_file(path("two.tccpkg")));
  const exec::Package package = exec::Package::load(path("one.tccpkg"));
  EXPECT_NO_THROW(package.verify());
  std::vector<std::string> targets;
  for (const auto& part : package.parts()) targets.push_back(part.target);
  std::vector<std::string> expected = {"vulkan:amd-rdna:sg32", "vulkan:llvmpipe:sg8"};
  if (!cuda.empty())
    expected.insert(expected.end(), {"cuda:sm_80", "cuda:sm_90a", "cuda:compute_80"});
  EXPECT_EQ(targets, expected);
  EXPECT_EQ(package.weight_bytes(), 48 * 32 * 4) << "parts share the weights";
}

TEST_F(PackagePrograms, ARefusalIsALineThatSaysWhatIsInside) {
  ASSERT_EQ(run("tcc-compile", "small.yaml --target vulkan:amd-rdna --package other.tccpkg").code,
            0);
  Outcome refused = run("tcc-run", "other.tccpkg --device null");
  EXPECT_EQ(refused.code, 4) << refused.text;
  EXPECT_TRUE(is_one_line(refused.text)) << refused.text;
  EXPECT_NE(refused.text.find("other.tccpkg: no part of it runs on null (null); "
                              "vulkan:amd-rdna:sg32: it is for vulkan"),
            std::string::npos)
      << refused.text;
  if (const std::string device = lavapipe(); !device.empty()) {
    refused = run("tcc-run", "other.tccpkg --device " + device);
    EXPECT_EQ(refused.code, 4) << refused.text;
    EXPECT_TRUE(is_one_line(refused.text)) << refused.text;
    EXPECT_NE(refused.text.find("; vulkan:amd-rdna:sg32: kernel "), std::string::npos)
        << refused.text;
    const Outcome alone = run("run_package", "other.tccpkg " + device);
    EXPECT_EQ(alone.code, 4);
    EXPECT_TRUE(is_one_line(alone.text)) << alone.text;
  }

  std::string bytes = read_file(path("other.tccpkg"));
  const auto refuse = [&](const std::string& changed, const char* words) {
    write_file_atomic(path("changed.tccpkg"), changed);
    for (const char* program : {"run_package", "run_package_c"}) {
      const Outcome outcome = run(program, "changed.tccpkg null");
      EXPECT_EQ(outcome.code, 2) << outcome.text;
      EXPECT_TRUE(is_one_line(outcome.text)) << outcome.text;
      EXPECT_NE(outcome.text.find(words), std::string::npos) << outcome.text;
    }
  };
  refuse(bytes.substr(0, bytes.size() - 1), "is cut off");
  std::string newer = bytes;
  newer[newer.find('1')] = '9';
  refuse(newer, "is a package of version 9; this tcc reads 1: a newer one made it");
  refuse("", "is no package of tcc");
  EXPECT_EQ(run("run_package", "absent.tccpkg null").code, 2);
}

TEST_F(PackagePrograms, WeightsMayStayInAFile) {
  // The weights that the graph draws, in a file.
  ASSERT_EQ(run("tcc-run", "small.yaml --device null --emit .").code, 2) << "its own folder";
  ASSERT_EQ(run("tcc-run", "small.yaml --device null --emit out").code, 0);
  write_file_atomic(path("by_file.yaml"),
                    "tcc: 1\nname: by_file\ninputs: {x: {dtype: f32, shape: [4, 4]}}\n"
                    "weights: {w: {file: affine.safetensors, key: w}}\n"
                    "nodes: [{out: y, op: add, in: [x, w]}]\noutputs: [y]\n");
  fs::copy(testing::source_dir() / "tests/data/packages/affine.safetensors", folder_);
  const std::string compile =
      "by_file.yaml --target vulkan:lavapipe --weights affine.safetensors --package ";
  const Outcome made = run("tcc-compile", compile + "by_file.tccpkg");
  ASSERT_EQ(made.code, 0) << made.text;
  const exec::Package package = exec::Package::load(path("by_file.tccpkg"));
  EXPECT_NE(package.manifest().find("\nfile: affine.safetensors | "), std::string::npos);
  EXPECT_NO_THROW(package.verify());
  if (const std::string device = lavapipe(); !device.empty()) {
    const Outcome outcome = results("run_package", "by_file.tccpkg " + device);
    EXPECT_EQ(outcome.text, "f32 1 2.25 3.5 4.75 2 2 3.25 4.5\n");
  }
  fs::remove(path("affine.safetensors"));
  EXPECT_THROW(exec::Package::load(path("by_file.tccpkg")).verify(), Error);
  fs::copy(testing::source_dir() / "tests/data/packages/affine.safetensors", folder_);
  fs::create_directories(folder_ / "below");
  const Outcome outside = run("tcc-compile", compile + "below/by_file.tccpkg");
  EXPECT_EQ(outside.code, 2);
  EXPECT_NE(outside.text.find("must be in the folder of"), std::string::npos) << outside.text;
}

TEST_F(PackagePrograms, OptionsThatDoNotFitAreRefused) {
  for (const char* options :
       {"--target vulkan", "--target vulkan -o out --package p.tccpkg",
        "--target vulkan,vulkan --package p.tccpkg",
        "--target vulkan:lavapipe,vulkan:llvmpipe --package p.tccpkg",
        "--target vulkan,nothing --package p.tccpkg", "--target vulkan,vulkan:lavapipe -o out",
        "--target vulkan -o out --weights w.safetensors",
        "--target vulkan --package absent/folder/p.tccpkg"}) {
    const Outcome outcome = run("tcc-compile", str("small.yaml ", options));
    EXPECT_EQ(outcome.code, 2) << options << ": " << outcome.text;
    EXPECT_TRUE(is_one_line(outcome.text)) << outcome.text;
  }
  ASSERT_EQ(make("small.tccpkg").code, 0);
  for (const char* options : {"--dtype f16", "--check", "--emit out", "--tuning .", "--no-fuse",
                              "--device reference", "--dim B=3", "--input q=1"}) {
    const Outcome outcome = run("tcc-run", str("small.tccpkg ", options));
    EXPECT_EQ(outcome.code, 2) << options << ": " << outcome.text;
    EXPECT_TRUE(is_one_line(outcome.text)) << outcome.text;
  }
}

// A program that runs packages brings little along.
TEST_F(PackagePrograms, TheRuntimeIsSmallAndNeedsNoCompiler) {
#ifdef TCC_SANITIZE
  GTEST_SKIP() << "a sanitizer's library is larger";
#endif
  const std::string library = (testing::binary_dir() / "lib/libtcc-runtime.so").string();
  if (!fs::exists(library)) GTEST_SKIP() << "not built";
  const Outcome stripped =
      testing::run_command(str("strip -o '", path("runtime.so"), "' '", library, "' 2>&1"));
  if (stripped.code != 0) GTEST_SKIP() << "no strip";
  EXPECT_LE(fs::file_size(path("runtime.so")), uintmax_t{3} << 20);
  const Outcome needed = testing::run_command(str("readelf -d '", library, "' | grep NEEDED"));
  std::istringstream lines(needed.text);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(line.find('[') + 1);
    EXPECT_TRUE(std::ranges::any_of(
        std::initializer_list<const char*>{"libtbb.so", "libstdc++.so", "libm.so", "libgcc_s.so",
                                           "libc.so", "libdl.so", "libpthread.so", "ld-linux"},
        [&](const char* known) { return name.starts_with(known); }))
        << line;
  }
}

}  // namespace
}  // namespace tcc
