#include "ir/passes/convert_precision.h"

#include <map>

namespace tcc::ir {
namespace {

// Another constant's data, rounded into another dtype.
class CastConstant : public ConstantData {
 public:
  CastConstant(ConstantPtr from, DType dtype) : from_(std::move(from)), dtype_(dtype) {}
  TensorPtr load() const override { return std::make_shared<Tensor>(cast(*from_->load(), dtype_)); }
  std::optional<double> splat() const override {
    auto value = from_->splat();
    return value ? std::optional<double>(round_to(dtype_, *value)) : std::nullopt;
  }

 private:
  ConstantPtr from_;
  DType dtype_;
};

}  // namespace

Graph convert_precision(const Graph& graph, DType dtype) {
  Graph result;
  result.name = graph.name;
  result.dims = graph.dims;
  result.output_names = graph.output_names;
  std::map<const Value*, Value*> mapped;
  auto converted = [&](Type type) {
    if (is_float(type.dtype)) type.dtype = dtype;
    return type;
  };
  for (const Value* input : graph.inputs) {
    Value* copy = result.add_input(input->name, converted(input->type));
    copy->location = input->location;
    copy->random_range = input->random_range;
    mapped[input] = copy;
  }
  for (const auto& value : graph.values()) {
    if (!value->is_constant()) continue;
    bool changes = is_float(value->dtype()) && value->dtype() != dtype;
    ConstantPtr data = changes ? std::make_shared<CastConstant>(value->data, dtype) : value->data;
    Value* copy = result.add_constant(value->name, converted(value->type), data);
    copy->location = value->location;
    copy->is_mutable = value->is_mutable;
    mapped[value.get()] = copy;
  }
  for (const auto& node : graph.nodes()) {
    std::vector<Value*> inputs;
    for (const Value* input : node->inputs) inputs.push_back(input ? mapped.at(input) : nullptr);
    Attrs attrs = node->attrs;
    for (auto& [key, attr] : attrs)
      if (auto* asked = std::get_if<DType>(&attr); asked && is_float(*asked)) *asked = dtype;
    Node* copy = result.add_node(*node->op, inputs, attrs, node->location);
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      copy->outputs[i]->name = node->outputs[i]->name;
      mapped[node->outputs[i]] = copy->outputs[i];
    }
  }
  for (const Value* output : graph.outputs) result.outputs.push_back(mapped.at(output));
  result.make_names_unique();  // they are: only sets the ids of names to come
  return result;
}

}  // namespace tcc::ir
