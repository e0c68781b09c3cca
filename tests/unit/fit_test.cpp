// Which executables a device can run, and which of them is nearest to it.
#include "executable/fit.h"

#include <gtest/gtest.h>

#include "executable/cuda_targets.h"
#include "support/error.h"
#include "tests/expect_error.h"
#include "tests/unit/sample_executable.h"

namespace tcc::exec {
namespace {

// Whatever the architecture: machine code within a major version, own instructions nowhere else,
// PTX on all that comes later.
TEST(Fit, CudaCodeRunsWhereItsArchitectureAllows) {
  struct Case {
    const char *code, *device;
    bool runs;
  };
  const Case cases[] = {{"sm_80", "sm_80", true},
                        {"sm_80", "sm_86", true},
                        {"sm_80", "sm_89", true},
                        {"sm_86", "sm_80", false},
                        {"sm_80", "sm_90a", false},
                        {"sm_90a", "sm_90a", true},
                        {"sm_90", "sm_90a", true},
                        {"sm_90a", "sm_90", false},
                        {"sm_90a", "sm_100a", false},
                        {"sm_100a", "sm_103a", false},
                        {"sm_100", "sm_103a", true},
                        {"sm_80", "sm_87", false},
                        {"sm_87", "sm_87", true},
                        {"sm_87", "sm_89", false},
                        {"sm_70", "sm_75", true},
                        {"sm_70", "sm_72", false},
                        {"compute_80", "sm_80", true},
                        {"compute_80", "sm_90a", true},
                        {"compute_80", "sm_120a", true},
                        {"compute_90", "sm_89", false},
                        {"compute_90", "sm_90a", true},
                        {"sm_80", "", false},
                        {"", "sm_80", false},
                        {"sm_", "sm_80", false},
                        {"sm_80b", "sm_80", false},
                        {"compute_90a", "sm_90a", false},
                        {"sm_99999999999", "sm_80", false}};
  for (const Case& one : cases)
    EXPECT_EQ(cuda_nearness(one.code, one.device) > 0, one.runs) << one.code << " " << one.device;
  const auto before = [](const char* a, const char* b, const char* device) {
    EXPECT_GT(cuda_nearness(a, device), cuda_nearness(b, device)) << a << " " << b;
  };
  before("sm_90a", "sm_90", "sm_90a");
  before("sm_90", "compute_90", "sm_90a");
  before("compute_90", "compute_80", "sm_90a");
  before("sm_86", "sm_80", "sm_89");
  before("sm_80", "compute_80", "sm_86");
}

TEST(Fit, PtxIsATargetOfItsArchitecture) {
  const auto ptx = cuda_target("compute_80");
  ASSERT_TRUE(ptx);
  EXPECT_EQ(ptx->id(), "cuda:compute_80");
  EXPECT_EQ(ptx->matrix_units, cuda_target("sm_80")->matrix_units);
  EXPECT_FALSE(cuda_target("compute_90a"));
  EXPECT_FALSE(cuda_target("compute_81"));
}

Executable plain(const Target& target) {
  Executable executable = sample();
  executable.target = target;
  executable.kernels[0].matrix_units.clear();
  executable.kernels[0].template_name = "gemm";
  executable.kernels[0].config = "block_m=64 stages=4";
  return executable;
}

#define EXPECT_NO_FIT(executable, on, words) \
  EXPECT_ERROR_KIND(check_fit(executable, on), ErrorKind::device, words)

TEST(Fit, SaysWhatADeviceLacks) {
  Target device;
  device.api = Api::vulkan;
  device.arch = "one";
  Target target = device;
  target.arch = "other";
  EXPECT_NO_THROW(check_fit(plain(target), device)) << "the names of targets need not be equal";

  Executable executable = plain(target);
  executable.target.api = Api::cuda;
  EXPECT_NO_FIT(executable, device, "it is for cuda");
  executable = plain(target);
  executable.target.native_exp2 = true;
  EXPECT_NO_FIT(executable, device, "exp2");
  executable.target.native_exp2 = false;
  executable.target.native_f16 = true;
  EXPECT_NO_FIT(executable, device, "f16");
  executable = plain(target);
  executable.target.max_cluster = 8;
  EXPECT_NO_FIT(executable, device, "clusters of 8 workgroups; the device has 1");
  executable = plain(target);
  executable.kernels[0].matrix_units = {"coopmat 8x8x16 u8 u8 u32 u32 saturating"};
  EXPECT_NO_FIT(executable, device, "uses matrix units 'coopmat");
  Target with_units = device;
  with_units.matrix_units = sample().target.matrix_units;
  EXPECT_NO_THROW(check_fit(executable, with_units));
  executable = plain(target);
  executable.kernels[0].cooperative = true;
  EXPECT_NO_FIT(executable, device, "its workgroups wait for each other");

  Target small = device;
  small.max_buffer_bytes = 287;
  EXPECT_NO_FIT(plain(target), small, "an arena of 288");
  small.max_buffer_bytes = 288;
  EXPECT_NO_THROW(check_fit(plain(target), small));
  small.max_buffer_bytes = 15;
  EXPECT_NO_FIT(plain(target), small, "weight 'w' has 16");
  small = device;
  small.max_grid = {0, 0, 0};
  EXPECT_NO_FIT(plain(target), small, "a grid of 1 workgroups; the device allows 0");
  small = device;
  small.max_loop_iterations = 10;
  executable = plain(target);
  std::get<KernelLaunch>(executable.steps[0]).loop_iterations = 11;
  EXPECT_NO_FIT(executable, small, "loop iterations");
}

TEST(Fit, QuirksOfTheDeviceAreHeeded) {
  Target device;
  device.api = Api::vulkan;
  const Executable executable = plain(device);
  SwitchedOff off{exec::Part::kernel_template, "gemm", "a.quirks:3", "wrong sums"};
  device.switched_off = {off};
  EXPECT_NO_FIT(
      executable, device,
      "kernel gemm is switched off by quirk a.quirks:3: wrong sums: compile the graph for");
  off.what = "gemv";
  device.switched_off = {off};
  EXPECT_NO_THROW(check_fit(executable, device));
  off = {exec::Part::config, "gemm stages=4", "a.quirks:4", "hangs", "gemm", {{"stages", 4}}};
  device.switched_off = {off};
  EXPECT_NO_FIT(executable, device,
                "the config gemm stages=4 is switched off by quirk a.quirks:4: hangs");
  off.values.emplace_back("block_m", 6);
  device.switched_off = {off};
  EXPECT_NO_THROW(check_fit(executable, device)) << "block_m=64 is not block_m=6";
}

// Machine code does not say which features it uses: what it was compiled for counts.
TEST(Fit, FeaturesThatQuirksSwitchOffAreHeeded) {
  const auto without = [](const char* feature) {
    Target device = *cuda_target("sm_90a");
    device.switched_off = {{exec::Part::feature, feature, "a.quirks:5", "slow"}};
    return device;
  };
  Executable executable = plain(*cuda_target("sm_90a"));
  EXPECT_NO_FIT(executable, without("float64"),
                "compiled for a device with float64, which is switched off by quirk a.quirks:5");
  executable.target.float64 = false;
  EXPECT_NO_THROW(check_fit(executable, without("float64")));
  EXPECT_NO_THROW(check_fit(executable, without("overlapping_launches")));
  executable.kernels[0].num_maps = 0;
  EXPECT_NO_THROW(check_fit(executable, without("box_copies")));
  executable.kernels[0].num_maps = 1;
  EXPECT_NO_FIT(executable, without("box_copies"), "with box_copies");
  Target device = without("clusters");
  device.max_cluster = 1;
  EXPECT_NO_FIT(executable, device, "the device has 1 (switched off by quirk a.quirks:5: slow)");
}

TEST(Fit, TheNearestTargetIsTaken) {
  Target device;
  device.api = Api::vulkan;
  device.arch = "llvmpipe";
  device.vendor = "mesa";
  device.is_cpu = true;
  device.subgroup_size = 8;
  Executable generic;
  generic.target.api = Api::vulkan;
  generic.target.arch = "generic";
  Executable same_size = generic, with_units = generic, same_kind = generic, same_vendor = generic,
             same = generic;
  same_size.target.subgroup_size = 8;
  with_units.kernels.emplace_back().matrix_units = {"coopmat 8x8x8 f16 f16 f32 f32"};
  same_kind.target.is_cpu = true;
  same_vendor.target.vendor = "mesa";
  same.target.arch = "llvmpipe";
  const Executable ascending[] = {generic, same_size, with_units, same_kind, same_vendor, same};
  for (size_t i = 1; i < std::size(ascending); ++i)
    EXPECT_LT(nearness(ascending[i - 1], device), nearness(ascending[i], device)) << i;
  EXPECT_EQ(nearness(generic, device), nearness(generic, device));
  Executable in_variant = generic;
  in_variant.variants.emplace_back().executable = with_units;
  EXPECT_EQ(nearness(in_variant, device), nearness(with_units, device));
  const auto of = [](const char* arch) {
    Executable executable;
    executable.target = *cuda_target(arch);
    return executable;
  };
  const Target hopper = *cuda_target("sm_90a");
  EXPECT_LT(nearness(of("compute_80"), hopper), nearness(of("sm_90a"), hopper));
}

}  // namespace
}  // namespace tcc::exec
