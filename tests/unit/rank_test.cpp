// Configs on a device whose driver compiles and runs nothing: ranked by estimates, those that spill
// after those that do not, refused ones last.
#include "tools/tune/rank.h"

#include <gtest/gtest.h>

#include <sstream>

#include "autotune/tune.h"
#include "frontend/graph_file.h"
#include "support/error.h"
#include "tests/unit/forwarding_device.h"
#include "tools/tune/report.h"

namespace tcc::tools {
namespace {

class Reported : public runtime::LoadedKernel {
 public:
  explicit Reported(const runtime::KernelReport& report) : report_(report) {}
  runtime::KernelReport report() const override { return report_; }

 private:
  const runtime::KernelReport report_;
};

// Threads with many sums spill, and workgroups of many are refused.
class Compiling : public runtime::testing::ForwardingDevice {
 public:
  Compiling() : ForwardingDevice("compiling") {}
  bool compiles_alone() const override { return true; }
  std::unique_ptr<runtime::LoadedKernel> load(const exec::KernelBinary& binary) override {
    if (binary.workgroup >= 256) fail_device("planted");
    runtime::KernelReport report;
    report.registers = 100;
    report.spilled = (" " + binary.config + " ").find(" thread_m=8 ") == std::string::npos ? 0 : 5;
    report.code_bytes = 2048;
    return std::make_unique<Reported>(report);
  }
};

TEST(Rank, PutsSpillingConfigsBehindAndRefusedOnesLast) {
  const sched::Target target = sched::target_by_name("vulkan:amd-rdna");
  backends::CompileOptions options;
  std::vector<backends::Scheduled> graphs;
  graphs.push_back(backends::schedule(
      parse_yaml_graph("tcc: 1\ninputs: {a: {dtype: f32, shape: [256, 512]}, b: {dtype: f32, "
                       "shape: [512, 384]}}\n"
                       "nodes: [{out: y, op: matmul, in: [a, b]}]\noutputs: [y]\n",
                       "g.yaml", "."),
      target, options));
  const auto tasks = autotune::tuning_tasks(graphs);
  ASSERT_EQ(tasks.size(), 1u);
  const autotune::Tunable kernel = autotune::tunable_of(tasks[0], options);
  Compiling device;
  const RankedKernel ranked = rank_configs(kernel, device, 48);
  EXPECT_EQ(ranked.kernel_template, "contraction");
  EXPECT_GT(ranked.legal, 48u);
  ASSERT_EQ(ranked.configs.size(), 48u);
  int defaults = 0, spilling = 0, refused = 0;
  for (size_t i = 0; i < ranked.configs.size(); ++i) {
    const RankedConfig& config = ranked.configs[i];
    defaults += config.is_default;
    spilling += config.spilled() > 0;
    refused += !config.refused.empty();
    EXPECT_EQ(config.is_default, config.config == kernel.default_config);
    if (i == 0) continue;
    const RankedConfig& before = ranked.configs[i - 1];
    const auto rank = [](const RankedConfig& one) {
      return !one.refused.empty() ? 2 : one.spilled() > 0 ? 1 : 0;
    };
    EXPECT_LE(rank(before), rank(config));
    if (rank(before) == rank(config)) { EXPECT_LE(before.estimate, config.estimate); }
  }
  EXPECT_EQ(defaults, 1);
  EXPECT_GT(spilling, 0);
  EXPECT_GT(refused, 0);
  std::ostringstream out;
  print_ranking(out, ranked);
  EXPECT_NE(out.str().find("(default)"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("spill registers, "), std::string::npos) << out.str();
  EXPECT_NE(out.str().find(" refused"), std::string::npos) << out.str();
}

// A kernel of a user's own, whose workgroups of `threads` have work for one element each.
autotune::Tunable own_kernel() {
  autotune::Tunable kernel;
  kernel.name = "scale";
  kernel.key.kernel_template = "user:scale";
  kernel.space.parameters = {{"threads", {32, 64, 128}, ""}, {"unroll", {1, 2, 4, 8}, ""}};
  kernel.default_config = {{"threads", 64}, {"unroll", 1}};
  kernel.compile = [](const sched::Config& config) {
    exec::StandaloneKernel one;
    one.config = config.to_string();
    one.workgroup = static_cast<int>(config["threads"]);
    one.subgroup_size = 32;
    one.grid = {1024 / (config["threads"] * config["unroll"]), 1, 1};
    return exec::StandaloneSequence(one);
  };
  return kernel;
}

class Counting : public runtime::testing::ForwardingDevice {
 public:
  explicit Counting(bool has_cycles) : ForwardingDevice("counting"), has_cycles_(has_cycles) {}
  bool compiles_alone() const override { return true; }
  std::unique_ptr<runtime::LoadedKernel> load(const exec::KernelBinary& binary) override {
    runtime::KernelReport report;
    // Unrolled twice, a thread has less to do than two.
    if (has_cycles_) report.throughput = binary.config.ends_with("unroll=2") ? 150 : 200;
    return std::make_unique<Reported>(report);
  }

 private:
  const bool has_cycles_;
};

TEST(Rank, KernelsWithoutACostModelAreRankedByTheCompilersCycles) {
  Counting device(true);
  const RankedKernel ranked = rank_configs(own_kernel(), device, 12);
  EXPECT_EQ(ranked.by, RankedKernel::By::compiler);
  EXPECT_EQ(ranked.legal, 12u);
  ASSERT_EQ(ranked.configs.size(), 12u);
  EXPECT_EQ(ranked.configs[0].config["unroll"], 8);
  EXPECT_EQ(ranked.configs[0].cycles, 200 * 4);
  for (size_t i = 1; i < ranked.configs.size(); ++i)
    EXPECT_LE(ranked.configs[i - 1].cycles, ranked.configs[i].cycles);
  std::ostringstream out;
  print_ranking(out, ranked);
  EXPECT_NE(out.str().find("no cost model: random configs, by the compiler's cycles"),
            std::string::npos)
      << out.str();
  EXPECT_NE(out.str().find("800 cycles"), std::string::npos) << out.str();
  EXPECT_EQ(out.str().find("0.00 us"), std::string::npos) << out.str();
  JsonWriter json;
  add_ranking(json, ranked);
  EXPECT_NE(json.text().find("\"estimate\":null,\"cycles\":800"), std::string::npos) << json.text();
}

TEST(Rank, WithoutAnyEstimateThereIsNoOrder) {
  Counting device(false);
  const RankedKernel ranked = rank_configs(own_kernel(), device, 8);
  EXPECT_EQ(ranked.by, RankedKernel::By::nothing);
  ASSERT_EQ(ranked.configs.size(), 8u);
  EXPECT_TRUE(ranked.configs[0].is_default);
  std::ostringstream out;
  print_ranking(out, ranked);
  EXPECT_NE(out.str().find("the driver gives no estimate"), std::string::npos) << out.str();
  EXPECT_EQ(out.str().find("0.00 us"), std::string::npos) << out.str();
}

}  // namespace
}  // namespace tcc::tools
