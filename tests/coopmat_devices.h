// Devices with cooperative matrices, and compilers for them, for tests without either.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "backends/compile/process.h"
#include "scheduler/passed_templates.h"
#include "scheduler/target.h"
#include "scheduler/tuning.h"
#include "support/error.h"

namespace tcc::test {

struct CoopmatDevice {
  const char* name;
  int subgroup;
  std::vector<const char*> units;
  bool converts = false;  // sums to operands
};

// As drivers report them.
inline const std::vector<CoopmatDevice>& coopmat_devices() {
  static const std::vector<CoopmatDevice> devices = {
      {"nvidia",
       32,
       {"coopmat 16x16x16 f16 f16 f32 f32", "coopmat 16x8x16 f16 f16 f32 f32",
        "coopmat 16x8x8 f16 f16 f32 f32", "coopmat 16x16x16 bf16 bf16 f32 f32",
        "coopmat 16x16x32 u8 u8 u32 u32", "coopmat 16x16x32 i8 i8 i32 i32",
        "coopmat 16x8x32 i8 i8 i32 i32", "coopmat_mma 16x16x16 f16 f16 f32 f32",
        "coopmat_mma 16x16x16 bf16 bf16 f32 f32"},
       true},
      {"amd-rdna", 32, {"coopmat 16x16x16 f16 f16 f32 f32", "coopmat 16x16x16 i8 i8 i32 i32"}},
      {"amd-wave64", 64, {"coopmat 16x16x16 f16 f16 f32 f32", "coopmat 16x16x16 i8 i8 i32 i32"}},
      {"intel", 16, {"coopmat 8x16x16 f16 f16 f32 f32", "coopmat 8x16x32 i8 i8 i32 i32"}},
      {"lavapipe", 8, {"coopmat 8x8x8 f16 f16 f32 f32", "coopmat 8x8x8 i8 i8 i32 i32"}, true},
  };
  return devices;
}

inline sched::Target coopmat_target(const CoopmatDevice& device) {
  sched::Target target = sched::target_by_name(str("vulkan:", device.name));
  target.subgroup_size = device.subgroup;
  target.matrix_conversions = device.converts;
  for (const char* unit : device.units)
    target.matrix_units.push_back(*exec::parse_matrix_unit(unit));
  return target;
}

// Takes the default of each candidate, and keeps that of the last one and the templates that passed
// it by.
class Recorder : public sched::ConfigSource {
 public:
  sched::ConfigChoice choose(const sched::Candidate& candidate) const override {
    passed = sched::passed_templates(candidate);
    config = candidate.default_config();
    return {config, sched::Tier::analytic};
  }
  mutable std::vector<std::string> passed;
  mutable sched::Config config;
};

// Tests with a stand-in for a compiler that has, or has not, every extension.
class WithGlslCompiler : public ::testing::Test {
 protected:
  void use(bool has_extensions) {
    const std::filesystem::path program = folder_.path() / (has_extensions ? "newer" : "older");
    std::ofstream(program) << "#!/bin/sh\n"
                           << (has_extensions ? "while [ $# -gt 1 ]; do [ $1 = -o ] && out=$2; "
                                                "shift; done; cat $1 > $out\n"
                                              : "echo no such extension; exit 1\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    ::setenv("TCC_GLSLC", program.c_str(), 1);
  }
  void SetUp() override { before_ = backends::environment("TCC_GLSLC"); }
  void TearDown() override { restore(); }
  void restore() {
    before_.empty() ? ::unsetenv("TCC_GLSLC") : ::setenv("TCC_GLSLC", before_.c_str(), 1);
  }
  backends::TemporaryFolder folder_;

 private:
  std::string before_;
};

}  // namespace tcc::test
