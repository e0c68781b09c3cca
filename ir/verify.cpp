#include "ir/verify.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "ir/op.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    for (const auto& value : graph_.values()) check_value(*value);
    for (const auto& value : graph_.values())
      if (value->kind != Value::Kind::result) defined_.insert(value.get());
    check_listed(graph_.inputs, Value::Kind::input, "input");
    check_listed(graph_.states, Value::Kind::state, "state");
    for (const auto& node : graph_.nodes()) check_node(*node);
    check_outputs();
    // A result that no node makes.
    for (const auto& value : graph_.values())
      require(defined_.contains(value.get()), "value %", value->name,
              " has no producer in the graph");
  }

 private:
  template <class... Parts>
  void require(bool condition, const Parts&... parts) const {
    if (!condition) throw InternalError(str("graph '", graph_.name, "': ", parts...));
  }

  void check_value(const Value& value) {
    require(!value.name.empty(), "a value of type ", to_string(value.type), " has no name");
    require(names_.insert(value.name).second, "two values are named %", value.name);
    const bool has_data = value.kind == Value::Kind::constant || value.kind == Value::Kind::state;
    require(has_data || !value.data, "%", value.name, " has data but is no constant or state");
    require(value.is_constant() || !value.is_mutable, "%", value.name,
            " is mutable but no constant");
    require(value.kind != Value::Kind::constant || value.data, "constant %", value.name,
            " has no data");
    require((value.kind == Value::Kind::result) == (value.producer != nullptr), "%", value.name,
            " is no result but has a producer, or the other way round");
    for (const SymInt& dim : value.shape()) {
      require(!dim.is_const() || dim.value() >= 0, "%", value.name, " has a negative dim");
      dim.visit_atoms([&](const AtomPtr& atom) {
        if (atom->kind == Atom::Kind::symbol)
          require(graph_.dims.contains(atom->name), "%", value.name, " uses the unknown dim ",
                  atom->name);
      });
    }
    owned_.insert(&value);
  }

  void check_listed(const std::vector<Value*>& list, Value::Kind kind, std::string_view what) {
    std::unordered_set<const Value*> listed;
    for (const Value* value : list) {
      require(owned_.contains(value), "an ", what, " belongs to another graph");
      require(value->kind == kind, "%", value->name, " is listed as an ", what);
      require(listed.insert(value).second, what, " %", value->name, " is listed twice");
    }
    for (const auto& value : graph_.values())
      require(value->kind != kind || listed.contains(value.get()), what, " %", value->name,
              " is not listed");
  }

  void check_node(const Node& node) {
    require(node.op != nullptr, "a node has no op");
    const std::string name = label(node);
    for (size_t k = 0; k < node.inputs.size(); ++k) check_operand(node, k, name);
    check_attrs(node, name);
    const std::vector<Type> types = inferred(node, name);
    require(types.size() == node.outputs.size(), name, " has ", node.outputs.size(),
            " results, but infers ", types.size());
    for (size_t k = 0; k < types.size(); ++k) {
      const Value* output = node.outputs[k];
      require(owned_.contains(output), name, ": a result belongs to another graph");
      require(output->producer == &node && output->output_index == static_cast<int>(k), name, ": %",
              output->name, " does not lead back to the node");
      require(output->type == types[k], name, ": %", output->name, " is ", to_string(output->type),
              ", but the op infers ", to_string(types[k]));
      require(defined_.insert(output).second, name, ": %", output->name, " is made twice");
    }
    if (const Value* state = node.stored_in())
      require(stored_.insert(state).second, name, ": %", state->name, " is stored twice");
  }

  void check_operand(const Node& node, size_t k, const std::string& name) {
    const Value* operand = node.inputs[k];
    const auto& names = node.op->operands;
    require(!names.empty() && (k < names.size() || names.back().ends_with("...")), name,
            " has too many operands");
    const std::string& role = names[std::min(k, names.size() - 1)];
    if (!operand) return require(role.ends_with("?"), name, " lacks operand '", role, "'");
    require(owned_.contains(operand), name, ": operand ", k, " belongs to another graph");
    require(defined_.contains(operand), name, ": %", operand->name, " is used before it is made");
  }

  void check_attrs(const Node& node, const std::string& name) {
    Attrs completed = node.attrs;
    try {
      complete_attrs(*node.op, completed);
    } catch (const Error& error) { require(false, name, ": ", error.what()); }
    for (const auto& [key, value] : completed) {
      const auto given = node.attrs.find(key);
      require(given != node.attrs.end() && given->second.index() == value.index(), name,
              ": attribute '", key, "' is missing or of another type");
    }
  }

  std::vector<Type> inferred(const Node& node, const std::string& name) {
    try {
      return infer_types(node);
    } catch (const Error& error) { require(false, name, ": ", error.what()); }
    return {};
  }

  void check_outputs() {
    require(graph_.output_names.size() == graph_.outputs.size(), "it has ", graph_.outputs.size(),
            " outputs and ", graph_.output_names.size(), " names for them");
    for (const Value* output : graph_.outputs) {
      require(owned_.contains(output), "an output belongs to another graph");
      require(defined_.contains(output), "output %", output->name, " has no producer");
    }
  }

  // "node %h = linear".
  static std::string label(const Node& node) {
    const std::string where = to_string(node.location);
    return str("node ", node.outputs.empty() ? "" : "%" + node.outputs[0]->name + " = ",
               node.op_name(), where.empty() ? "" : " (" + where + ")");
  }

  const Graph& graph_;
  std::unordered_set<std::string_view> names_;
  std::unordered_set<const Value*> owned_, defined_, stored_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace tcc::ir
