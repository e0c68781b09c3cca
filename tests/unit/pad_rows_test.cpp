// Padded rows: which values get them, which inputs are copied for them, and that results stay
// right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>

#include "backends/pipeline.h"
#include "executable/cuda_targets.h"
#include "frontend/graph_file.h"
#include "ir/builder.h"
#include "ir/text.h"
#include "runtime/device.h"
#include "scheduler/template.h"
#include "scheduler/templates/product_candidate.h"
#include "tests/draws.h"
#include "tests/run_graph.h"

namespace tcc::sched {
namespace {

using ir::Value;

// Answers "pad_inputs" with one choice, the rest with the defaults, and keeps what was asked.
class PadAnswers : public PlanSource {
 public:
  explicit PadAnswers(std::optional<int64_t> choice = {}) : choice_(choice) {}
  int64_t choose(const PlanSite& site, const Target&) const override {
    if (site.kind != "pad_inputs") return site.default_choice;
    asked.push_back(site);
    const auto& all = site.alternatives;
    const bool possible = choice_ && std::find(all.begin(), all.end(), *choice_) != all.end();
    return possible ? *choice_ : choice_ ? all.back() : site.default_choice;
  }
  mutable std::vector<PlanSite> asked;

 private:
  std::optional<int64_t> choice_;
};

ir::Graph graph_of(const std::string& values, const std::string& nodes,
                   const std::string& outputs = "y") {
  return parse_yaml_graph(
      "tcc: 1\nname: g\n" + values + "nodes: [" + nodes + "]\noutputs: [" + outputs + "]\n",
      "g.yaml", ".");
}

ir::Graph linear_of(int64_t m, int64_t n, int64_t k, bool input_weight) {
  const std::string weight = str("{w: {dtype: bf16, shape: [", n, ", ", k, "]");
  return graph_of(str("inputs: {x: {dtype: bf16, shape: [", m, ", ", k, "]}",
                      input_weight ? str(", ", weight.substr(1), "}}\n")
                                   : str("}\nweights: ", weight, ", init: {normal: 0.02}}}\n")),
                  "{out: y, op: linear, in: [x, w]}");
}

backends::Scheduled schedule_for(const ir::Graph& graph, const Target& target,
                                 const PlanSource* plan = nullptr) {
  backends::CompileOptions options;
  options.plan = plan;
  return backends::schedule(graph, target, options);
}

// Values whose layouts have gaps, by name, in the order of the regions.
std::vector<std::string> padded_values(const backends::Scheduled& scheduled) {
  std::vector<std::string> names;
  for (const Region& region : scheduled.regions)
    for (const auto* values : {&region.inputs, &region.outputs})
      for (const Value* value : *values) {
        int64_t elements = 1;
        for (int64_t dim : ir::const_shape(*value)) elements *= dim;
        const bool padded = region.layout(value).elements.value() > elements;
        if (padded && std::find(names.begin(), names.end(), value->name) == names.end())
          names.push_back(value->name);
      }
  return names;
}

std::vector<std::string> region_names(const backends::Scheduled& scheduled) {
  std::vector<std::string> names;
  for (const Region& region : scheduled.regions) names.push_back(region.name());
  return names;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

using Strings = std::vector<std::string>;

TEST(PadRows, LayoutsPadTheRowsOfTheInnermostDims) {
  const ir::Shape shape = {3, 5, 7};
  const Layout dense = Layout::row_major(shape);
  EXPECT_EQ(dense.padded(shape, 1, 8).strides, (ir::Shape{40, 8, 1}));
  EXPECT_EQ(dense.padded(shape, 1, 8).elements, 120);
  EXPECT_EQ(dense.padded(shape, 2, 8).strides, (ir::Shape{40, 7, 1}));
  EXPECT_EQ(dense.padded(shape, 1, 7), dense);
  const Layout turned = Layout::ordered(shape, {2, 0, 1});
  EXPECT_EQ(turned.order(), (std::vector<int>{2, 0, 1}));
  EXPECT_EQ(turned.padded(shape, 1, 4).strides, (ir::Shape{8, 1, 24}));
}

ir::Graph softmax_and_linear() {
  return graph_of(
      "inputs: {x: {dtype: bf16, shape: [200, 333]}}\n"
      "weights: {w: {dtype: bf16, shape: [203, 333], init: {normal: 0.02}}}\n",
      "{out: s, op: softmax, in: [x], dim: -1}, {out: y, op: linear, in: [s, w]}");
}

// Constants, and values that a kernel writes for a product, are padded where they lie; inputs and
// outputs are not.
TEST(PadRows, ValuesBetweenKernelsAndConstantsArePadded) {
  const ir::Graph graph = softmax_and_linear();
  for (const char* name : {"cuda:sm_90a", "cuda:sm_80"}) {
    const Target target = target_by_name(name);
    const backends::Scheduled scheduled = schedule_for(graph, target);
    ASSERT_EQ(region_names(scheduled), (Strings{"amax_sub_exp_sum_reciprocal", "matmul"})) << name;
    const Region& product = scheduled.regions[1];
    ASSERT_EQ(product.inputs.size(), 2u);
    EXPECT_EQ(product.layout(product.inputs[0]).strides, (ir::Shape{336, 1}));
    EXPECT_EQ(scheduled.regions[0].region().layout(product.inputs[0]),
              product.layout(product.inputs[0]));
    EXPECT_EQ(padded_values(scheduled).size(), 2u) << name;  // the softmax and the weight
    EXPECT_TRUE(scheduled.regions[1].candidate().row_wishes().empty());
    EXPECT_EQ(product.layout(product.outputs[0]), Layout::row_major({200, 203}));
  }
  // Vulkan's targets pad for matrix units alone, and for those of the product's type.
  for (const std::string& name : target_names())
    if (const Target target = target_by_name(name); name.starts_with("vulkan")) {
      const bool multiplies = target.multiplies("coopmat", DType::bf16, DType::bf16, DType::f32);
      EXPECT_EQ(padded_values(schedule_for(graph, target)).size(), multiplies ? 2u : 0u) << name;
    }
}

// A row of a product may be made of several dims: then their product is padded.
TEST(PadRows, RowsOfSeveralDims) {
  const ir::Graph graph = graph_of(
      "inputs: {x: {dtype: f16, shape: [96, 5, 27]}}\n"
      "weights: {w: {dtype: f16, shape: [96, 135], init: {normal: 0.02}}}\n",
      "{out: e, op: exp, in: [x]}, {out: s, op: sum, in: [e], dim: [-1], keepdim: true}, "
      "{out: p, op: div, in: [e, s]}, {out: f, op: reshape, in: [p], shape: [96, 135]}, "
      "{out: y, op: linear, in: [f, w]}");
  const backends::Scheduled scheduled = schedule_for(graph, target_by_name("cuda:sm_90a"));
  const Region& product = scheduled.regions.back();
  ASSERT_EQ(product.name(), "matmul");
  const Value* rows = product.inputs[0];
  ASSERT_TRUE(rows->producer);
  EXPECT_EQ(product.layout(rows).strides[0], 136);
  EXPECT_TRUE(scheduled.regions.back().candidate().row_wishes().empty());
}

TEST(PadRows, InputsOfLargeProductsAreCopied) {
  for (const char* name : {"cuda:sm_90a", "cuda:sm_80"}) {
    const Target target = target_by_name(name);
    const PadAnswers answers;
    const backends::Scheduled scheduled =
        schedule_for(linear_of(4097, 4095, 4093, true), target, &answers);
    ASSERT_EQ(answers.asked.size(), 1u);
    EXPECT_EQ(answers.asked[0].alternatives, (std::vector<int64_t>{0, 1, 2, 3}));
    EXPECT_NE(answers.asked[0].default_choice, 0) << name;
    EXPECT_EQ(scheduled.regions.front().region().name(), "identity");
    const PadAnswers both(3);
    const backends::Scheduled copied =
        schedule_for(linear_of(4097, 4095, 4093, true), target, &both);
    EXPECT_EQ(region_names(copied), (Strings{"identity", "identity", "matmul"})) << name;
    EXPECT_TRUE(copied.regions.back().candidate().row_wishes().empty());
  }
}

TEST(PadRows, SmallAndAlignedProductsAreNotCopied) {
  const Target target = target_by_name("cuda:sm_90a");
  for (const auto& [m, n, k] : {std::tuple{65, 67, 131}, {1, 4095, 4093}, {256, 256, 255}})
    EXPECT_EQ(region_names(schedule_for(linear_of(m, n, k, true), target)), Strings{"matmul"})
        << m << " x " << n << " x " << k;
  const PadAnswers all(3);
  EXPECT_EQ(region_names(schedule_for(linear_of(4096, 4096, 4096, true), target, &all)),
            Strings{"matmul"});
  EXPECT_TRUE(all.asked.empty());
  EXPECT_EQ(
      region_names(schedule_for(linear_of(4097, 4095, 4093, true), target_by_name("vulkan"), &all)),
      Strings{"matmul"});
}

TEST(PadRows, ProductsShareTheCopyOfAnInput) {
  const std::string inputs = "inputs: {x: {dtype: bf16, shape: [130, 131]}}\n";
  const PadAnswers all(3);
  const Target target = target_by_name("cuda:sm_90a");
  const ir::Graph square = graph_of(
      inputs, "{out: t, op: permute, in: [x], dims: [1, 0]}, {out: y, op: matmul, in: [x, t]}");
  EXPECT_EQ(region_names(schedule_for(square, target, &all)), (Strings{"identity", "matmul"}));
  ASSERT_EQ(all.asked.size(), 1u);
  EXPECT_EQ(all.asked[0].alternatives, (std::vector<int64_t>{0, 3}));  // one buffer
  const ir::Graph two = graph_of(
      "inputs: {x: {dtype: bf16, shape: [130, 131]}, u: {dtype: bf16, shape: [131, 136]}, "
      "v: {dtype: bf16, shape: [131, 144]}}\n",
      "{out: a, op: matmul, in: [x, u]}, {out: y, op: matmul, in: [x, v]}", "y, a");
  EXPECT_EQ(region_names(schedule_for(two, target, &all)),
            (Strings{"identity", "matmul", "matmul"}));
}

TEST(PadRows, ProductsOfCopiesLoadTiles) {
  for (const char* name : {"cuda:sm_90a", "cuda:sm_80"})
    for (const int64_t choice : {0, 3}) {
      const PadAnswers answers(choice);
      backends::CompileOptions options;
      options.binaries = false;
      options.plan = &answers;
      const exec::Executable executable =
          backends::compile(linear_of(513, 511, 509, true), target_by_name(name), options);
      const std::string& source = executable.kernels.back().source;
      EXPECT_EQ(count(source, "p.product.a.load = Load::tiles;"), choice ? 1u : 0u) << name;
      EXPECT_EQ(count(source, "p.product.b.load = Load::tiles;"), choice ? 1u : 0u) << name;
      int64_t copies = 0;  // what else is in the arena are sums of workgroups that share k
      for (const exec::BufferInfo& buffer : executable.buffers)
        if (buffer.kind == exec::BufferInfo::Kind::arena) copies += buffer.bytes.value();
      EXPECT_EQ(copies, choice ? (513 + 511) * 512 * 2 : 0) << name;
      if (target_by_name(name).has_matrix_unit("wgmma")) {
        EXPECT_EQ(executable.arena_bytes, copies);
      }
    }
}

std::vector<int> order_of(const backends::Scheduled& scheduled, const std::string& name) {
  for (const Region& region : scheduled.regions)
    for (const auto* values : {&region.inputs, &region.outputs})
      for (const Value* value : *values)
        if (value->name == name) return region.layout(value).order();
  return {};
}

// Matrix units read bytes along k alone: constants are laid out so, inputs copied where that pays.
TEST(PadRows, BytesAreTurnedToLieAlongK) {
  for (const char* name : {"cuda:sm_90a", "cuda:sm_80"}) {
    const Target target = target_by_name(name);
    auto weights = [](const std::string& x, const std::string& w, const std::string& node) {
      return graph_of(
          str("inputs: {x: {dtype: u8, shape: ", x, "}}\nweights: {w: {dtype: i8, shape: ", w,
              ", init: {integers: [-128, 128]}}}\n"),
          str("{out: y, in: [x, w], out_dtype: i32, ", node, "}"));
    };
    EXPECT_EQ(
        order_of(schedule_for(weights("[200, 512]", "[512, 260]", "op: matmul"), target), "w"),
        (std::vector<int>{1, 0}));
    EXPECT_EQ(
        order_of(schedule_for(weights("[3, 200, 512]", "[3, 512, 260]", "op: matmul"), target),
                 "w"),
        (std::vector<int>{0, 2, 1}));
    EXPECT_EQ(order_of(schedule_for(
                           weights("[2, 64, 20, 20]", "[96, 64, 3, 3]", "op: conv2d, padding: 1"),
                           target),
                       "w"),
              (std::vector<int>{0, 2, 3, 1}));
    const PadAnswers large, small;
    auto inputs = [](int64_t size) {
      return graph_of(str("inputs: {a: {dtype: i8, shape: [", size, ", ", size,
                          "]}, b: {dtype: i8, shape: [", size, ", ", size, "]}}\n"),
                      "{out: y, op: matmul, in: [a, b], out_dtype: i32}");
    };
    EXPECT_EQ(schedule_for(inputs(4096), target, &large).regions.size(), 2u);
    ASSERT_EQ(large.asked.size(), 1u);
    EXPECT_EQ(large.asked[0].alternatives, (std::vector<int64_t>{0, 2}));
    EXPECT_EQ(schedule_for(inputs(128), target, &small).regions.size(), 1u);
  }
  // A turned tensor has padded rows, too.
  const auto padded = schedule_for(
      graph_of("inputs: {x: {dtype: i8, shape: [200, 333]}}\n"
               "weights: {w: {dtype: i8, shape: [333, 203], init: {integers: [-9, 9]}}}\n",
               "{out: y, op: matmul, in: [x, w], out_dtype: i32}"),
      target_by_name("cuda:sm_90a"));
  for (const Region& region : padded.regions)
    for (const Value* value : region.inputs) {
      if (value->name != "w") continue;
      EXPECT_EQ(region.layout(value).strides, (ir::Shape{1, 336}));
    }
}

// Rows are those of the units that the region's own template uses, whatever else the target has.
TEST(PadRows, AreThoseOfTheTemplatesOwnUnits) {
  Target target = target_by_name("cuda:sm_80");
  const ir::Graph graph = softmax_and_linear();
  const auto expected = padded_values(schedule_for(graph, target));
  ASSERT_FALSE(expected.empty());
  target.matrix_units.insert(target.matrix_units.begin(),
                             *exec::parse_matrix_unit("coopmat 16x16x16 u8 u8 u32 u32"));
  EXPECT_EQ(padded_values(schedule_for(graph, target)), expected);
}

// ---- results, on a software device whose target claims the matrix units of a template that
// computes as "contraction" does

class PaddedProductTemplate : public Template {
 public:
  std::string_view name() const override { return "padded_product"; }
  int version() const override { return 1; }
  int specificity() const override { return 1; }
  std::string_view unit() const override { return "of contractions"; }
  Match match(const Region& region, const Target& target) const override {
    if (!target.has_matrix_unit(unit())) return Refusal{"the target has no such units"};
    Match inner = find_template("contraction")->match(region, target);
    if (!inner) return inner;
    return std::make_shared<const Padded>(*this, region, target, *std::move(inner));
  }

 private:
  class Padded : public ProductCandidate {
   public:
    Padded(const Template& by, const Region& region, const Target& target, CandidatePtr inner)
        : ProductCandidate(by, region, target), inner_(std::move(inner)) {}
    KernelSequence lower(const Config& config) const override { return inner_->lower(config); }

   private:
    ConfigSpace make_space() const override { return inner_->space(); }
    Config make_default_config() const override { return inner_->default_config(); }
    CostModel make_cost_model() const override { return inner_->cost_model(); }
    CandidatePtr inner_;
  };
};
const RegisterTemplate<PaddedProductTemplate> registered;

class PadRowsOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    const auto devices = test::devices_present(test::Devices::software);
    if (devices.empty()) GTEST_SKIP() << "there is no software device";
    device_ = runtime::open_device(devices.front());
    target_ = device_->target();
    target_.matrix_units = exec::cuda_matrix_units(90, true);
    for (exec::MatrixUnit& unit : target_.matrix_units) unit.kind = "of contractions";
    target_.matrix_row_bytes = 16;
    options_.plan = &all_;
  }

