// Targets by name, the profiles under configs/targets, and what their reader refuses.
#include "scheduler/target.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "backends/backend.h"
#include "backends/pipeline.h"
#include "executable/serialize.h"
#include "executable/vulkan_targets.h"
#include "frontend/graph_file.h"
#include "scheduler/device_sources.h"
#include "scheduler/target_profile.h"
#include "support/config_folder.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/expect_error.h"
#include "tests/source_dir.h"
#include "tests/unit/sample_executable.h"

namespace tcc::sched {
namespace {

std::string message_of(const std::string& text) {
  try {
    parse_profile(text, "gpu.yaml", "gpu");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
  return "";
}

std::string lavapipe_text() {
  return read_file(testing::source_dir() / "configs/targets/lavapipe.yaml");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

TEST(TargetTest, EveryNameGivesAConsistentTarget) {
  const auto names = target_names();
  EXPECT_GE(names.size(), 11u);
  for (const std::string& name : names) {
    const Target target = target_by_name(name);
    EXPECT_NE(target.api, Api::null) << name;
    EXPECT_EQ(target.api == Api::cuda, name.starts_with("cuda:")) << name;
    EXPECT_LE(target.subgroup_size_min, target.subgroup_size) << name;
    EXPECT_GE(target.subgroup_size_max, target.subgroup_size) << name;
    EXPECT_GE(target.max_workgroup_size, target.subgroup_size) << name;
    EXPECT_GE(target.push_constant_bytes, 128) << name;
    EXPECT_GE(target.shared_bytes, 16 << 10) << name;
    EXPECT_EQ(target.device, "") << name;
  }
}

// Each back end that compiles brings its own.
TEST(TargetTest, ComeFromBackEnds) {
  const std::vector<std::string> names = target_names();
  for (const backends::Backend* backend : backends::backends()) {
    const std::string api(name(backend->api()));
    if (backend->api() == Api::null) continue;
    EXPECT_TRUE(std::any_of(names.begin(), names.end(), [&](const std::string& one) {
      return one == api || one.starts_with(api + ":");
    })) << api;
  }
}

TEST(TargetTest, NumbersOfWellKnownTargets) {
  const Target h200 = target_by_name("cuda:sm_90a");
  EXPECT_EQ(h200.compute_units, 132);
  EXPECT_EQ(h200.bandwidth, 4.0e12);
  EXPECT_EQ(h200.id(), "cuda:sm_90a");
  EXPECT_NEAR(h200.clock(), 1.78e9, 0.01e9);
  const Target a100 = target_by_name("cuda:sm_80");
  EXPECT_EQ(a100.fma_lanes, 64);  // half of an sm_86's or sm_90's
  EXPECT_NEAR(a100.clock(), 1.41e9, 0.01e9);
  EXPECT_TRUE(a100.byte_products && has_device_source(a100, "gemv"));
  const Target lavapipe = target_by_name("vulkan:lavapipe");
  EXPECT_FALSE(lavapipe.byte_products || has_device_source(lavapipe, "gemm_sm80"));
  EXPECT_TRUE(has_device_source(lavapipe, "gemv"));
  EXPECT_TRUE(target_by_name("vulkan:amd-rdna").byte_products);
  EXPECT_TRUE(lavapipe.indexed_registers);
  EXPECT_EQ(lavapipe.subgroup_size, 8);
  EXPECT_EQ(lavapipe.max_grid[0], 65535);
  EXPECT_TRUE(lavapipe.is_cpu && lavapipe.unified_memory);
  EXPECT_TRUE(lavapipe.serial_workgroups && !lavapipe.wide_accesses);
  EXPECT_EQ(lavapipe.full_workgroup, 64);
  EXPECT_EQ(lavapipe.static_shared_bytes(), lavapipe.shared_bytes);
  EXPECT_TRUE(h200.wide_accesses && !h200.serial_workgroups);
  EXPECT_EQ(h200.static_shared_bytes(), 48 << 10);
  EXPECT_EQ(lavapipe.max_loop_iterations, 65535);
  EXPECT_EQ(lavapipe.float_controls.keep_special, 16 | 32 | 64);
  EXPECT_EQ(lavapipe.float_controls.keep_denormals, 0);
  EXPECT_EQ(lavapipe.id(), "vulkan:llvmpipe:sg8");
  const Target intel = target_by_name("vulkan:intel");
  EXPECT_EQ(intel.subgroup_size_min, 8);
  EXPECT_EQ(intel.subgroup_size_max, 32);
  EXPECT_EQ(Target{}.id(), "null");
}

TEST(TargetTest, LimitsAreErrorsThatNameTheNode) {
  Target target = target_by_name("cuda:sm_80");
  target.max_loop_iterations = 100;
  backends::CompileOptions options;
  options.binaries = false;
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\ninputs: {x: {dtype: f32, shape: [4]}}\nnodes:\n"
      "  - {out: y, op: repeat, in: x, repeats: [4000000]}\n"
      "  - {out: z, op: sum, in: y}\noutputs: [z]\n",
      "g.yaml", ".");
  EXPECT_ERROR_KIND(backends::compile(graph, target, options), ErrorKind::device, "g.yaml:5: ");
  EXPECT_ERROR_KIND(backends::compile(graph, target, options), ErrorKind::device,
                    "compute it in smaller parts");
}

TEST(TargetTest, IdsOfDevicesAreNames) {
  for (const char* id :
       {"cuda:sm_75", "cuda:sm_86", "cuda:sm_89", "cuda:sm_90a", "cuda:sm_100a", "cuda:sm_120a",
        "vulkan:llvmpipe:sg8", "vulkan:nvidia:sg32", "vulkan:intel:sg8", "vulkan:intel:sg32"})
    EXPECT_EQ(target_by_name(id).id(), id);
  using Kinds = std::vector<std::string>;
  const auto kinds = [](const char* name) {
    return exec::kinds_of(target_by_name(name).matrix_units);
  };
  EXPECT_EQ(kinds("cuda:sm_90a"), (Kinds{"wgmma", "mma"}));
  EXPECT_EQ(kinds("cuda:sm_90"), Kinds{"mma"});
  EXPECT_EQ(kinds("cuda:sm_75"), Kinds{});
  EXPECT_EQ(target_by_name("cuda:sm_75").max_threads_per_unit, 1024);
}

TEST(TargetTest, ProfilesListTheirMatrixUnits) {
  const auto with = [](const std::string& units) {
    return lavapipe_text() + "\nmatrix_units: " + units + "\n";
  };
  const Target target = parse_profile(
      with("['coopmat 16x16x16 f16 f16 f32 f32', 'coopmat 8x8x32 u8 u8 u32 u32 saturating']\n"
           "flops_matrix: 80e12"),
      "gpu.yaml", "gpu");
  ASSERT_EQ(target.matrix_units.size(), 2u);
  EXPECT_EQ(target.matrix_units[0].n, 16);
  EXPECT_TRUE(target.matrix_units[1].saturating);
  EXPECT_EQ(target.flops_matrix, 80e12);
  EXPECT_EQ(target.matrix_row_bytes, 16);
  EXPECT_EQ(parse_profile(lavapipe_text(), "gpu.yaml", "gpu").matrix_row_bytes, 0);
  EXPECT_TRUE(target.multiplies("coopmat", DType::f16, DType::f16, DType::f32));
  for (const char* units : {"coopmat", "[coopmat]", "['coopmat 16x16 f16 f16 f32 f32']", "[[1]]"})
    EXPECT_NE(message_of(with(units)).find("matrix_units: expected a"), std::string::npos) << units;
}

TEST(TargetTest, AMisspeltNameIsSuggested) {
  EXPECT_ERROR(target_by_name("cuda:sm90a"),
               "unknown target 'cuda:sm90a'; did you mean 'cuda:sm_90a'?");
}

TEST(TargetTest, AnUnknownNameListsWhatThereIs) {
  for (const char* name :
       {"", "cuda:sm_10", "cuda:sm_80a", "cuda:", "vulkan:voodoo", "vulkan:../targets/intel",
        "vulkan:", "vulkan:intel:sg64", "vulkan:intel:", "vulkan:intel:sg08"}) {
    try {
      target_by_name(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      const std::string message = error.what();
      const std::string begin = "unknown target '" + std::string(name) + "'; ";
      EXPECT_EQ(message.find(begin), 0u) << message;
      if (message.starts_with(begin + "did you mean '")) continue;
      EXPECT_EQ(message.find("there are "), begin.size()) << message;
      EXPECT_NE(message.find(" cuda:sm_70, "), std::string::npos) << message;
      EXPECT_NE(message.find("vulkan:mali"), std::string::npos) << message;
    }
  }
}

TEST(TargetTest, TheConfigFolderCanBeNamed) {
  const std::filesystem::path empty = std::filesystem::path(::testing::TempDir()) / "tcc_configs";
  std::filesystem::create_directories(empty);
  ::setenv("TCC_CONFIG_DIR", empty.c_str(), 1);
  for (const std::string& name : target_names()) EXPECT_FALSE(name.starts_with("vulkan:")) << name;
  EXPECT_THROW(target_by_name("vulkan:intel"), Error);
  ::setenv("TCC_CONFIG_DIR", "/nowhere", 1);
  EXPECT_THROW(config_folder(), Error);
  ::unsetenv("TCC_CONFIG_DIR");
}

TEST(TargetProfileTest, MistakesNameFileLineAndKey) {
  const std::string text = lavapipe_text();
  EXPECT_EQ(message_of(text), "");
  const auto line = std::to_string(std::count(text.begin(), text.end(), '\n') + 1);
  EXPECT_EQ(message_of(text + "warp_size: 32\n"), "gpu.yaml:" + line + ": unknown key 'warp_size'");
  EXPECT_EQ(message_of(text + "vendor: arm\n"), "gpu.yaml:" + line + ": vendor is given twice");
  EXPECT_EQ(message_of(text + "[a]: 1\n"), "gpu.yaml:" + line + ": a key must be a word");
  EXPECT_EQ(message_of(replaced(text, "shared_bytes: 32768\n", "")),
            "gpu.yaml: shared_bytes is missing");
  EXPECT_EQ(message_of(replaced(text, "32768", "-1")),
            "gpu.yaml:8: shared_bytes: expected a positive integer");
  EXPECT_EQ(message_of(replaced(text, "32768", "32 KiB")),
            "gpu.yaml:8: shared_bytes: expected a positive integer");
  EXPECT_EQ(message_of(replaced(text, "[65535, 65535, 65535]", "[65535]")),
            "gpu.yaml:7: max_grid: expected a list of 3 integers");
  for (const char* widths : {"8", "[8]", "[32, 32.5]", "[[32]]"})
    EXPECT_NE(message_of(text + "keep_denormals: " + widths + "\n")
                  .find("gpu.yaml:" + line + ": keep_denormals: "),
              std::string::npos)
        << widths;
  EXPECT_EQ(message_of(text + "keep_denormals: []\n"), "");
  EXPECT_EQ(message_of(replaced(text, "subgroup_size: 8", "subgroup_size: 12")),
            "gpu.yaml:4: subgroup_size: expected a power of two up to 1024");
  EXPECT_EQ(message_of(replaced(text, "subgroup_size: 8", "subgroup_size: 16")),
            "gpu.yaml: subgroup_size 16 is outside subgroup_size_range");
  EXPECT_EQ(message_of(replaced(text, "int64: true", "int64: 7")),
            "gpu.yaml:13: int64: expected true or false");
  EXPECT_EQ(message_of(replaced(text, "20.0e9", ".nan")),
            "gpu.yaml:25: bandwidth: expected a positive number");
  EXPECT_EQ(message_of(replaced(text, "arch: llvmpipe", "arch: ../x")),
            "gpu.yaml:" + std::to_string(std::count(text.begin(), text.end(), '\n')) +
                ": arch: expected small letters, digits, - or _");
  EXPECT_EQ(message_of("[1, 2]"), "gpu.yaml:1: expected a map of the target's limits");
  EXPECT_EQ(message_of(""), "gpu.yaml:1: expected a map of the target's limits");
  EXPECT_NE(message_of("a: [1").find("gpu.yaml:"), std::string::npos);
}

// A folder of profiles, by name.
class ExtendedProfileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("tcc_extended_profiles-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    write("lavapipe", lavapipe_text());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    write_file_atomic(file(name), text);
  }
  std::filesystem::path file(const std::string& name) const { return folder_ / (name + ".yaml"); }
  void expect_refused(const std::string& name, const std::string& message) const {
    EXPECT_ERROR(read_profile(file(name)), folder_.string() + "/" + message);
  }

  std::filesystem::path folder_;
};

TEST_F(ExtendedProfileTest, StatesWhatDiffers) {
  write("wide",
        "vendor: other\nextends: lavapipe\nis_cpu: false\nkeep_special_floats: []\n"
        "matrix_units: ['coopmat 16x16x16 f16 f16 f32 f32']\n");
  write("wider",
        "extends: wide\nfull_workgroup: 256\nis_cpu: true\n"
        "matrix_units: ['coopmat 8x8x16 f16 f16 f32 f32']\n");
  Target expected = read_profile(file("lavapipe"));
  EXPECT_EQ(expected.arch, "llvmpipe");
  expected.vendor = "other";
  expected.arch = "wide";  // its records are its own
  expected.is_cpu = expected.indexed_registers = expected.serial_workgroups = false;
  expected.wide_accesses = true;
  expected.full_workgroup = Target{}.full_workgroup;
  expected.busy_threads = Target{}.busy_threads;
  expected.float_controls.keep_special = 0;
  expected.matrix_units = {*exec::parse_matrix_unit("coopmat 16x16x16 f16 f16 f32 f32")};
  expected.matrix_row_bytes = exec::kVulkanMatrixRowBytes;
  EXPECT_EQ(read_profile(file("wide")), expected);
  const Target wider = read_profile(file("wider"));
  EXPECT_EQ(wider.arch, "wider");
  EXPECT_TRUE(wider.is_cpu && wider.serial_workgroups);
  EXPECT_EQ(wider.full_workgroup, 256);
  ASSERT_EQ(wider.matrix_units.size(), 1u);
  EXPECT_EQ(wider.matrix_units[0].m, 8);
  EXPECT_EQ(target_by_name("vulkan:nvidia-rtx").arch, "nvidia-rtx");
}

TEST_F(ExtendedProfileTest, ASoftwareDeviceStaysOne) {
  write("same", "extends: lavapipe\nbandwidth: 30.0e9\n");
  write("named", "extends: lavapipe\narch: own\n");
  Target expected = read_profile(file("lavapipe"));
  expected.bandwidth = 30e9;
  expected.arch = "same";
  EXPECT_EQ(read_profile(file("same")), expected);
  EXPECT_TRUE(expected.is_cpu && expected.serial_workgroups);
  EXPECT_EQ(read_profile(file("named")).arch, "own");
}

// Profiles that do not have the name are not read.
TEST_F(ExtendedProfileTest, AreFoundByTheArchitectureThatTheyState) {
  write("a", "this: [is no profile\n");
  write("b", "extends: lavapipe\narch: own\n");
  write("c", "extends: b\n");
  const auto found = find_profile_of(folder_, "own");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, read_profile(file("b")));
  EXPECT_EQ(find_profile_of(folder_, "llvmpipe")->arch, "llvmpipe");
  EXPECT_FALSE(find_profile_of(folder_, "other"));
}

TEST_F(ExtendedProfileTest, MistakesNameTheFileThatMakesThem) {
  write("lost", "vendor: other\nextends: lavapip\n");
  expect_refused("lost", "lost.yaml:2: extends: there is no " + file("lavapip").string() +
                             "; did you mean 'lavapipe'?");
  for (const char* name : {"../targets/lavapipe", "/etc/passwd", "lavapipe.yaml", "''", "Lavapipe",
                           "'lavapipe\\0'", "'lava\npipe'"}) {
    write("out", str("extends: ", name, "\n"));
    expect_refused("out",
                   "out.yaml:1: extends: expected a profile's name: up to 64 small letters, "
                   "digits, - and _");
  }
  write("list", "extends: [lavapipe]\n");
  expect_refused("list",
                 "list.yaml:1: extends: expected a profile's name, as in 'extends: nvidia'");
  write("self", "\nextends: self\n");
  expect_refused("self",
                 "self.yaml:2: extends: self extends this profile in turn: state the "
                 "limits in one of them");
  write("one", "extends: two\n");
  write("two", "vendor: other\nextends: three\n");
  write("three", "extends: two\n");
  expect_refused("one",
                 "three.yaml:1: extends: two extends this profile in turn: state the "
                 "limits in one of them");
  write("twice", "extends: lavapipe\nextends: lavapipe\n");
  expect_refused("twice", "twice.yaml:2: extends is given twice");
  write("wrong", "subgroup_size: 12\nvendor: other\n");
  write("of_wrong", "extends: wrong\n");
  expect_refused("of_wrong", "wrong.yaml:1: subgroup_size: expected a power of two up to 1024");
  write("corrected", "extends: wrong\nsubgroup_size: 8\n");
  expect_refused("corrected", "corrected.yaml: subgroup_size_range is missing");
  std::filesystem::create_directory(file("folder"));
  write("of_folder", "extends: folder\n");
  EXPECT_THROW(read_profile(file("of_folder")), Error);
}

// Facts of a device that scheduling and loading read are written whole; quirks are the loading
// machine's.
TEST(Target, IsWrittenWithItsExecutables) {
  exec::Executable executable = exec::sample();
  for (const std::string& name : target_names()) {
    executable.target = target_by_name(name);
    executable.target.switched_off.clear();
    const auto bytes = std::make_shared<const exec::Bytes>(exec::written(executable));
    EXPECT_EQ(exec::read_executable(bytes, *bytes, "file").target, executable.target) << name;
  }
}

}  // namespace
}  // namespace tcc::sched
