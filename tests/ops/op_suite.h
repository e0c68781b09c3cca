// Every op of the table against its reference on devices: one test per device and op. A file that
// includes this says on which devices.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "ir/passes/convert_precision.h"
#include "tests/ops/op_batch.h"

namespace tcc::test {

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

inline std::string op_test_name(const ::testing::TestParamInfo<Ops::ParamType>& info) {
  return test_name(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
}

}  // namespace tcc::test
