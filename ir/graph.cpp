#include "ir/graph.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "ir/external.h"
#include "ir/op.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

// The largest number that stands between dots in `name` ("gelu.12.lse" -> 12), -1 without one.
int64_t largest_id(std::string_view name) {
  constexpr int64_t kLimit = int64_t{1} << 40;  // beyond it a name is not of our making
  int64_t largest = -1;
  while (!name.empty()) {
    const size_t dot = std::min(name.find('.'), name.size());
    int64_t id = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + dot, id);
    if (error == std::errc{} && end == name.data() + dot && id < kLimit)
      largest = std::max(largest, id);
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
  return largest;
}

void check_dims(const std::string& name, const Type& type) {
  for (const SymInt& dim : type.shape)
    if (dim.is_const() && dim.value() < 0)
      fail_input("'", name, "' has a negative dim: ", to_string(type));
}

// The number of operands that an op takes; `most` is -1 for "any number".
struct Arity {
  int least = 0, most = 0;
};

Arity arity(const OpDef& op) {
  Arity result;
  for (const std::string& operand : op.operands) {
    result.most = operand.ends_with("...") ? -1 : result.most + 1;
    if (!operand.ends_with("?")) ++result.least;
  }
  return result;
}

std::string operand_list(const OpDef& op) {
  std::string text;
  for (const std::string& operand : op.operands) text += (text.empty() ? "" : ", ") + operand;
  return text;
}

// Checks the number of operands and pads omitted optional ones with null, so that an op may index
// them all.
void complete_operands(const InferContext& context, std::vector<Value*>& inputs) {
  const OpDef& op = *context.node.op;
  const auto [least, most] = arity(op);
  const int given = static_cast<int>(inputs.size());
  if (given < least || (most >= 0 && given > most))
    context.fail(str("takes ", op.operands.empty() ? "no operands" : "(" + operand_list(op) + ")",
                     " but got ", given, given == 1 ? " operand" : " operands"));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& operand = op.operands[std::min(i, op.operands.size() - 1)];
    if (!inputs[i] && !operand.ends_with("?")) context.fail("operand '" + operand + "' is missing");
  }
  if (most >= 0) inputs.resize(op.operands.size());
}

}  // namespace

std::string to_string(const Type& type) {
  return std::string(name(type.dtype)) + to_string(std::span<const SymInt>(type.shape));
}

std::string to_string(const Location& location) {
  if (!location.file) return "";
  return location.line > 0 ? str(*location.file, ":", location.line) : *location.file;
}

std::string_view Node::op_name() const { return op->name; }

bool Node::reads(size_t k) const { return k > 0 || !op->stores; }

Value* Node::stored_in() const { return op->stores ? inputs[0] : nullptr; }

std::vector<int64_t> Node::ints(std::string_view key) const {
  return const_shape(attr<std::vector<SymInt>>(key));
}

Value* Graph::new_value(Value::Kind kind, std::string value_name, Type type) {
  auto value = std::make_unique<Value>();
  value->kind = kind;
  value->name = std::move(value_name);
  value->type = std::move(type);
  values_.push_back(std::move(value));
  return values_.back().get();
}

Value* Graph::add_input(std::string value_name, Type type) {
  check_dims(value_name, type);
  inputs.push_back(new_value(Value::Kind::input, std::move(value_name), std::move(type)));
  return inputs.back();
}

Value* Graph::add_constant(std::string value_name, Type type, ConstantPtr data) {
  TCC_CHECK(data, "constant ", value_name, " without data");
  check_dims(value_name, type);
  if (value_name.empty()) value_name = str("const.", next_id_++);
  Value* value = new_value(Value::Kind::constant, std::move(value_name), std::move(type));
  value->data = std::move(data);
  return value;
}

Value* Graph::add_state(std::string value_name, Type type, ConstantPtr initial) {
  check_dims(value_name, type);
  states.push_back(new_value(Value::Kind::state, std::move(value_name), std::move(type)));
  states.back()->data = std::move(initial);
  return states.back();
}

Node* Graph::add_node(const OpDef& op, std::vector<Value*> node_inputs, Attrs attrs,
                      Location location) {
  auto node = std::make_unique<Node>();
  node->op = &op;
  node->location = std::move(location);
  InferContext context{*node, {}};
  complete_operands(context, node_inputs);
  node->inputs = std::move(node_inputs);
  try {
    complete_attrs(op, attrs);
  } catch (const Error& error) { context.fail(error.what()); }
  node->attrs = std::move(attrs);

  std::vector<Type> types = infer_types(*node);
  if (const Value* state = node->stored_in())
    for (const auto& other : nodes_)
      if (other->stored_in() == state)
        context.fail(str("state '", state->name, "' is assigned twice"));
  const int64_t id = next_id_++;
  for (size_t k = 0; k < types.size(); ++k) {
    std::string value_name = str(op.name, ".", id);
    if (types.size() > 1)
      value_name += "." + (k < op.results.size() ? op.results[k] : std::to_string(k));
    Value* value = new_value(Value::Kind::result, std::move(value_name), std::move(types[k]));
    value->location = node->location;
    value->producer = node.get();
    value->output_index = static_cast<int>(k);
    node->outputs.push_back(value);
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().get();
}

void Graph::replace_uses(Value* from, Value* to) {
  for (const auto& node : nodes_) std::ranges::replace(node->inputs, from, to);
  std::ranges::replace(outputs, from, to);
}

void Graph::remove_dead() {
  std::unordered_set<const Value*> live(outputs.begin(), outputs.end());
  std::unordered_set<const Node*> kept;
  for (size_t k = nodes_.size(); k-- > 0;) {
    const Node& node = *nodes_[k];
    const bool is_used =
        std::ranges::any_of(node.outputs, [&](Value* v) { return live.contains(v); });
    if (!is_used && !node.stored_in() && !has_effects(node)) continue;
    kept.insert(&node);
    live.insert(node.inputs.begin(), node.inputs.end());
    live.insert(node.outputs.begin(), node.outputs.end());
  }
  live.insert(inputs.begin(), inputs.end());
  live.insert(states.begin(), states.end());
  std::erase_if(nodes_, [&](const auto& node) { return !kept.contains(node.get()); });
  std::erase_if(values_, [&](const auto& value) { return !live.contains(value.get()); });
}

void Graph::make_names_unique() {
  for (const auto& value : values_) next_id_ = std::max(next_id_, largest_id(value->name) + 1);
  std::unordered_set<std::string_view> taken;
  for (const auto& value : values_) {
    if (value->name.empty())
      value->name = str("value.", next_id_++);
    else if (taken.contains(value->name))
      value->name += str(".", next_id_++);
    taken.insert(value->name);
  }
}

std::map<const Value*, Graph::Uses> Graph::uses() const {
  std::map<const Value*, Uses> result;
  for (const auto& value : values_) result[value.get()];
  for (const auto& node : nodes_) {
    for (const Value* input : node->inputs) {
      if (!input) continue;
      std::vector<Node*>& users = result[input].nodes;
      if (users.empty() || users.back() != node.get()) users.push_back(node.get());
    }
    if (node->stored_in()) ++result[node->outputs[0]].outputs;
  }
  for (const Value* output : outputs) ++result[output].outputs;
  return result;
}

std::vector<int64_t> const_shape(std::span<const SymInt> shape) {
  std::vector<int64_t> result;
  result.reserve(shape.size());
  for (const SymInt& dim : shape) result.push_back(dim.value());
  return result;
}

std::vector<int64_t> const_shape(const Value& value) { return const_shape(value.shape()); }

}  // namespace tcc::ir
