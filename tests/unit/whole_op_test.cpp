// A template that takes attention whole, with operands that are slices of one product: it reads
// them as strides. Where it refuses them, the op is decomposed.
#include "scheduler/whole_op.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "ir/reference/interpreter.h"
#include "runtime/program.h"
#include "scheduler/layout.h"
#include "scheduler/strided_view.h"
#include "scheduler/template.h"
#include "scheduler/templates/common.h"
#include "tests/run_graph.h"
#include "tests/unit/one_config.h"

namespace tcc::sched {
namespace {

// Devices that have the template, which on the second one wants dense operands, and on the third
// products of tf32.
constexpr std::string_view kDevice = "the device of whole_op_test",
                           kDense = "the device of dense operands of whole_op_test",
                           kTf32 = "the device of tf32 of whole_op_test";
constexpr std::string_view kAttention = "scaled_dot_product_attention";

const ir::Node* attention_of(const Region& region) {
  for (const ir::Node* node : region.nodes)
    if (node->op_name() == kAttention) return node;
  return nullptr;
}

// One thread for each element of the result: an online softmax over the keys.
class OneThreadAttention : public testing::OneConfig {
 public:
  OneThreadAttention(const Template& by, const Region& region, const Target& target,
                     std::vector<StridedView> operands)
      : OneConfig(by, region, target), operands_(std::move(operands)) {}

  KernelSequence lower(const Config&) const override {
    const ir::Node& node = *attention_of(region());
    const std::vector<int64_t> out = ir::const_shape(*node.outputs[0]),
                               keys = ir::const_shape(*node.inputs[1]);
    Kernel kernel = start_kernel(region());
    kernel.grid = ir::numel(node.outputs[0]);
    const SymInt number = block_axis(kernel.grid), key = SymInt::axis("key", keys[keys.size() - 2]),
                 along = SymInt::axis("e", keys.back(), ir::AxisRole::reduction);
    const std::vector<SymInt> at = delinearize_ints(number, out);
    const auto load = [&](size_t operand, const SymInt& row, const SymInt& column) {
      std::vector<SymInt> index = at;
      index[index.size() - 2] = row;
      index.back() = column;
      const StridedView& view = operands_[operand];
      SymInt offset = view.offset;
      for (size_t d = 0; d < index.size(); ++d) offset = offset + index[d] * view.strides[d];
      return ir::load(view.buffer, view.dtype, offset);
    };
    const auto f32 = [](double value) { return ir::constant(DType::f32, value); };
    const ir::Variable max = ir::new_variable("max", DType::f32),
                       next = ir::new_variable("next", DType::f32),
                       score = ir::new_variable("score", DType::f32),
                       sum = ir::new_variable("sum", DType::f32),
                       total = ir::new_variable("total", DType::f32);
    const Expr old = ir::call(ir::Fn::exp, {ir::sub(ir::read(max), ir::read(next))}),
               term = ir::call(ir::Fn::exp, {ir::sub(ir::read(score), ir::read(next))});
    const double scale = 1 / std::sqrt(static_cast<double>(keys.back()));
    const Expr product =
        ir::reduce(ir::ReduceKind::sum, {along},
                   ir::mul(load(0, at[at.size() - 2], along), load(1, key, along)));
    kernel.body = {
        declare(max, f32(-1e30)), declare(sum, f32(0)), declare(total, f32(0)),
        loop(key, {declare(score, ir::mul(product, f32(scale))),
                   declare(next, ir::call(ir::Fn::maximum, {ir::read(max), ir::read(score)})),
                   assign(sum, ir::add(ir::mul(ir::read(sum), old), term)),
                   assign(total, ir::add(ir::mul(ir::read(total), old),
                                         ir::mul(term, load(2, key, at.back())))),
                   assign(max, ir::read(next))}),
        store(region().slot_of_output(region().outputs[0]),
              region().layout(region().outputs[0]).offset(at),
              ir::div(ir::read(total), ir::read(sum)))};
    return kernel;
  }

