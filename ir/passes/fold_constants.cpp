#include "ir/passes/fold_constants.h"

#include <algorithm>
#include <set>

#include "ir/look_ups.h"
#include "ir/op.h"
#include "ir/passes/folded_constant.h"

namespace tcc::ir {
namespace {

constexpr int64_t kSmall = 4096;  // elements that are always worth having
constexpr int64_t kMaxGrowth = 4;
// Elements that are looked up at constant places, as biases of relative positions are for each
// head: a kernel would read a place for each of them first, and wait for it.
constexpr int64_t kMostLookedUp = 1 << 21;
constexpr int64_t kNarrow = 256;  // elements from which it pays to read them narrow
constexpr int kMaxDepth = 1000;   // of constants made of constants: they are destroyed recursively

bool is_concrete(std::span<const SymInt> values) {
  return std::ranges::all_of(values, &SymInt::is_const);
}

bool has_concrete_attrs(const Node& node) {
  return std::ranges::all_of(node.attrs, [](const auto& entry) {
    const auto* values = std::get_if<std::vector<SymInt>>(&entry.second);
    return !values || is_concrete(*values);
  });
}

// The elements of all values (omitted ones have none), or nothing if a size is symbolic or
// impossible.
std::optional<double> total_elements(const std::vector<Value*>& values) {
  double total = 0;
  for (const Value* value : values) {
    if (!value) continue;
    if (!is_concrete(value->shape())) return std::nullopt;
    const auto bytes = tensor_bytes(value->dtype(), const_shape(*value));
    if (!bytes) return std::nullopt;
    total += static_cast<double>(*bytes) / size_bytes(value->dtype());
  }
  return total;
}

// Returns how many folded constants lie below a node, on the longest way.
int folding_depth(const Node& node) {
  int depth = 0;
  for (const Value* input : node.inputs) {
    const auto* data = input ? dynamic_cast<const FoldedConstant*>(input->data.get()) : nullptr;
    if (data) depth = std::max(depth, data->folding()->depth);
  }
  return depth + 1;
}

bool is_foldable(const Node& node) {
  if (node.op->kind == OpKind::external) return false;  // it is called when the graph runs
  if (!node.subgraphs.empty() || !(node.op->reference || node.op->compose)) return false;
  for (const Value* input : node.inputs)
    if (input && (!input->is_constant() || input->is_mutable)) return false;
  if (!has_concrete_attrs(node) || folding_depth(node) > kMaxDepth) return false;
  const auto before = total_elements(node.inputs), after = total_elements(node.outputs);
  const int64_t few = is_look_up(node) ? kMostLookedUp : kSmall;
  return before && after && *after <= std::max<double>(few, kMaxGrowth * *before);
}

FoldingPtr folding_of(const Node& node) {
  auto folding = std::make_shared<Folding>();
  folding->op = node.op;
  folding->attrs = node.attrs;
  folding->location = node.location;
  folding->depth = folding_depth(node);
  for (const Value* input : node.inputs)
    folding->operands.push_back(input ? Folding::Operand{input->name, input->type, input->data}
                                      : Folding::Operand{});
  for (const Value* output : node.outputs) folding->results.push_back(output->type);
  return folding;
}

// The node's results become constants in place, so that their users need no change.
void fold(const Node& node) {
  const FoldingPtr folding = folding_of(node);
  for (Value* output : node.outputs) {
    output->kind = Value::Kind::constant;
    output->data = std::make_shared<FoldedConstant>(folding, output->output_index);
    output->producer = nullptr;
    output->output_index = 0;
  }
}

// Kernels widen what they read at no cost, where a wider constant is read more slowly.
bool only_widens(const Node& node) {
  if (node.op_name() != "cast" ||
      size_bytes(node.outputs[0]->dtype()) <= size_bytes(node.inputs[0]->dtype()))
    return false;
  return total_elements(node.outputs).value_or(0) >= kNarrow;
}

// Numbers of elements, and integers and conditions that are made of them and of numbers: kernels
// compute them from indices, and know what follows, such as which keys a mask hides. Their values
// are no data. So are numbers of elements in a float type.
class IndexArithmetic {
 public:
  bool add(const Node& node) {
    const bool is_one =
        (node.op->kind == OpKind::view || node.op->kind == OpKind::pointwise) &&
        (is_whole(node.outputs[0]) || counts(node)) && !node.op->stores &&
        std::ranges::all_of(node.inputs, [&](const Value* input) {
          return !input || made_.contains(input) || (input->data && input->data->splat());
        });
    if (is_one) made_.insert(node.outputs[0]);
    return is_one;
  }
  // Returns whether the node goes on with it, or chooses by it.
  bool goes_on(const Node& node) const {
    return node.op->kind == OpKind::pointwise &&
           std::ranges::any_of(node.inputs, [&](const Value* input) {
             return input && made_.contains(input) &&
                    (is_whole(node.outputs[0]) || !is_integer(input->dtype()));
           });
  }

 private:
  static bool is_whole(const Value* value) {
    return is_integer(value->dtype()) || value->dtype() == DType::boolean;
  }
  // Numbers of elements as floats: what other arithmetic makes of them is data.
  static bool counts(const Node& node) {
    return node.outputs[0]->dtype() == DType::f32 &&
           (node.op_name() == "iota" || node.op_name() == "cast" || node.op->kind == OpKind::view);
  }
  std::set<const Value*> made_;
};

// The node computes its results again.
void unfold(Node& node) {
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    node.outputs[k]->kind = Value::Kind::result;
    node.outputs[k]->data = nullptr;
    node.outputs[k]->producer = &node;
    node.outputs[k]->output_index = static_cast<int>(k);
  }
}

}  // namespace

void fold_constants(Graph& graph) {
  IndexArithmetic indices;
  std::vector<std::unique_ptr<Node>> kept;  // perhaps
  for (auto& node : graph.nodes()) {
    const bool is_index = indices.add(*node);
    if (!is_foldable(*node)) continue;
    fold(*node);
    if (is_index || only_widens(*node)) kept.push_back(std::move(node));
    node.reset();
  }
  std::erase(graph.nodes(), nullptr);
  // The nodes that other constants were made of are gone for good; the rest stays with its readers.
  // Operands are constants, or among the rest: it may stand first.
  const auto uses = graph.uses();
  std::set<const Value*> wanted;
  for (const auto& node : graph.nodes())
    if (indices.goes_on(*node)) wanted.insert(node->inputs.begin(), node->inputs.end());
  for (size_t k = kept.size(); k-- > 0;) {
    const Node& node = *kept[k];
    const Value* result = node.outputs[0];
    if (!(only_widens(node) ? uses.contains(result) : wanted.contains(result))) continue;
    if (result->data->splat()) continue;  // a number
    wanted.insert(node.inputs.begin(), node.inputs.end());
    unfold(*kept[k]);
    graph.nodes().insert(graph.nodes().begin(), std::move(kept[k]));
  }
  graph.remove_dead();
}

}  // namespace tcc::ir
