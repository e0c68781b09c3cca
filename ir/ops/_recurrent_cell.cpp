#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_range_quantization.h"
#include "ir/ops/_recurrent_layers.h"
#include "ir/passes/decompose.h"
#include "ir/recurrent.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

std::optional<ops::RecurrentOp> layer_of(const Node& node) {
  for (ops::RecurrentOp layer :
       {ops::lstm_layer(), ops::gru_layer(), ops::rnn_layer(), ops::quantized_lstm_layer()})
    if (node.op_name() == layer.name + "_steps") return layer;
  return std::nullopt;
}

}  // namespace

std::optional<RecurrentSteps> recurrent_steps(const Node& node) {
  const std::optional<ops::RecurrentOp> layer = layer_of(node);
  if (!layer) return std::nullopt;
  const auto operand = [&](size_t k) -> const Value* {
    return k < node.inputs.size() ? node.inputs[k] : nullptr;
  };
  RecurrentSteps steps;
  steps.projected = operand(ops::kProjected);
  steps.weight = operand(ops::kStepWeight);
  steps.steps = steps.projected->shape()[0];
  steps.batch = steps.projected->shape()[1];
  steps.directions = steps.weight->shape()[0].value();
  steps.hidden = steps.weight->shape()[2].value();
  steps.gates = layer->gates;
  steps.states = layer->has_cell ? 2 : 1;
  steps.reverse = node.attr<std::string>("direction") == "reverse";
  steps.bias = operand(ops::kStepBias);
  steps.lengths = operand(ops::kStepLengths);
  steps.initial = {operand(ops::kStepHidden)};
  if (layer->has_cell) {
    steps.initial.push_back(operand(ops::kStepCell));
    steps.peepholes = operand(ops::kStepPeepholes);
  }
  if (layer->quantized) {
    steps.weight_scale = operand(ops::kStepWeightScale);
    steps.weight_zero = operand(ops::kStepWeightZero);
  }
  return steps;
}

RecurrentCellGraph recurrent_cell(const Node& node) {
  const std::optional<ops::RecurrentOp> layer = layer_of(node);
  const std::optional<RecurrentSteps> steps = recurrent_steps(node);
  TCC_CHECK(layer && steps, node.op_name(), " has no recurrent cell");
  const DType dtype = compute_dtype(steps->projected->dtype());
  RecurrentCellGraph result;
  Graph& graph = result.graph;
  const auto input = [&](const char* name, int64_t size) {
    return graph.add_input(str(name, graph.inputs.size()), {dtype, {1, 1, size}});
  };
  result.projected = input("projected", steps->gates);
  if (steps->bias) result.bias = input("bias", steps->gates);
  if (steps->peepholes) result.peepholes = input("peepholes", 3);
  if (steps->weight_scale) result.scale = input("scale", steps->gates);
  for (int64_t k = 0; k < steps->gates; ++k) result.products.push_back(input("product", 1));
  for (int64_t k = 0; k < steps->states; ++k) result.states.push_back(input("state", 1));
  Builder b(graph);
  ops::RecurrentCell cell;
  cell.hidden = 1;
  cell.bias_hh = result.bias;
  cell.peepholes = result.peepholes;
  ops::set_functions(cell, node, *layer);
  result.first_gates = steps->gates;
  Value* multiplied = nullptr;  // by the weights of the other gates
  cell.sums = [&](Builder&, Value* h, int64_t first, int64_t count) {
    if (h != result.states[0]) {
      TCC_CHECK(!multiplied && first + count == steps->gates, node.op_name(), ": product of gate ",
                first);
      result.first_gates = first;
      multiplied = h;
    }
    std::vector<Value*> sums(result.products.begin() + first,
                             result.products.begin() + first + count);
    if (result.scale)
      for (int64_t k = 0; k < count; ++k) {
        Value*& sum = sums[static_cast<size_t>(k)];
        sum = b.mul(sum, cell.gate(b, result.scale, first + k));
      }
    return sums;
  };
  graph.outputs = layer->step(b, node, cell, result.projected, result.states);
  if (multiplied) graph.outputs.push_back(multiplied);
  for (size_t k = 0; k < graph.outputs.size(); ++k) graph.output_names.push_back(str("state", k));
  decompose(graph);
  return result;
}

RecurrentQuantization recurrent_quantization() {
  constexpr DType kDType = DType::u8;  // of h
  const auto finish = [](Graph& graph, std::vector<Value*> outputs) {
    graph.outputs = std::move(outputs);
    for (size_t k = 0; k < graph.outputs.size(); ++k) graph.output_names.push_back(str("y", k));
    decompose(graph);
  };
  RecurrentQuantization result;
  const auto input = [](Graph& graph, const char* name) {
    return graph.add_input(name, {DType::f32, {}});
  };
  {
    Graph& graph = result.of_range;
    Value *low = input(graph, "low"), *high = input(graph, "high");
    Builder b(graph);
    const auto [scale, zero] = ops::quantization_of_range(b, low, high, kDType);
    finish(graph, {scale, b.cast(zero, DType::f32)});
  }
  Graph& graph = result.of_element;
  Value *x = input(graph, "x"), *scale = input(graph, "scale"), *zero = input(graph, "zero");
  Builder b(graph);
  Value* quantized = b.op("quantize", {x, scale, b.cast(zero, kDType)}, {{"dtype", kDType}});
  finish(graph, {b.sub(b.cast(quantized, DType::f32), zero)});
  return result;
}

}  // namespace tcc::ir