 private:
  const std::vector<StridedView> operands_;
};

class WholeAttention : public Template {
 public:
  std::string_view name() const override { return "whole_attention"; }
  int version() const override { return 1; }
  int specificity() const override { return 97; }
  bool takes_composites() const override { return true; }
  Match match(const Region& region, const Target& target) const override {
    if (target.device != kDevice && target.device != kDense && target.device != kTf32)
      return Refusal{"it is another device's", true};
    const ir::Node* node = attention_of(region);
    if (!node || region.nodes.back() != node) return Refusal{"it does not end in attention", true};
    if (target.device == kTf32 && !region.tf32) return Refusal{"f32 is not to be read as tf32"};
    std::vector<StridedView> operands;
    for (const ir::Value* input : {node->inputs[0], node->inputs[1], node->inputs[2]}) {
      OrRefusal<StridedView> view = strided_view(region, input);
      if (!view) return view.refusal();
      if (target.device == kDense && region.slot_of_input(input) < 0)
        return Refusal{str(input->name, " is not dense")};
      if (target.device == kDense && region.layout(input) != Layout::row_major(input->shape()))
        return Refusal{str(input->name, " is not row-major")};
      operands.push_back(*std::move(view));
    }
    return std::make_shared<const OneThreadAttention>(*this, region, target, std::move(operands));
  }
};

const RegisterTemplate<WholeAttention> registered;

// A device whose template takes softmax anywhere, and softmin if no view stands before it.
constexpr std::string_view kNested = "the device of nested ops of whole_op_test";

class NoKernel : public testing::OneConfig {
 public:
  using OneConfig::OneConfig;
  KernelSequence lower(const Config&) const override { throw InternalError("it has no kernel"); }
};

class WholeSoftmax : public Template {
 public:
  std::string_view name() const override { return "whole_softmax"; }
  int version() const override { return 1; }
  int specificity() const override { return 96; }
  bool takes_composites() const override { return true; }
  Match match(const Region& region, const Target& target) const override {
    if (target.device != kNested) return Refusal{"it is another device's", true};
    const std::string_view op = region.nodes.back()->op_name();
    if (op != "softmax" && op != "softmin") return Refusal{"it does not end in softmax", true};
    if (op == "softmin" && region.nodes.size() > 1) return Refusal{"a view stands before it"};
    return std::make_shared<const NoKernel>(*this, region, target);
  }
};

const RegisterTemplate<WholeSoftmax> registered_softmax;

// Two heads of 4: queries, keys and values are slices of one product of [2, 6, 24].
constexpr std::string_view kFused = R"(
tcc: 1
name: g
inputs: {x: {dtype: f32, shape: [2, 6, 8]}}
weights: {w: {dtype: f32, shape: [24, 8], init: {normal: 1}}}
nodes:
  - {out: qkv, op: linear, in: [x, w]}
  - {out: parts, op: reshape, in: [qkv], shape: [2, 6, 3, 2, 4]}
  - {out: heads, op: permute, in: [parts], dims: [2, 0, 3, 1, 4]}
  - {out: q1, op: slice, in: [heads], dim: 0, start: 0, end: 1}
  - {out: k1, op: slice, in: [heads], dim: 0, start: 1, end: 2}
  - {out: v1, op: slice, in: [heads], dim: 0, start: 2, end: 3}
  - {out: q, op: reshape, in: [q1], shape: [2, 2, 6, 4]}
  - {out: k, op: reshape, in: [k1], shape: [2, 2, 6, 4]}
  - {out: v, op: reshape, in: [v1], shape: [2, 2, 6, 4]}
  - {out: a, op: scaled_dot_product_attention, in: [q, k, v]}
  - {out: y, op: relu, in: [a]}
outputs: [y]
)";

// The keys' dims are joined in an order in which they do not lie.
constexpr std::string_view kJoined = R"(
tcc: 1
name: g
inputs: {q: {dtype: f32, shape: [6, 8]}, x: {dtype: f32, shape: [2, 3, 8]}, v: {dtype: f32, shape: [6, 8]}}
nodes:
  - {out: t, op: transpose, in: [x], dim0: 0, dim1: 1}
  - {out: k, op: reshape, in: [t], shape: [6, 8]}
  - {out: a, op: scaled_dot_product_attention, in: [q, k, v]}
outputs: [a]
)";

ir::Graph graph_of(std::string_view text) {
  return parse_yaml_graph(std::string(text), "g.yaml", ".");
}

size_t attentions(const backends::Scheduled& scheduled) {
  return static_cast<size_t>(std::ranges::count_if(
      scheduled.graph->nodes(), [](const auto& node) { return node->op_name() == kAttention; }));
}

Target on(std::string_view device, Target target = target_by_name("vulkan")) {
  target.device = device;
  return target;
}

TEST(WholeOps, ReadSlicesOfOneProduct) {
  const ir::Graph graph = graph_of(kFused);
  EXPECT_EQ(attentions(backends::schedule(graph, target_by_name("vulkan"))), 0u);
  const backends::Scheduled scheduled = backends::schedule(graph, on(kDevice));
  EXPECT_EQ(attentions(scheduled), 1u);
  ASSERT_EQ(scheduled.regions.size(), 3u) << "linear, attention, relu: nothing is copied";
  const Region& region = scheduled.regions[1];
  EXPECT_EQ(scheduled.regions[1].candidate().kernel_template().name(), "whole_attention");
  EXPECT_EQ(region.inputs.size(), 1u) << "the product, for all three";
  const ir::Node* node = attention_of(region);
  ASSERT_TRUE(node);
  std::vector<StridedView> views;
  for (size_t k = 0; k < 3; ++k) {
    const OrRefusal<StridedView> view = strided_view(region, node->inputs[k]);
    ASSERT_TRUE(view);
    views.push_back(*view);
  }
  EXPECT_EQ(views[0].offset, 0);
  EXPECT_GT(views[1].offset, 0);
  EXPECT_EQ(views[2].offset, 2 * views[1].offset);
  for (const StridedView& view : views) {
    EXPECT_EQ(view.buffer, 0);
    EXPECT_EQ(view.strides, views[0].strides);
    EXPECT_EQ(view.strides.back(), 1);
  }
}

