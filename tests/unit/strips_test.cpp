// Elementwise regions of numbers as sizes: a thread computes `per_thread` elements.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "scheduler/cost.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/rule_space.h"
#include "scheduler/work.h"
#include "support/checked.h"

namespace tcc::sched::template_strips {
namespace {

// A config: the values of all parameters.
struct Strips {
  int64_t per_thread;  // elements
};

// The facts of a region on a target that configs depend on.
struct StripsCase {
  using Values = Strips;
  using Shape = Strips;  // where sizes follow from a config, a struct with these as well
  Values values() const { return {}; }
  Shape shape(const Values& values) const { return values; }

  int64_t elements;  // of each output
  int64_t threads;   // of a workgroup
};

// Users read the reason where a config breaks a rule.
constexpr Rule<Strips, StripsCase> kRules[] = {
    {"a workgroup has no more elements than there are",
     [](const auto& s, const auto& of) {
       return s.per_thread == 1 || s.per_thread * of.threads <= of.elements;
     }},
};

// The tunable, declared once: name, values, meaning, member.
std::vector<Field<Strips>> all_fields() {
  return {{"per_thread", {1, 2, 4, 8}, "elements that a thread computes", &Strips::per_thread}};
}

RuleSpace<StripsCase> rules_of(const StripsCase& of) {
  return {std::make_shared<const StripsCase>(of), all_fields(), kRules, {}};
}

class StripsCandidate : public RuledCandidate<StripsCase> {
 public:
  using RuledCandidate::RuledCandidate;

  // The kernel of a config. In each turn neighbouring threads have neighbouring elements.
  KernelSequence lower(const Config& config) const override {
    const StripsCase& of = rules().of();
    const int64_t per_thread = rules().shape(config).per_thread;
    Kernel kernel = start_kernel(region());
    kernel.workgroup = static_cast<int>(of.threads);
    kernel.grid = ceil_div(of.elements, of.threads * per_thread);
    const SymInt turn = SymInt::axis("turn", per_thread);
    const SymInt element =
        (block_axis(kernel.grid) * per_thread + turn) * of.threads + thread_axis(of.threads);
    Block stores;
    Inliner inliner(region());
    for (const ir::Value* output : region().outputs) {
      const std::vector<SymInt> index = index_of(output, element);
      stores.push_back(store(region().slot_of_output(output), region().layout(output).offset(index),
                             inliner.value_at(output, index)));
    }
    kernel.body = {loop(turn, {branch(ir::index_less(element, of.elements), std::move(stores))})};
    return kernel;
  }

 private:
  // Seconds of a legal config. The default config is the one that has the fewest.
  ShapeModel shape_model() const override {
    const SymInt element = SymInt::axis("element", rules().of().elements);
    Inliner inliner(region());
    std::vector<Expr> values;
    for (const ir::Value* output : region().outputs)
      values.push_back(inliner.value_at(output, index_of(output, element)));
    const ElementWork work = element_work(values, element);
    const auto outputs = static_cast<double>(values.size());
    return
        [=, of = rules().of(), bytes = region_bytes(region()), target = target()](const Strips& s) {
          const auto elements = static_cast<double>(of.elements),
                     per_thread = static_cast<double>(s.per_thread);
          LaunchCost cost;
          cost.threads = static_cast<double>(of.threads);
          cost.workgroups = std::ceil(elements / (cost.threads * per_thread));
          cost.arithmetic = elements * (work.slots + 4) + elements / per_thread * 10;
          cost.accesses = elements * (work.contiguous + work.scattered + work.shared + outputs);
          cost.elements = cost.accesses;
          cost.memory_bytes = cost.cache_bytes = bytes;
          cost.bytes_in_flight = std::max(4.0, work.held_bytes);
          cost.round_trips = per_thread;
          return predicted_seconds(cost, target);
        };
  }

  // The index of the element that is so far along in memory.
  std::vector<SymInt> index_of(const ir::Value* output, const SymInt& element) const {
    return memory_order_index(element, output->shape(), region().layout(output));
  }
};

class StripsTemplate : public Template {
 public:
  std::string_view name() const override { return "strips"; }
  int version() const override { return 1; }
  int specificity() const override { return 1; }  // before pointwise
  bool is_on_trial() const override { return true; }
  std::vector<Parameter> parameters() const override { return parameters_from(all_fields()); }

