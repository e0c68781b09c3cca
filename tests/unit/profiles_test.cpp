// Every template for GPUs that are not here: kernels of the self-test's samples, by random configs,
// compiled for each profile of configs/targets and held against the validator of SPIR-V. And for
// AMD's by AMD's compiler, where a driver is there that compiles alone (packaging/fetch_newer.sh
// radv):
//
//   build/newer/radv/run navi31 build/dev/bin/one_profiles_test
//   TCC_REPORTS=1: lines of a table with the registers, spills, occupancy, code and cycles of the
//   kernels
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "autotune/self_test.h"
#include "backends/compile/spirv.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "scheduler/target_profile.h"
#include "support/config_folder.h"
#include "support/error.h"
#include "support/file.h"
#include "support/parallel.h"
#include "tests/draws.h"
#include "tests/random_configs.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"
#include "tests/unit/json_schema.h"
#include "tools/tune/rank.h"

namespace tcc::backends {
namespace {

std::vector<autotune::SelfTestSample> samples_of(const sched::Target& target) {
  std::vector<autotune::SelfTestSample> samples = autotune::self_test_samples(target);
  for (autotune::SelfTestSample& sample : autotune::self_test_timed_samples(target))
    samples.push_back(std::move(sample));
  return samples;
}

exec::Executable compiled(const autotune::SelfTestSample& sample, sched::Target target,
                          uint64_t seed, bool validate) {
  if (!sample.unit.empty())
    std::erase_if(target.matrix_units, [&](const exec::MatrixUnit& unit) {
      return exec::to_string(unit) != sample.unit;
    });
  CompileOptions options;
  const test::RandomConfigs configs(seed);
  if (seed > 0) options.configs = &configs;  // else the defaults
  options.validate = validate;
  return compile(parse_yaml_graph(sample.text, sample.name, "."), target, options);
}

class Profiles : public ::testing::TestWithParam<std::string> {};

TEST_P(Profiles, EveryTemplateIsValidSpirv) {
  const sched::Target target = sched::target_by_name("vulkan:" + GetParam());
  const auto samples = samples_of(target);
  EXPECT_GT(samples.size(), 40u);
  std::vector<std::string> failures(samples.size());
  parallel_for(0, std::ssize(samples), 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const auto at = static_cast<size_t>(i);
      for (const uint64_t seed : {uint64_t{0}, static_cast<uint64_t>(at) + 1}) try {
          if (seed % 3 > 0 && !test::draws_all()) continue;
          compiled(samples[at], target, seed, true);
        } catch (const std::exception& error) {
          // The indices of sorts are i64.
          if (!target.int64 &&
              std::string(error.what()).find("has no 64-bit integers") != std::string::npos)
            continue;
          // A validator that is older than the compiler knows no matrices.
          if (target.has_matrix_unit("coopmat") &&
              std::string(error.what()).find("Invalid capability operand: 6022") !=
                  std::string::npos)
            continue;
          failures[at] = str(samples[at].name, ", seed ", seed, ": ", error.what());
        }
    }
  });
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}
INSTANTIATE_TEST_SUITE_P(Targets, Profiles,
                         ::testing::ValuesIn(sched::profile_names(config_folder() / "targets")),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// The first Vulkan device, where its driver compiles alone; else the reason why there is none.
std::shared_ptr<runtime::Device> compiling_device(std::string& reason) {
  try {
    auto device = runtime::open_device("vulkan:0");
    if (device->compiles_alone()) return device;
    reason = "vulkan:0 runs kernels";
  } catch (const Error& error) { reason = error.what(); }
  reason += ": no driver that compiles alone (packaging/fetch_newer.sh radv)";
  return nullptr;
}

// Prints a row of the table, where it is asked for.
void show(const std::string& what, const exec::KernelBinary& kernel,
          const runtime::KernelReport& report) {
  static const bool is_asked = std::getenv("TCC_REPORTS") != nullptr;
  if (!is_asked) return;
  std::cout << "| " << what << " | " << kernel.template_name;
  for (const auto& [name, value] : runtime::named_values(report))
    std::cout << " | " << (value < 0 ? "-" : std::to_string(value));
  std::cout << " | " << kernel.config << " |\n";
}

TEST(CompilingDriver, TakesEveryTemplateByRandomConfigs) {
  std::string reason;
  const auto device = compiling_device(reason);
  if (!device) GTEST_SKIP() << reason;
  int kernels = 0;
  for (const autotune::SelfTestSample& sample : samples_of(device->target()))
    for (const uint64_t seed : {1, 2}) {
      SCOPED_TRACE(str(sample.name, ", seed ", seed));
      try {
        for (const exec::KernelBinary& kernel :
             compiled(sample, device->target(), seed, false).kernels) {
          const runtime::KernelReport report = device->load(kernel)->report();
          EXPECT_GT(report.registers, 0);
          EXPECT_GT(report.code_bytes, 0);
          show(sample.name, kernel, report);
          ++kernels;
        }
      } catch (const Error& error) { ADD_FAILURE() << error.what(); }
    }
  EXPECT_GT(kernels, 100);
}

TEST(CompilingDriver, DefaultsSpillNoRegisters) {
  std::string reason;
  const auto device = compiling_device(reason);
  if (!device) GTEST_SKIP() << reason;
  std::vector<autotune::SelfTestSample> samples = samples_of(device->target());
  // Sizes of models.
  const auto add = [&](const std::string& name, const std::string& inputs, const std::string& nodes,
                       const std::string& outputs) {
    samples.push_back({.name = name,
                       .text = "tcc: 1\ninputs: {" + inputs + "}\nnodes: [" + nodes +
                               "]\noutputs: [" + outputs + "]\n"});
  };
  for (const std::string t : {"f32", "f16"}) {
    const auto value = [&](const std::string& name, const std::string& shape) {
      return name + ": {dtype: " + t + ", shape: [" + shape + "]}";
    };
    add("attention " + t,
        value("q", "8, 12, 512, 64") + ", " + value("k", "8, 12, 512, 64") + ", " +
            value("v", "8, 12, 512, 64"),
        "{out: y, op: scaled_dot_product_attention, in: [q, k, v]}", "y");
    add("attention of 128 " + t,
        value("q", "2, 16, 1024, 128") + ", " + value("k", "2, 16, 1024, 128") + ", " +
            value("v", "2, 16, 1024, 128"),
        "{out: y, op: scaled_dot_product_attention, in: [q, k, v]}", "y");
    add("convolution " + t, value("x", "16, 64, 56, 56") + ", " + value("w", "64, 64, 3, 3"),
        "{out: p, op: conv2d, in: [x, w], padding: 1}, {out: y, op: relu, in: [p]}", "y");
    add("linear, gelu " + t,
        value("x", "1024, 768") + ", " + value("w", "3072, 768") + ", " + value("b", "3072"),
        "{out: p, op: linear, in: [x, w, b]}, {out: y, op: gelu, in: [p]}", "y");
    // Epilogues have what they load in registers.
    add("linear, residual " + t,
        value("x", "4096, 768") + ", " + value("w", "768, 768") + ", " + value("b", "768") + ", " +
            value("r", "4096, 768"),
        "{out: p, op: linear, in: [x, w, b]}, {out: y, op: add, in: [p, r]}", "y");
    add("linear, residual of f32 " + t,
        value("x", "4096, 768") + ", " + value("w", "768, 768") +
            ", r: {dtype: f32, shape: [4096, 768]}",
        "{out: p, op: linear, in: [x, w]}, {out: y, op: add, in: [p, r]}", "y");
    add("pages " + t,
        value("q", "16, 32, 1, 128") + ", " + value("k", "512, 16, 8, 128") + ", " +
            value("v", "512, 16, 8, 128") +
            ", table: {dtype: i32, shape: [16, 32]}, lengths: {dtype: i32, shape: [16]}",
        "{out: y, op: paged_attention, in: [q, k, v, table, lengths]}", "y");
    add("layer norm " + t, value("x", "4096, 768") + ", " + value("w", "768"),
        "{out: y, op: layer_norm, in: [x, w], normalized_shape: [768]}", "y");
    add("one row " + t, value("x", "1, 4096") + ", " + value("w", "4096, 4096"),
        "{out: y, op: linear, in: [x, w]}", "y");
  }
  const std::string bytes = "{dtype: i8, shape: [", weights = "{dtype: u8, shape: [";
  add("linear i8", "x: " + bytes + "1024, 768]}, w: " + bytes + "3072, 768]}",
      "{out: y, op: linear, in: [x, w], out_dtype: i32}", "y");
  add("matmul i8 u8", "x: " + bytes + "1024, 768]}, w: " + weights + "768, 3072]}",
      "{out: y, op: matmul, in: [x, w], out_dtype: i32}", "y");
  add("convolution i8", "x: " + bytes + "16, 64, 56, 56]}, w: " + bytes + "64, 64, 3, 3]}",
      "{out: y, op: conv2d, in: [x, w], padding: 1, out_dtype: i32}", "y");
  for (const autotune::SelfTestSample& sample : samples) {
    SCOPED_TRACE(sample.name);
    try {
      for (const exec::KernelBinary& kernel :
           compiled(sample, device->target(), 0, false).kernels) {
        const runtime::KernelReport report = device->load(kernel)->report();
        show(sample.name, kernel, report);
        EXPECT_LE(report.spilled, 0) << kernel.template_name << " " << kernel.config;
      }
    } catch (const Error& error) { ADD_FAILURE() << error.what(); }
  }
}

TEST(CompilingDriver, RunsNothingAndSaysSo) {
  std::string reason;
  const auto device = compiling_device(reason);
  if (!device) GTEST_SKIP() << reason;
  for (const runtime::DeviceEntry& entry : runtime::list_devices().devices)
    EXPECT_NE(entry.name, "vulkan:0");
  for (const auto& use : {std::function<void()>([&] { device->allocate(64); }),
                          std::function<void()>([&] { device->create_stream(); })})
    try {
      use();
      ADD_FAILURE() << "it has memory";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::device);
      EXPECT_NE(std::string(error.what()).find("nothing runs on it"), std::string::npos)
          << error.what();
    }
}

