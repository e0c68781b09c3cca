// Floats mean on every device what IEEE 754 and the ops' definitions say
// (docs/decisions/016-float-semantics.md): every op of the table on special numbers, and
// computations that break where a compiler rearranges them. A file that includes this says on which
// devices.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ir/reference/interpreter.h"
#include "tests/ops/float_rows.h"
#include "tests/ops/float_tricks.h"
#include "tests/ops/float_values.h"
#include "tests/ops/op_batch.h"

namespace tcc::test {

inline const std::vector<DType>& float_types() {
  static const std::vector<DType> types = {DType::f32, DType::f64, DType::f16, DType::bf16};
  return types;
}

inline bool has_type(const sched::Target& target, DType dtype) {
  return dtype == DType::f64 ? target.float64 : size_bytes(dtype) != 2 || target.storage16;
}

// Operands whose elements pair up all special numbers; what is no float stays as it is.
inline std::vector<Tensor> special_pairs(std::vector<Tensor> operands, DType dtype,
                                         bool extremes = true) {
  const std::vector<double> numbers = special_numbers(dtype, extremes);
  const auto count = static_cast<int64_t>(numbers.size());
  for (size_t k = 0; k < operands.size(); ++k)
    for (int64_t i = 0; is_float(operands[k].dtype()) && i < operands[k].numel(); ++i) {
      const int64_t at = k == 0 ? i : k == 1 ? i / count : i * 5 + i / count * 3 + 3;
      operands[k].set(i, numbers[static_cast<size_t>(at % count)]);
    }
  return operands;
}

inline int64_t pair_count(DType dtype) {
  const auto count = static_cast<int64_t>(special_numbers(dtype).size());
  return count * count;
}

inline std::vector<ir::RefTensor> to_refs(const std::vector<Tensor>& tensors) {
  std::vector<ir::RefTensor> refs;
  for (const Tensor& tensor : tensors) refs.push_back(ir::to_ref(tensor));
  return refs;
}

inline void flush_all(std::vector<Tensor>& tensors) {
  for (Tensor& tensor : tensors) {
    ir::RefTensor numbers = ir::to_ref(tensor);
    flush(numbers, true);
    tensor = ir::to_tensor(numbers);
  }
}

// The part of an op's results that is determined. IEEE 754 gives the bits of those that round once
// at most; of two zeros, minimum and maximum may return either.
inline Agreement agreement_of(const std::string& op, const ir::Attrs& attrs) {
  static const std::set<std::string> exact = {
      "abs",      "add",         "cast",        "ceil",        "copysign",   "div",
      "eq",       "floor",       "fmod",        "frac",        "ge",         "gt",
      "identity", "hardshrink",  "isfinite",    "isinf",       "isnan",      "isneginf",
      "isposinf", "le",          "logical_and", "logical_not", "logical_or", "logical_xor",
      "lt",       "masked_fill", "mul",         "nan_to_num",  "ne",         "neg",
      "prelu",    "reciprocal",  "round",       "sign",        "sqrt",       "square",
      "sub",      "threshold",   "to",          "trunc",       "where"};
  static const std::set<std::string> either_zero = {"clamp",   "hardtanh", "maximum",
                                                    "minimum", "relu",     "relu6"};
  static const std::set<std::string> sums = {"scatter_add", "scatter_nd", "scatter_reduce"};
  if (sums.count(op)) return Agreement::sums;
  const auto mode = attrs.find("rounding_mode");
  const bool rounds_twice = mode != attrs.end() && mode->second != ir::Attr(std::string("none"));
  if (either_zero.count(op)) return Agreement::numbers;
  return exact.count(op) && !rounds_twice ? Agreement::bits : Agreement::kinds;
}

// Element by element, whatever its implementation.
inline bool is_elementwise(const ir::OpDef& op) {
  return op.kind == ir::OpKind::pointwise || op.kind == ir::OpKind::view ||
         op.kind == ir::OpKind::composite;
}

class FloatOps : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(FloatOps, MeetSpecialNumbers) {
  const auto& [device, name] = GetParam();
  const ir::OpDef& op = *ir::find_op(name);
  const sched::Target& target = open_once(device)->target();
  Batch batch;
  std::vector<DType> types;
  std::vector<Agreement> expected;
  for (const DType dtype : float_types()) {
    std::vector<ir::Attrs> seen;
    for (const ir::OpSample& given : op.samples) {
      if (!is_elementwise(op) || !has_type(target, dtype) || !has_float(given)) continue;
      const auto sample = elementwise_sample(op, given, pair_count(dtype), dtype);
      if (!sample || std::ranges::find(seen, sample->attrs) != seen.end()) continue;
      seen.push_back(sample->attrs);
      expected.push_back(agreement_of(name, sample->attrs));
      const bool extremes = sample->inputs.size() == 1 || expected.back() == Agreement::bits ||
                            expected.back() == Agreement::numbers;
      const ir::Graph graph = sample_graph(op, *sample);
      std::vector<Tensor> inputs = special_pairs(draw_inputs(graph, {}), dtype, extremes);
      // A comparison that takes subnormal numbers for zeros may return either of them.
      if (expected.back() == Agreement::numbers && !keeps_subnormals(target, dtype))
        flush_all(inputs);
      batch.add(graph, std::move(inputs));
      types.push_back(dtype);
    }
  }
  if (types.empty()) GTEST_SKIP() << "it does not work element by element on floats";
  const std::vector<Tensor> outputs = batch.run(device, {});
  for (size_t k = 0; k < types.size(); ++k) {
    const Batch::Case& each = batch.cases()[k];
    const std::vector<ir::RefTensor> inputs = to_refs(each.inputs);
    auto allowed = allowed_results(each.graph, inputs, keeps_subnormals(target, types[k]));
    // A result that is not rounded tells signs of what is too small.
    if (expected[k] == Agreement::kinds)
      allowed.push_back(ir::interpret(each.graph, inputs, ir::RefMode::ideal));
    EXPECT_EQ(disagreement(ir::to_ref(outputs[k]), allowed, 0, expected[k], inputs), "")
        << ir::print_graph(each.graph);
  }
}

// The options that a graph is compiled with.
struct FloatMode {
  const char* name;
  bool fuse, strict_rounding;
};
inline std::ostream& operator<<(std::ostream& out, const FloatMode& mode) {
  return out << mode.name;
}

class FloatTricks : public ::testing::TestWithParam<std::tuple<std::string, DType, FloatMode>> {
 protected:
  // All tricks as outputs of one graph, on operands of type `operands`. They share none, since what
  // two of them share may be stored, and rounded by that.
  static ir::Graph graph_of(DType type, DType operands) {
    ir::Graph graph;
    ir::Builder b(graph);
    for (const NamedTrick& trick : tricks()) {
      const ir::Type shape = {operands, {pair_count(type)}};
      ir::Value* x = graph.add_input(str("x", graph.inputs.size()), shape);
      ir::Value* y = graph.add_input(str("y", graph.inputs.size()), shape);
      graph.outputs.push_back(trick.build({b, type, x, y}));
      graph.output_names.push_back(trick.name);
    }
    return graph;
  }
};

TEST_P(FloatTricks, RoundWhereTheyAreWritten) {
  const auto& [device, dtype, mode] = GetParam();
  const sched::Target& target = open_once(device)->target();
  if (!has_type(target, dtype)) GTEST_SKIP() << "no " << name(dtype);
  const ir::Graph graph = graph_of(dtype, dtype);
  const bool keeps = keeps_subnormals(target, dtype);
  const Tensor blank(dtype, {pair_count(dtype)});
  std::vector<Tensor> pair = special_pairs({blank, blank}, dtype);
  if (!keeps) flush_all(pair);  // one operation may keep what the next takes for zero
  const std::vector<NamedTrick> all = tricks();
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < all.size(); ++k) inputs.insert(inputs.end(), pair.begin(), pair.end());
  backends::CompileOptions options;
  options.fuse = mode.fuse;
  options.strict_rounding = mode.strict_rounding;
  options.validate = target.api == sched::Api::vulkan;
  const std::vector<Tensor> outputs = run_on_device(graph, device, inputs, options);
  // Fused, values narrower than f32 stay f32 until they are stored.
  const bool stays_wide = is_low_precision(dtype) && mode.fuse && !mode.strict_rounding;
  const DType working = stays_wide ? DType::f32 : dtype;
  std::vector<ir::RefTensor> wide = to_refs(inputs);
  for (ir::RefTensor& x : wide) x.dtype = working;
  auto allowed = allowed_results(graph_of(dtype, working), wide, keeps);
  for (auto& results : allowed)
    for (ir::RefTensor& result : results) {
      if (result.is_float()) result.dtype = dtype;
      ir::normalize(result, true);
    }
  for (size_t k = 0; k < all.size(); ++k)
    EXPECT_EQ(disagreement(ir::to_ref(outputs[k]), allowed, k, all[k].how, to_refs(pair)), "")
        << all[k].name;
}

