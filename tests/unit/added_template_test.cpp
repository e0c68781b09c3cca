// A kernel template that only this file knows: it registers itself, and partition, the compiler and
// the tuner use it like any other.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "autotune/records.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/template.h"
#include "scheduler/templates/common.h"
#include "tests/expect_error.h"
#include "tests/unit/one_config.h"

namespace tcc::sched {
namespace {

constexpr std::string_view kDevice = "the device of added_template_test";

int64_t most_elements(const Region& region) {
  int64_t most = 0;
  for (const ir::Value* output : region.outputs) most = std::max(most, numel(output));
  return most;
}

// Workgroups of one thread, which computes one element of each output that has so many.
class OneThread : public testing::OneConfig {
 public:
  using OneConfig::OneConfig;

  KernelSequence lower(const Config&) const override {
    Kernel kernel = start_kernel(region());
    kernel.workgroup = 1;
    kernel.grid = most_elements(region());
    const SymInt number = block_axis(kernel.grid);
    Inliner inliner(region());
    for (const ir::Value* output : region().outputs) {
      const std::vector<SymInt> index = delinearize_ints(number, ir::const_shape(*output));
      Block block = {store(region().slot_of_output(output), region().layout(output).offset(index),
                           inliner.value_at(output, index))};
      kernel.body.push_back(branch(ir::index_less(number, numel(output)), std::move(block)));
    }
    return kernel;
  }
};

// Takes outputs of any sizes, which no other template does.
class OneThreadTemplate : public Template {
 public:
  std::string_view name() const override { return "one_thread"; }
  int version() const override { return 3; }
  int specificity() const override { return 100; }
  int least_workgroup() const override { return 1; }
  Match match(const Region& region, const Target& target) const override {
    if (target.device != kDevice) return Refusal{"it is another device's"};
    if (region.anchor) return Refusal{"it is anchored", true};
    return std::make_shared<const OneThread>(*this, region, target);
  }
};

const RegisterTemplate<OneThreadTemplate> registered;

ir::Graph two_sizes() {
  return parse_yaml_graph(
      "tcc: 1\nname: g\ninputs: {x: {dtype: f32, shape: [8]}}\nnodes:\n"
      "  - {out: e, op: exp, in: [x]}\n"
      "  - {out: s, op: slice, in: [e], dim: 0, start: 0, end: 4}\n"
      "  - {out: r, op: relu, in: [s]}\noutputs: [e, r]\n",
      "g.yaml", ".");
}

constexpr std::string_view kNormDevice = "the device of rms_norm in added_template_test";

// Takes rms_norm as it is, with nothing before or after it.
class WholeNormTemplate : public Template {
 public:
  std::string_view name() const override { return "whole_norm"; }
  int version() const override { return 1; }
  int specificity() const override { return 99; }
  bool takes_composites() const override { return true; }
  Match match(const Region& region, const Target& target) const override {
    if (target.device != kNormDevice) return Refusal{"it is another device's", true};
    if (region.nodes.size() != 1 || region.nodes[0]->op_name() != "rms_norm")
      return Refusal{"it is not rms_norm alone", true};
    return std::make_shared<const WholeNorm>(*this, region, target);
  }