// The program, on the same device.
TEST(CompilingDriver, RanksConfigsAndSaysThatNothingWasMeasured) {
  std::string reason;
  if (!compiling_device(reason)) GTEST_SKIP() << reason;
  const std::string words = str(testing::program("tcc-tune").string(), " ",
                                (testing::source_dir() / "configs/models/mlp.yaml").string(),
                                " --device vulkan:0 --trials 3 ");
  testing::Outcome outcome = testing::run_command(words + "2>/dev/null");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.text.find("nothing is measured: configs are ranked by"), std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find("3 configs of "), std::string::npos) << outcome.text;
  outcome = testing::run_command(words + "--json 2>/dev/null");
  nlohmann::json root =
      nlohmann::json::parse(read_file(testing::source_dir() / "docs/tune-report.schema.json"));
  root.erase("oneOf");
  root["$ref"] = "#/$defs/ranking";
  EXPECT_EQ(testing::Schema(root).violation(YAML::Load(outcome.text)), "") << outcome.text;
}

// Kernels of one's own have no cost model: the compiler's cycles rank them.
TEST(CompilingDriver, RanksAUsersKernelByTheCompilersEstimate) {
  std::string reason;
  if (!compiling_device(reason)) GTEST_SKIP() << reason;
  const testing::Outcome outcome =
      testing::run_command(str(testing::program("tcc-tune").string(), " --kernel ",
                               (testing::source_dir() / "examples/kernels/matmul.yaml").string(),
                               " --device vulkan:0 --trials 3 2>/dev/null"));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.text.find("nothing is measured"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find(" cycles "), std::string::npos) << outcome.text;
  EXPECT_EQ(outcome.text.find("0.00 us"), std::string::npos) << outcome.text;
}

