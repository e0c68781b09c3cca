// Every op of the table against its reference on devices: one test per device and op. A file that
// includes this says on which devices.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
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

class Ops : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  const std::string& device() const { return std::get<0>(GetParam()); }
  const ir::OpDef& op() const { return *ir::find_op(std::get<1>(GetParam())); }

  void check(const ir::Graph& graph, const std::vector<Tensor>& inputs) const {
    backends::CompileOptions options;
    options.validate = runtime::open_device(device())->target().api == sched::Api::vulkan;
    EXPECT_EQ(difference(graph, device(), inputs, options), "") << ir::print_graph(graph);
  }
  static DrawOptions ranges(const ir::OpSample& sample, uint64_t seed) {
    return {sample.lo, sample.hi, sample.int_lo, sample.int_hi, seed};
  }
};

TEST_P(Ops, AgreeWithTheReference) {
  for (size_t k = 0; k < op().samples.size(); ++k) {
    SCOPED_TRACE(str("sample ", k));
    const ir::Graph graph = sample_graph(op(), op().samples[k]);
    check(graph, draw_inputs(graph, ranges(op().samples[k], k)));
  }
}

TEST_P(Ops, AgreeWithTheReferenceInSixteenBits) {
  for (size_t k = 0; k < op().samples.size(); ++k) {
    if (!has_float(op().samples[k])) continue;
    for (const DType dtype : {DType::f16, DType::bf16}) {
      SCOPED_TRACE(str("sample ", k));
      const ir::Graph graph = ir::convert_precision(sample_graph(op(), op().samples[k]), dtype);
      check(graph, draw_inputs(graph, ranges(op().samples[k], k)));
    }
  }
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
    check(graph, inputs);
    return;
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
