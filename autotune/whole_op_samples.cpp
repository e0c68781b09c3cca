#include "autotune/whole_op_samples.h"

#include <algorithm>
#include <map>
#include <string>

#include "ir/ops/_index_loop.h"
#include "ir/reference/interpreter.h"

namespace tcc::autotune {
namespace {

using Index = std::vector<int64_t>;

ir::RefTensor tensor_of(const sched::Region& region, const ir::Value* input,
                        const ExprBuffer& buffer) {
  ir::RefTensor tensor(input->dtype(), ir::const_shape(*input));
  Index index(tensor.shape.size(), 0);
  for (int64_t n = 0; n < tensor.numel(); ++n, ir::ops::advance(index, tensor.shape)) {
    const std::vector<ir::SymInt> at(index.begin(), index.end());
    const auto place = static_cast<size_t>(region.layout(input).offset(at).value());
    if (tensor.is_float())
      tensor.f[static_cast<size_t>(n)] = buffer.floats[place % buffer.floats.size()];
    else
      tensor.i[static_cast<size_t>(n)] = buffer.integers[place % buffer.integers.size()];
  }
  return tensor;
}

ir::Number number_at(const ir::RefTensor& tensor, const Index& index) {
  size_t place = 0;
  for (size_t d = 0; d < index.size(); ++d)
    place = place * static_cast<size_t>(tensor.shape[d]) + static_cast<size_t>(index[d]);
  ir::Number number;
  if (tensor.is_float())
    number.number = tensor.f[place];
  else
    number.integer = tensor.i[place];
  return number;
}

}  // namespace

ir::Graph graph_of(const sched::Region& region) {
  ir::Graph graph;
  std::map<const ir::Value*, ir::Value*> values;
  for (const ir::Value* input : region.inputs)
    values[input] = graph.add_input("in" + std::to_string(values.size()), input->type);
  for (const ir::Node* node : region.nodes) {
    std::vector<ir::Value*> inputs;
    for (const ir::Value* input : node->inputs) {
      if (input && !values.contains(input))
        values[input] = input->kind == ir::Value::Kind::state  // it is written only
                            ? graph.add_state(input->name, input->type)
                            : graph.add_constant(input->name, input->type, input->data);
      inputs.push_back(input ? values.at(input) : nullptr);
    }
    const ir::Node* copy = graph.add_node(*node->op, inputs, node->attrs);
    for (size_t k = 0; k < node->outputs.size(); ++k) values[node->outputs[k]] = copy->outputs[k];
  }
  for (const ir::Value* output : region.outputs) {
    graph.outputs.push_back(values.at(output));
    graph.output_names.push_back("out" + std::to_string(graph.outputs.size()));
  }
  return graph;
}

WholeOpSamples::WholeOpSamples(const sched::Region& region, std::span<const ExprBuffer> buffers) {
  const ir::Graph graph = graph_of(region);
  std::vector<ir::RefTensor> inputs;
  for (size_t i = 0; i < region.inputs.size(); ++i)
    inputs.push_back(tensor_of(region, region.inputs[i], buffers[i]));
  ideal_ = ir::interpret(graph, inputs, ir::RefMode::ideal);
  rounded_ = ir::interpret(graph, inputs, ir::RefMode::stepwise);
  noisy_ = ir::interpret(graph, inputs, ir::RefMode::noisy);
}

std::vector<SampledElement> WholeOpSamples::at(size_t output,
                                               std::span<const Index> elements) const {
  std::vector<SampledElement> samples;
  for (const Index& index : elements)
    samples.push_back({number_at(ideal_[output], index), number_at(rounded_[output], index),
                       number_at(noisy_[output], index)});
  return samples;
}

bool has_whole_op(const sched::Region& region) {
  return std::ranges::any_of(region.nodes, [](const ir::Node* node) {
    return node->op->kind == ir::OpKind::composite || node->op->kind == ir::OpKind::suppress;
  });
}

}  // namespace tcc::autotune