  // "" where what runs with padded rows is right; at least `least` values must have them.
  std::string difference(const ir::Graph& graph, uint64_t seed, size_t least) {
    const size_t found = padded_values(backends::schedule(graph, target_, options_)).size();
    if (found < least) return str(found, " padded values");
    test::DrawOptions draw;
    draw.seed = seed;
    const std::vector<Tensor> inputs = test::draw_inputs(graph, draw);
    runtime::Context context(std::make_shared<const runtime::Program>(
        device_, backends::compile(graph, target_, options_)));
    return test::compare_with_reference(graph, inputs, context.run(inputs));
  }

  PadAnswers all_{3};
  std::shared_ptr<runtime::Device> device_;
  Target target_;
  backends::CompileOptions options_;
};

TEST_F(PadRowsOnDevice, TemplatesFollowPaddedLayouts) {
  struct Case {
    std::string values, nodes;
    size_t padded;
  };
  const std::string x = "x: {dtype: f16, shape: [67, 71]}", b3 = "[3, 65, 69]";
  const Case cases[] = {
      // Copies, both operands along k; a view between input and product.
      {"inputs: {" + x + ", w: {dtype: f16, shape: [73, 71]}}\n",
       "{out: y, op: linear, in: [x, w]}", 2},
      {"inputs: {" + x + "}\n",
       "{out: t, op: permute, in: [x], dims: [1, 0]}, {out: y, op: matmul, in: [x, t]}", 1},
      // A reduction writes, a pointwise kernel and a reduction read.
      {"inputs: {" + x + "}\nweights: {w: {dtype: f16, shape: [71, 73], init: {normal: 0.2}}}\n",
       "{out: s, op: softmax, in: [x], dim: -1}, {out: p, op: matmul, in: [s, w]}, "
       "{out: q, op: sum, in: [s], dim: [0]}, {out: r, op: exp, in: [s]}, "
       "{out: u, op: sum, in: [r], dim: [1], keepdim: true}, {out: v, op: add, in: [p, u]}, "
       "{out: z, op: sum, in: [q], dim: [0]}, {out: y, op: add, in: [v, z]}",
       2},
      // Products write for products, in batches; one operand turned.
      {"inputs: {a: {dtype: f16, shape: " + b3 + "}, b: {dtype: f16, shape: " + b3 + "}}\n",
       "{out: t, op: permute, in: [b], dims: [0, 2, 1]}, {out: s, op: matmul, in: [a, t]}, "
       "{out: p, op: tanh, in: [s]}, {out: y, op: matmul, in: [p, b]}",
       3},
      // A slice inside rows cannot be padded, one of whole rows can.
      {"inputs: {" + x + ", w: {dtype: f16, shape: [99, 71]}}\n",
       "{out: v, op: slice, in: [w], dim: 0, start: 3, end: 90}, {out: y, op: linear, in: [x, v]}",
       2},
      // A transpose writes.
      {"inputs: {x: {dtype: f16, shape: [68, 72]}, u: {dtype: f16, shape: [68, 72]}}\n"
       "weights: {w: {dtype: f16, shape: [68, 76], init: {normal: 0.2}}, "
       "v: {dtype: f16, shape: [68, 76], init: {normal: 0.2}}}\n",
       "{out: s, op: add, in: [x, u]}, {out: t, op: permute, in: [s], dims: [1, 0]}, "
       "{out: r, op: relu, in: [t]}, {out: p, op: matmul, in: [r, w]}, "
       "{out: e, op: exp, in: [r]}, {out: q, op: matmul, in: [e, v]}, "
       "{out: y, op: add, in: [p, q]}",
       4},
      // A scan writes.
      {"inputs: {" + x + "}\nweights: {w: {dtype: f16, shape: [71, 73], init: {normal: 0.2}}}\n",
       "{out: s, op: cumsum, in: [x], dim: 0}, {out: y, op: matmul, in: [s, w]}", 2},
  };
  test::OneOf taken(2);
  for (const Case& c : cases)
    if (taken.takes_next()) {
      EXPECT_EQ(difference(graph_of(c.values, c.nodes), 7, c.padded), "") << c.nodes;
    }
}

// A chain of products of ragged sizes with other kernels between them, which also meet old values.
ir::Graph random_chain(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto among = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  ir::Graph graph;
  graph.name = "chain";
  ir::Builder b(graph);
  const DType dtype = among(0, 1) ? DType::f16 : DType::bf16;
  const int64_t batch = among(1, 3), rows = among(65, 90);
  int64_t columns = among(65, 99), inputs = 0;
  auto input = [&](int64_t m, int64_t n) {
    ir::Shape shape = {m, n};
    if (batch > 1 && among(0, 1)) shape.insert(shape.begin(), batch);
    return graph.add_input(str("x", inputs++), {dtype, shape});
  };
  Value* x = input(rows, columns);
  std::vector<Value*> old;
  for (int64_t step = among(2, 4); step > 0; --step) {
    switch (among(0, 4)) {
      case 0: x = b.op("softmax", {x}, {{"dim", int64_t{-1}}}); break;
      case 1: x = b.op("tanh", {x}); break;
      case 2: x = b.op("cumsum", {b.op("tanh", {x})}, {{"dim", int64_t{0}}}); break;
      case 3: x = b.op("softmax", {x}, {{"dim", int64_t{-2}}}); break;
      default: x = b.add(x, b.reduce("mean", x, {-1}, true)); break;
    }
    old.push_back(x);
    const int64_t next = among(65, 99);
    const bool turned = among(0, 1);
    Value* w = turned ? b.transpose(input(next, columns), -1, -2) : input(columns, next);
    x = b.matmul(x, w);
    // Products grow: bring them back, and let earlier padded values have other readers.
    x = b.op("tanh", {b.mul(x, b.splat(dtype, {}, 0.125))});
    if (among(0, 1)) x = b.add(x, b.reduce("amax", old.back(), {-1}, true));
    columns = next;
  }
  graph.outputs = {x, b.op("sigmoid", {old[static_cast<size_t>(among(0, 1)) % old.size()]})};
  graph.output_names = {"y", "z"};
  return graph;
}

TEST_F(PadRowsOnDevice, TurnedBytesAgreeWithTheReference) {
  const std::string range = ", range: [-128, 128]}", init = ", init: {integers: [-128, 128]}}";
  struct Case {
    std::string values, nodes;
    size_t padded;
  };
  const Case cases[] = {
      // Both are copied; a view in between.
      {"inputs: {a: {dtype: i8, shape: [131, 67]" + range + ", b: {dtype: i8, shape: [131, 73]" +
           range + "}\n",
       "{out: t, op: permute, in: [a], dims: [1, 0]}, "
       "{out: y, op: matmul, in: [t, b], out_dtype: i32}",
       2},
      // A constant of batches, turned when it is loaded.
      {"inputs: {a: {dtype: u8, shape: [3, 65, 133], range: [0, 256]}}\n"
       "weights: {b: {dtype: i8, shape: [3, 133, 71]" +
           init + "}\n",
       "{out: y, op: matmul, in: [a, b], out_dtype: i32}", 2},
      // A product writes what the next one reads along k, and a sum as it is.
      {"inputs: {a: {dtype: i8, shape: [133, 67]" + range +
           "}\nweights: {b: {dtype: i8, shape: [67, 71]" + init +
           ", c: {dtype: i8, shape: [65, 133]" + init + "}\n",
       "{out: p, op: matmul, in: [a, b]}, {out: q, op: matmul, in: [c, p], out_dtype: i32}, "
       "{out: s, op: sum, in: [p], dim: [0]}, {out: y, op: add, in: [q, s]}",
       1},
      // A pointwise kernel writes it.
      {"inputs: {a: {dtype: i8, shape: [133, 71]" + range +
           "}\nweights: {c: {dtype: i8, shape: [65, 133]" + init + "}\n",
       "{out: p, op: abs, in: [a]}, {out: q, op: matmul, in: [c, p], out_dtype: i32}, "
       "{out: s, op: sum, in: [p], dim: [0]}, {out: y, op: add, in: [q, s]}",
       1},
      {"inputs: {x: {dtype: u8, shape: [2, 20, 9, 9], range: [0, 256]}}\n"
       "weights: {w: {dtype: i8, shape: [33, 20, 3, 3]" +
           init + "}\n",
       "{out: y, op: conv2d, in: [x, w], padding: 1, out_dtype: i32}", 0},
  };
  for (const Case& c : cases)
    EXPECT_EQ(difference(graph_of(c.values, c.nodes), 1, c.padded), "") << c.nodes;
}

TEST_F(PadRowsOnDevice, RandomChainsAgreeWithTheReference) {
  const int64_t chains = test::number_from("TCC_FUZZ_COUNT", test::draws(5, 2));
  for (uint64_t seed = 1; seed <= static_cast<uint64_t>(chains); ++seed) {
    const ir::Graph graph = random_chain(seed);
    EXPECT_EQ(difference(graph, seed, 1), "") << "seed " << seed << "\n" << ir::print_graph(graph);
  }
}

}  // namespace
}  // namespace tcc::sched
