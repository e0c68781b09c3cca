// Runs one op by its reference, for tests that compare it with numbers written down.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/counted_dims.h"
#include "ir/graph.h"
#include "ir/op.h"
#include "ir/reference/interpreter.h"

namespace tcc::ir::test {

inline RefTensor tensor(DType dtype, std::vector<int64_t> shape,
                        const std::vector<double>& values) {
  RefTensor result(dtype, std::move(shape));
  if (result.is_float())
    result.f = values;
  else
    result.i.assign(values.begin(), values.end());
  return result;
}
inline RefTensor f32(std::vector<int64_t> shape, const std::vector<double>& values) {
  return tensor(DType::f32, std::move(shape), values);
}
inline RefTensor i64(std::vector<int64_t> shape, const std::vector<double>& values) {
  return tensor(DType::i64, std::move(shape), values);
}
// 0, 1, 2, ... of a shape.
inline RefTensor counting(std::vector<int64_t> shape) {
  RefTensor result(DType::f32, std::move(shape));
  for (size_t k = 0; k < result.f.size(); ++k) result.f[k] = static_cast<double>(k);
  return result;
}

inline Type type_of(const RefTensor& x) { return {x.dtype, Shape(x.shape.begin(), x.shape.end())}; }

// A graph of one node. Operand 0 of an op that stores is a state.
inline Graph op_graph(std::string_view op, const std::vector<Type>& inputs, Attrs attrs = {}) {
  Graph graph;
  std::vector<Value*> values;
  const OpDef* def = find_op(op);
  for (size_t k = 0; k < inputs.size(); ++k) {
    const std::string name = "x" + std::to_string(k);
    values.push_back(def && def->stores && k == 0 ? graph.add_state(name, inputs[k])
                                                  : graph.add_input(name, inputs[k]));
  }
  graph.outputs = Builder(graph).ops(op, values, std::move(attrs));
  if (const auto counted = counted_dim(*graph.outputs[0]->producer)) graph.dims[counted->name] = 0;
  for (const Value* output : graph.outputs) graph.output_names.push_back(output->name);
  return graph;
}

// The type of the first output.
inline std::string infer(std::string_view op, const std::vector<Type>& inputs, Attrs attrs = {}) {
  return to_string(op_graph(op, inputs, std::move(attrs)).outputs[0]->type);
}

// All outputs, computed in f64.
inline std::vector<RefTensor> run_all(std::string_view op, const std::vector<RefTensor>& inputs,
                                      Attrs attrs = {}) {
  std::vector<Type> types;
  for (const RefTensor& x : inputs) types.push_back(type_of(x));
  return interpret(op_graph(op, types, std::move(attrs)), inputs, RefMode::ideal);
}
inline RefTensor run(std::string_view op, const std::vector<RefTensor>& inputs, Attrs attrs = {}) {
  return run_all(op, inputs, std::move(attrs)).front();
}
// The elements of the first output as numbers.
inline std::vector<double> values(const RefTensor& x) {
  return x.is_float() ? x.f : std::vector<double>(x.i.begin(), x.i.end());
}

}  // namespace tcc::ir::test
