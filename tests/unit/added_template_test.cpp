// A kernel template that only this file knows: it registers itself, and partition, the compiler and
// the tuner use it like any other.
#include <gtest/gtest.h>

#include <algorithm>

#include "autotune/records.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/template.h"
#include "scheduler/templates/common.h"

namespace tcc::sched {
namespace {

constexpr std::string_view kDevice = "the device of added_template_test";

int64_t most_elements(const Region& region) {
  int64_t most = 0;
  for (const ir::Value* output : region.outputs) most = std::max(most, numel(output));
  return most;
}

// Workgroups of one thread, which computes one element of each output that has so many.
class OneThread : public Candidate {
 public:
  OneThread(const Template& by, const Region& region, const Target& target)
      : Candidate(by, region, target) {}

  Kernel lower(const Config&) const override {
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

 private:
  ConfigSpace make_space() const override {
    ConfigSpace space;
    space.parameters = {{"threads", {1}, "threads of a workgroup"}};
    return space;
  }
  Config make_default_config() const override { return {{"threads", 1}}; }
  CostModel make_cost_model() const override {
    return [](const Config&) { return 1e-6; };
  }
};

// Takes outputs of any sizes, which no other template does.
class OneThreadTemplate : public Template {
 public:
  std::string_view name() const override { return "one_thread"; }
  int version() const override { return 3; }
  int specificity() const override { return 100; }
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
