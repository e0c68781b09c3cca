// Every op of the table against its reference on devices: one test per device and op. A file that
// includes this says on which devices.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ir/passes/convert_precision.h"
#include "ir/text.h"
#include "tests/ops/op_samples.h"
#include "tests/run_graph.h"

namespace tcc::test {

inline bool has_float(const ir::OpSample& sample) {
  return std::ranges::any_of(sample.inputs, [](const ir::Type& t) { return is_float(t.dtype); });
}

// The sample with all floats f32 and every operand of one shape, whose elements pair up all special
// values; nothing where the op is not elementwise in that sense.
inline std::optional<ir::OpSample> elementwise_sample(const ir::OpDef& op, ir::OpSample sample,
                                                      int64_t elements) {
  for (ir::Type& type : sample.inputs) {
    type.shape = {elements};
    if (is_float(type.dtype)) type.dtype = DType::f32;
  }
  try {
    const ir::Graph graph = sample_graph(op, sample);
    if (graph.outputs.size() != 1 || graph.outputs[0]->shape() != ir::Shape{elements}) return {};
    return sample;
  } catch (const Error&) { return {}; }
}

// Graphs that share nothing, as one: compiled and run at once, which takes a fraction of the time.
class Batch {
 public:
  void add(const ir::Graph& graph, std::vector<Tensor> inputs) {
    const std::string prefix = str("s", cases_.size(), ".");
    std::map<const ir::Value*, ir::Value*> copies = {{nullptr, nullptr}};
    for (const auto& value : graph.values())
      if (value->is_constant())
        copies[value.get()] = all_.add_constant(prefix + value->name, value->type, value->data);
    for (const ir::Value* input : graph.inputs) {
      copies[input] = all_.add_input(prefix + input->name, input->type);
      copies[input]->random_range = input->random_range;
    }
    for (const auto& node : graph.nodes()) {
      std::vector<ir::Value*> operands;
      for (const ir::Value* operand : node->inputs) operands.push_back(copies.at(operand));
      const ir::Node* copy = all_.add_node(*node->op, operands, node->attrs);
      for (size_t i = 0; i < node->outputs.size(); ++i) copies[node->outputs[i]] = copy->outputs[i];
    }
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      all_.outputs.push_back(copies.at(graph.outputs[i]));
      all_.output_names.push_back(prefix + graph.output_names[i]);
    }
    inputs_.insert(inputs_.end(), inputs.begin(), inputs.end());
    cases_.push_back({graph.clone(), std::move(inputs)});
  }

  // "" or what differs from the reference, with the first graph that differs on its own.
  std::string difference(const std::string& device, const backends::CompileOptions& options) const {
    if (cases_.empty()) return "";
    const std::string together = test::difference(all_, device, inputs_, options);
    if (together.empty()) return "";
    for (size_t i = 0; i < cases_.size(); ++i) {
      const std::string alone =
          test::difference(cases_[i].graph, device, cases_[i].inputs, options);
      if (!alone.empty()) return str("sample ", i, ": ", alone, ir::print_graph(cases_[i].graph));
    }
    return "only together: " + together;
  }

 private:
  struct Case {
    ir::Graph graph;
    std::vector<Tensor> inputs;
  };
  ir::Graph all_;
  std::vector<Tensor> inputs_;
  std::vector<Case> cases_;
};

class Ops : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  const std::string& device() const { return std::get<0>(GetParam()); }
  const ir::OpDef& op() const { return *ir::find_op(std::get<1>(GetParam())); }

  void check(const Batch& batch) const {
    backends::CompileOptions options;
    options.validate = runtime::open_device(device())->target().api == sched::Api::vulkan;
    EXPECT_EQ(batch.difference(device(), options), "");
  }
  static DrawOptions ranges(const ir::OpSample& sample, uint64_t seed) {
    return {sample.lo, sample.hi, sample.int_lo, sample.int_hi, seed};
  }
};

TEST_P(Ops, AgreeWithTheReference) {
  Batch batch;
  for (size_t k = 0; k < op().samples.size(); ++k) {
    const ir::Graph graph = sample_graph(op(), op().samples[k]);
    batch.add(graph, draw_inputs(graph, ranges(op().samples[k], k)));
  }
  check(batch);
}

TEST_P(Ops, AgreeWithTheReferenceInSixteenBits) {
  Batch batch;
  for (size_t k = 0; k < op().samples.size(); ++k) {
    if (!has_float(op().samples[k])) continue;
    for (const DType dtype : {DType::f16, DType::bf16}) {
      const ir::Graph graph = ir::convert_precision(sample_graph(op(), op().samples[k]), dtype);
      batch.add(graph, draw_inputs(graph, ranges(op().samples[k], k)));
    }
  }
  check(batch);
}

// NaN, infinities and signed zeros in every combination of two operands.
TEST_P(Ops, AgreeWithTheReferenceOnSpecialValues) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double specials[] = {std::nan(""), infinity, -infinity, 0.0, -0.0, 1.0, -2.5, 0.75};
  constexpr int64_t count = 8;
  for (const ir::OpSample& given : op().samples) {
    if (op().kind != ir::OpKind::pointwise || !has_float(given)) continue;
    const auto sample = elementwise_sample(op(), given, count * count);
    if (!sample) continue;
    const ir::Graph graph = sample_graph(op(), *sample);
    std::vector<Tensor> inputs = draw_inputs(graph, ranges(*sample, 0));
    for (size_t k = 0; k < inputs.size(); ++k)
      for (int64_t i = 0; is_float(inputs[k].dtype()) && i < inputs[k].numel(); ++i)
        inputs[k].set(i, specials[(k == 0 ? i : k == 1 ? i / count : i * 5 + 3) % count]);
    Batch batch;
    batch.add(graph, std::move(inputs));
    return check(batch);
  }
}

inline std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const ir::OpDef& op : ir::all_ops()) names.push_back(op.name);
  return names;
}

inline std::string op_test_name(const ::testing::TestParamInfo<Ops::ParamType>& info) {
  return test_name(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
}

}  // namespace tcc::test