  Match match(const Region& region, const Target& target) const override {
    if (region.anchor || region.outputs.empty())
      return Refusal{"it is anchored by more than elements", true};
    for (const ir::Node* node : region.nodes)
      if (node->op->kind != ir::OpKind::pointwise && node->op->kind != ir::OpKind::view)
        return Refusal{str(node->op_name(), " is not elementwise"), true};
    const int64_t elements = numel(region.outputs[0]);
    for (const ir::Value* output : region.outputs)
      if (numel(output) != elements)
        return Refusal{str("outputs of ", elements, " and of ", numel(output), " elements")};
    if (elements == 0) return Refusal{"it stores nothing"};
    const StripsCase of = {elements, fewest_threads(target)};
    return std::make_shared<const StripsCandidate>(*this, region, target, rules_of(of));
  }
};

const RegisterTemplate<StripsTemplate> registered;

}  // namespace
}  // namespace tcc::sched::template_strips

// The template strips: each of its configs computes what the reference does.
#include <cstdlib>

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "tests/random_configs.h"
#include "tests/run_graph.h"

namespace tcc::sched {
namespace {

ir::Graph elementwise() {
  return parse_yaml_graph(
      "tcc: 1\nname: g\n"
      "inputs: {x: {dtype: f32, shape: [7, 100]}, b: {dtype: f32, shape: [100]}}\n"
      "nodes:\n"
      "  - {out: s, op: add, in: [x, b]}\n"
      "  - {out: y, op: tanh, in: [s]}\n"
      "  - {out: t, op: permute, in: [s], dims: [1, 0]}\n"
      "  - {out: z, op: exp, in: [t]}\n"
      "outputs: [y, z]\n",
      "g.yaml", ".");
}

class StripsTest : public ::testing::Test {
 protected:
  StripsTest() { ::setenv("TCC_TEMPLATES", "strips", 1); }
  ~StripsTest() override { ::unsetenv("TCC_TEMPLATES"); }
};

TEST_F(StripsTest, AllConfigsAreRight) {
  const ir::Graph graph = elementwise();
  for (const std::string& device : test::devices_present(test::Devices::software))
    for (const int64_t per_thread : {1, 2, 4, 8}) {
      const test::RandomConfigs configs(1, {{"per_thread", per_thread}});
      backends::CompileOptions options;
      options.configs = &configs;
      options.validate = true;
      const exec::Executable executable =
          backends::compile(graph, test::open_once(device)->target(), options);
      for (const exec::KernelBinary& kernel : executable.kernels) {
        EXPECT_EQ(kernel.template_name, "strips");
        EXPECT_EQ(kernel.config, str("per_thread=", per_thread));
      }
      EXPECT_EQ(test::difference(graph, device, test::draw_inputs(graph, {}), options), "");
    }
}

TEST_F(StripsTest, SaysWhatIsWrongWithAConfig) {
  const ir::Graph graph = elementwise();
  const backends::Scheduled scheduled = backends::schedule(graph, target_by_name("vulkan"));
  const Candidate& candidate = scheduled.regions.at(0).candidate();
  EXPECT_EQ(candidate.kernel_template().name(), "strips");
  EXPECT_EQ(candidate.space().violation(candidate.default_config()), "");
  EXPECT_NE(candidate.space().violation(Config{{"per_thread", 3}}), "");
}

}  // namespace
}  // namespace tcc::sched

// docs/add-a-template.md shows the two parts above as files of their own.
#include <string>

#include "support/file.h"
#include "tests/source_dir.h"

namespace tcc::sched {
namespace {

TEST(StripsDocs, ShowWhatIsCompiledHere) {
  const std::string here = read_file(testing::source_dir() / "tests/unit/strips_test.cpp"),
                    text = read_file(testing::source_dir() / "docs/add-a-template.md");
  int blocks = 0;
  for (const char* file : {"scheduler/templates/strips.cpp", "tests/unit/strips_test.cpp"}) {
    const std::string head = str("`", file, "`:\n\n```cpp\n");
    const size_t begin = text.find(head);
    ASSERT_NE(begin, std::string::npos) << file;
    const size_t from = begin + head.size(), end = text.find("```\n", from);
    ASSERT_NE(end, std::string::npos) << file;
    EXPECT_NE(here.find(text.substr(from, end - from)), std::string::npos) << file;
    ++blocks;
  }
  EXPECT_EQ(blocks, 2);
}

}  // namespace
}  // namespace tcc::sched