TEST(CompilingDriver, IsListedAsWhatItIs) {
  std::string reason;
  if (!compiling_device(reason)) GTEST_SKIP() << reason;
  const std::string info = testing::program("tcc-info").string();
  testing::Outcome outcome = testing::run_command(info + " 2>/dev/null");
  EXPECT_NE(outcome.text.find("  compiles     kernels, and runs none"), std::string::npos)
      << outcome.text;
  EXPECT_EQ(outcome.text.find("--self-test"), std::string::npos) << outcome.text;
  EXPECT_EQ(outcome.text.find("missing: vulkan:0"), std::string::npos) << outcome.text;
  outcome = testing::run_command(info + " --json 2>/dev/null");
  EXPECT_NE(outcome.text.find("\"runs_kernels\": false"), std::string::npos) << outcome.text;
  outcome = testing::run_command(info + " --self-test --device vulkan:0 2>&1");
  EXPECT_NE(outcome.text.find("compiles kernels and runs none: there is nothing to test"),
            std::string::npos)
      << outcome.text;
}

TEST(KernelReport, TakesTheNamesOfDriversAndSumsWhatIsSpilled) {
  runtime::KernelReport report;
  EXPECT_TRUE(runtime::enter_statistic(report, "VGPRs", 144));
  EXPECT_TRUE(runtime::enter_statistic(report, "Spilled VGPRs", 3));
  EXPECT_TRUE(runtime::enter_statistic(report, "Spilled SGPRs", 4));
  EXPECT_FALSE(runtime::enter_statistic(report, "Branches", 4));
  EXPECT_FALSE(runtime::enter_statistic(report, "Code size", -4));
  EXPECT_EQ(report.registers, 144);
  EXPECT_EQ(report.spilled, 7);
  EXPECT_EQ(report.code_bytes, -1);
  runtime::KernelReport other;
  other.registers = 20;
  other.subgroups = 8;
  other.latency = 5;
  const runtime::KernelReport both = runtime::joined(report, other);
  EXPECT_EQ(both.registers, 144);
  EXPECT_EQ(both.spilled, 7);
  EXPECT_EQ(both.subgroups, 8);
  EXPECT_EQ(both.latency, 5);
}

}  // namespace
}  // namespace tcc::backends