 private:
  // Its kernel stores what it reads.
  class WholeNorm : public OneThread {
   public:
    using OneThread::OneThread;
    KernelSequence lower(const Config&) const override {
      Kernel kernel = start_kernel(region());
      kernel.grid = most_elements(region());
      const SymInt number = block_axis(kernel.grid);
      kernel.body = {store(region().slot_of_output(region().outputs[0]), number,
                           ir::load(0, region().inputs[0]->dtype(), number))};
      return kernel;
    }
  };
};

const RegisterTemplate<WholeNormTemplate> registered_norm;

ir::Graph norm_and_relu() {
  return parse_yaml_graph(
      "tcc: 1\nname: g\ninputs: {x: {dtype: f32, shape: [8, 64]}}\nnodes:\n"
      "  - {out: n, op: rms_norm, in: [x], normalized_shape: [64]}\n  - {out: s, op: softmax, in: "
      "[n], dim: -1}\n"
      "  - {out: r, op: relu, in: [s]}\noutputs: [r]\n",
      "g.yaml", ".");
}

// By step.
std::vector<std::string> templates_of(const exec::Executable& executable) {
  std::vector<std::string> names;
  for (const exec::KernelLaunch* launch : exec::launches(executable))
    names.push_back(executable.kernels.at(static_cast<size_t>(launch->kernel)).template_name);
  return names;
}

// A device whose workgroups are single threads gets kernels by templates that make such.
TEST(AddedTemplate, ServesWorkgroupsOfOneThread) {
  Target target = target_by_name("vulkan");
  target.device = kDevice;
  target.max_workgroup_size = 1;
  backends::CompileOptions options;
  options.binaries = false;
  for (const std::string& name : templates_of(backends::compile(two_sizes(), target, options)))
    EXPECT_EQ(name, "one_thread");
  EXPECT_EQ(templates_of(backends::compile(norm_and_relu(), target, options)),
            std::vector<std::string>{"reduction"});
}

// An op that a template takes whole is not decomposed, and all others are.
TEST(AddedTemplate, MayTakeACompositeOp) {
  const ir::Graph graph = norm_and_relu();
  Target target = target_by_name("vulkan");
  backends::CompileOptions options;
  options.binaries = false;
  const auto count = [&](std::string_view op) {
    const backends::Scheduled scheduled = backends::schedule(graph, target, options);
    return std::ranges::count_if(scheduled.graph->nodes(),
                                 [&](const auto& node) { return node->op_name() == op; });
  };
  EXPECT_EQ(count("rms_norm"), 0);
  const std::vector<std::string> before = templates_of(backends::compile(graph, target, options));
  EXPECT_FALSE(std::ranges::count(before, "whole_norm"));
  target.device = kNormDevice;
  EXPECT_EQ(count("rms_norm"), 1);
  EXPECT_EQ(count("softmax"), 0);
  EXPECT_EQ(templates_of(backends::compile(graph, target, options)),
            (std::vector<std::string>{"whole_norm", "reduction"}));
}

// After "lower" a kernel is as its template made it; the passes of legalize come after.
TEST(Dumps, ShowEachStageOfAKernel) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: g\ninputs: {x: {dtype: f32, shape: [8, 4096]}}\nnodes:\n"
      "  - {out: s, op: sum, in: [x], dim: [1]}\noutputs: [s]\n",
      "g.yaml", ".");
  backends::CompileOptions options;
  options.binaries = false;
  std::map<std::string, std::string, std::less<>> texts;
  std::vector<std::string> order;
  options.dump = [&](std::string_view stage, const std::string& text) {
    order.emplace_back(stage);
    texts[order.back()] = text;
  };
  backends::compile(graph, target_by_name("cuda:sm_90a"), options);
  const auto reduces = [&](const char* stage) {
    return texts.at(stage).find("reduce sum over") != std::string::npos;
  };
  EXPECT_TRUE(reduces("lower"));
  EXPECT_FALSE(reduces("lower-exchanges"));
  const auto names = backends::stage_names();
  EXPECT_EQ(order, std::vector<std::string>(names.begin(), names.end()));
}

TEST(AddedTemplate, IsListedInItsPlace) {
  const auto all = templates();
  ASSERT_TRUE(find_template("one_thread"));
  EXPECT_EQ(all.front(), find_template("one_thread"));
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const Template* a, const Template* b) {
    return a->specificity() != b->specificity() ? a->specificity() > b->specificity()
                                                : a->name() < b->name();
  }));
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](const Template* t) { return t->name() == "pointwise"; }),
            1);
}

// A template for one target makes regions there that no other target has.
TEST(AddedTemplate, DecidesWhatIsFused) {
  const ir::Graph graph = two_sizes();
  Target target = target_by_name("vulkan");
  backends::CompileOptions options;
  options.binaries = false;
  EXPECT_EQ(backends::compile(graph, target, options).steps.size(), 2u);
  target.device = kDevice;
  const exec::Executable executable = backends::compile(graph, target, options);
  ASSERT_EQ(executable.steps.size(), 1u);
  const exec::KernelBinary& kernel = executable.kernels.at(0);
  EXPECT_EQ(kernel.template_name, "one_thread");
  EXPECT_EQ(kernel.template_version, 3);
  EXPECT_EQ(kernel.config, "threads=1");
}

TEST(AddedTemplate, HasRecords) {
  const ir::Graph graph = two_sizes();
  Target target = target_by_name("vulkan");
  target.device = kDevice;
  const backends::Scheduled scheduled = backends::schedule(graph, target);
  ASSERT_EQ(scheduled.regions.size(), 1u);
  const Candidate& candidate = scheduled.regions[0].candidate();
  autotune::Record record;
  record.key = autotune::key_of(candidate);
  EXPECT_EQ(record.key.kernel_template, "one_thread");
  EXPECT_EQ(record.key.version, 3);
  record.best = candidate.default_config();
  record.seconds = 1e-6;
  record.environment = autotune::environment_of(candidate.space(), target);
  record.tcc = autotune::tcc_version();
  autotune::RecordStore store;
  store.add(record);
  EXPECT_EQ(store.choose(candidate).tier, Tier::exact);
}

TEST(AddedTemplate, RefusalsAreOfTheTemplatesForSuchRegions) {
  const ir::Graph graph = two_sizes();
  const backends::Scheduled scheduled = backends::schedule(graph, target_by_name("vulkan"));
  Region region = scheduled.regions.at(0);
  ASSERT_TRUE(match_region(region, target_by_name("vulkan")));
  const Region other = scheduled.regions.at(1);
  region.outputs.push_back(other.outputs[0]);
  const Match match = match_region(region, target_by_name("vulkan"));
  ASSERT_FALSE(match);
  EXPECT_EQ(match.reason(), "outputs of 8 and of 4 elements");
}

}  // namespace
}  // namespace tcc::sched
