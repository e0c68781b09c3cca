#include "ir/passes/convert_precision.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "ir/builder.h"
#include "ir/look_ups.h"

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

using NodeSet = std::set<const Node*>;

template <size_t n>
bool is_one_of(const Node& node, const std::array<std::string_view, n>& names) {
  return std::ranges::find(names, node.op_name()) != names.end();
}

// The floating-point nodes that `node` is computed from, itself included; none where they read
// floating-point inputs or rows of tables: then they are features of the network, not positions.
NodeSet positions_before(const Node& node) {
  NodeSet found = {&node};
  std::vector<const Node*> stack = {&node};
  while (!stack.empty()) {
    const Node& next = *stack.back();
    stack.pop_back();
    if (is_look_up(next)) return {};
    for (const Value* input : next.inputs) {
      if (!input || !is_float(input->dtype())) continue;
      if (input->is_given()) return {};
      if (input->producer && found.insert(input->producer).second) stack.push_back(input->producer);
    }
  }
  return found;
}

// Positions grow with the length of a sequence: an angle of some thousand radians in a 16-bit type
// has no digits left behind the point. Angles that are computed from integers keep their type.
NodeSet angles(const Graph& graph) {
  static constexpr std::array<std::string_view, 3> kPeriodic = {"sin", "cos", "tan"};
  NodeSet found;
  for (const auto& node : graph.nodes())
    if (is_one_of(*node, kPeriodic)) found.merge(positions_before(*node));
  return found;
}

// The bits of a number are those of its own type.
NodeSet bit_casts(const Graph& graph) {
  NodeSet found;
  for (const auto& node : graph.nodes())
    if (node->op_name() == "bit_cast") found.insert(node.get());
  return found;
}

}  // namespace

bool is_precision(DType dtype) { return is_float(dtype) && !is_f8(dtype); }

Graph convert_precision(const Graph& graph, DType dtype) {
  Graph result;
  result.name = graph.name;
  result.dims = graph.dims;
  result.output_names = graph.output_names;
  std::map<const Value*, Value*> mapped;
  auto converted = [&](Type type) {
    if (is_precision(type.dtype)) type.dtype = dtype;
    return type;
  };
  for (const Value* input : graph.inputs) {
    Value* copy = result.add_input(input->name, converted(input->type));
    copy->location = input->location;
    copy->random_range = input->random_range;
    mapped[input] = copy;
  }
  NodeSet exact = angles(graph);
  exact.merge(bit_casts(graph));
  std::map<const Value*, Value*> kept;  // constants in the type that they were written in
  auto converted_data = [&](const Value& value) -> ConstantPtr {
    const bool changes = is_precision(value.dtype()) && value.dtype() != dtype;
    return changes && value.data ? std::make_shared<CastConstant>(value.data, dtype) : value.data;
  };
  for (const Value* state : graph.states) {
    Value* copy = result.add_state(state->name, converted(state->type), converted_data(*state));
    copy->location = state->location;
    mapped[state] = copy;
  }
  for (const auto& value : graph.values()) {
    if (!value->is_constant()) continue;
    Value* copy = result.add_constant(value->name, converted(value->type), converted_data(*value));
    copy->location = value->location;
    copy->is_mutable = value->is_mutable;
    mapped[value.get()] = copy;
  }
  Builder builder(result);
  // An operand in its own type for what stays exact, in `dtype` for the rest.
  auto operand = [&](const Value* input, bool stays) -> Value* {
    if (!input) return nullptr;
    Value* value = mapped.at(input);
    if (!is_precision(input->dtype())) return value;
    if (!stays) return builder.cast(value, dtype);
    if (!input->is_constant() || value->dtype() == input->dtype())
      return builder.cast(value, input->dtype());
    Value*& own = kept[input];
    if (!own) {
      own = result.add_constant(input->name + ".exact", input->type, input->data);
      own->location = input->location;
      own->is_mutable = input->is_mutable;
    }
    return own;
  };
  for (const auto& node : graph.nodes()) {
    const bool stays = exact.contains(node.get());
    builder.set_location(node->location);
    std::vector<Value*> inputs;
    for (const Value* input : node->inputs) inputs.push_back(operand(input, stays));
    Attrs attrs = node->attrs;
    for (auto& [key, attr] : attrs) {
      if (stays) continue;
      if (auto* asked = std::get_if<DType>(&attr); asked && is_precision(*asked)) *asked = dtype;
      if (auto* asked = std::get_if<std::string>(&attr); asked && key == "out_dtype")
        if (const auto out = parse_dtype(*asked); out && is_precision(*out)) *asked = name(dtype);
    }
    Node* copy = result.add_node(*node->op, inputs, attrs, node->location);
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      copy->outputs[i]->name = node->outputs[i]->name;
      mapped[node->outputs[i]] = copy->outputs[i];
    }
  }
  for (const Value* output : graph.outputs) result.outputs.push_back(operand(output, false));
  result.make_names_unique();  // they are: only sets the ids of names to come
  return result;
}

}  // namespace tcc::ir