TEST(WholeOps, AreDecomposedWhereTheirTemplateRefusesTheViews) {
  for (const auto& [text, device, reason] :
       {std::tuple(kFused, kDense, "is not dense"),
        std::tuple(kJoined, kDevice, "does not lie in memory with one stride per dim")}) {
    const ir::Graph graph = graph_of(text);
    const Target target = on(device);
    const backends::Scheduled scheduled = backends::schedule(graph, target);
    EXPECT_EQ(attentions(scheduled), 0u);
    EXPECT_FALSE(scheduled.regions.empty());
    // The op alone would be taken: it is what stands before it that is refused.
    for (const auto& node : graph.nodes())
      if (node->op_name() == kAttention) { EXPECT_TRUE(match_whole_op(*node, target, {})); }
    for (const auto& [node, why] : refused_whole_ops(graph, target, {})) {
      EXPECT_EQ(why.find(reason) != std::string::npos, node->op_name() == kAttention) << why;
    }
  }
}

// A convolution's result gets its channels last where its reader takes that.
TEST(WholeOps, KeepTheLayoutsThatTheyTake) {
  const ir::Graph graph = graph_of(R"(
tcc: 1
name: g
inputs:
  x: {dtype: f32, shape: [1, 3, 6, 8]}
  k: {dtype: f32, shape: [1, 2, 5, 8]}
weights: {w: {dtype: f32, shape: [2, 3, 3, 3], init: {normal: 1}}}
nodes:
  - {out: c, op: conv2d, in: [x, w], padding: 1}
  - {out: a, op: scaled_dot_product_attention, in: [c, k, k]}
outputs: [a]
)");
  for (const std::string_view device : {kDevice, kDense}) {
    const backends::Scheduled scheduled = backends::schedule(graph, on(device));
    ASSERT_EQ(attentions(scheduled), 1u) << device;
    const Region& region = scheduled.regions.back();
    const ir::Value* c = attention_of(region)->inputs[0];
    const bool is_row_major = region.layout(c) == Layout::row_major(c->shape());
    EXPECT_EQ(is_row_major, device == kDense);
    EXPECT_EQ(scheduled.regions.front().region().layout(c), region.layout(c));
  }
}

// One of two is refused: the other stays.
TEST(WholeOps, AreRefusedOneByOne) {
  std::string text(kJoined);
  text.replace(text.find("outputs"), std::string::npos,
               "  - {out: b, op: scaled_dot_product_attention, in: [a, v, v]}\noutputs: [b]\n");
  EXPECT_EQ(attentions(backends::schedule(graph_of(text), on(kDevice))), 1u);
}

// The softmax in a softmin that is refused stays, although it takes over its name.
TEST(WholeOps, AreRefusedWithoutTheOpsInThem) {
  const ir::Graph graph = graph_of(R"(
tcc: 1
name: g
inputs: {x: {dtype: f32, shape: [4, 6]}}
nodes:
  - {out: t, op: transpose, in: [x], dim0: 0, dim1: 1}
  - {out: y, op: softmin, in: [t], dim: 1}
  - {out: z, op: softmin, in: [x], dim: 1}
outputs: [y, z]
)");
  const backends::Scheduled scheduled = backends::schedule(graph, on(kNested));
  std::vector<std::string> taken;
  for (const auto& node : scheduled.graph->nodes())
    if (node->op->kind == ir::OpKind::composite)
      taken.push_back(str(node->outputs[0]->name, " ", node->op_name()));
  EXPECT_EQ(taken, (std::vector<std::string>{"y softmax", "z softmin"}));
}

// matmul_precision says whether a template may read f32 operands as tf32.
TEST(WholeOps, KnowThePrecisionOfTheirOperands) {
  const ir::Graph graph = graph_of(kFused);
  backends::CompileOptions options;
  for (const auto& [precision, expected] : {std::pair(backends::MatmulPrecision::highest, 0u),
                                            std::pair(backends::MatmulPrecision::high, 1u)}) {
    options.matmul_precision = precision;
    EXPECT_EQ(attentions(backends::schedule(graph, on(kTf32), options)), expected);
  }
}

TEST(WholeOps, AreRightOnADevice) {
  const auto& devices = test::devices_present(test::Devices::software);
  if (devices.empty()) GTEST_SKIP() << "there is no software device";
  const auto device = test::open_once(devices.front());
  for (const std::string_view text : {kFused, kJoined})
    for (const std::string_view name : {kDevice, kDense}) {
      const ir::Graph graph = graph_of(text);
      const backends::CompileOptions options;
      const backends::Scheduled scheduled =
          backends::schedule(graph, on(name, device->target()), options);
      const std::vector<Tensor> inputs = test::draw_inputs(*scheduled.graph, {});
      const auto program = std::make_shared<const runtime::Program>(
          device, backends::compile(graph, on(name, device->target()), options));
      runtime::Context context(program);
      EXPECT_EQ(test::compare_with_reference(graph, inputs, context.run(inputs)), "") << name;
    }
}

}  // namespace
}  // namespace tcc::sched