class FloatRows : public ::testing::TestWithParam<std::tuple<std::string, DType>> {};

TEST_P(FloatRows, KeepNanAndInfinities) {
  const auto& [device, dtype] = GetParam();
  const sched::Target& target = open_once(device)->target();
  if (!has_type(target, dtype)) GTEST_SKIP() << "no " << name(dtype);
  for (const int64_t columns : {3, 37, 1500}) {
    const std::vector<Tensor> inputs = {special_rows(dtype, columns)};
    ir::Graph graph;
    ir::Builder b(graph);
    ir::Value* x = graph.add_input("x", {dtype, {inputs[0].shape()[0], columns}});
    const std::vector<NamedRowOp> all = row_ops(columns);
    for (const NamedRowOp& op : all) {
      graph.outputs.push_back(op.build(b, x));
      graph.output_names.push_back(op.name);
    }
    const std::vector<Tensor> outputs = run_on_device(graph, device, inputs, {});
    const auto allowed = allowed_results(graph, to_refs(inputs), true);
    for (size_t k = 0; k < all.size(); ++k)
      EXPECT_EQ(disagreement(ir::to_ref(outputs[k]), allowed, k, Agreement::kinds, {}), "")
          << all[k].name << " of " << columns;
  }
}

inline auto float_modes() {
  return ::testing::Values(FloatMode{"fused", true, false}, FloatMode{"unfused", false, false},
                           FloatMode{"strict", true, true});
}

inline std::string trick_test_name(const ::testing::TestParamInfo<FloatTricks::ParamType>& info) {
  return test_name(std::get<0>(info.param)) + "_" + std::string(name(std::get<1>(info.param))) +
         "_" + std::get<2>(info.param).name;
}

inline std::string float_op_test_name(const ::testing::TestParamInfo<FloatOps::ParamType>& info) {
  return test_name(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
}

inline std::string row_test_name(const ::testing::TestParamInfo<FloatRows::ParamType>& info) {
  return test_name(std::get<0>(info.param)) + "_" + std::string(name(std::get<1>(info.param)));
}

}  // namespace tcc::test
