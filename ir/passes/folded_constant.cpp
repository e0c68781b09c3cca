#include "ir/passes/folded_constant.h"

#include <unordered_map>

#include "ir/op.h"
#include "ir/reference/interpreter.h"
#include "ir/reference/moves.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

const FoldedConstant* as_folded(const ConstantPtr& data) {
  return dynamic_cast<const FoldedConstant*>(data.get());
}

// Builds the graph of a folded constant: the folded nodes that it is made of, down to constants
// that were given.
class ConeBuilder {
 public:
  Graph build(const FoldingPtr& root, int output) {
    // Depth first without recursion: chains may be long.
    std::vector<FoldingPtr> stack = {root};
    while (!stack.empty()) {
      const FoldingPtr folding = stack.back();
      const size_t before = stack.size();
      for (const Folding::Operand& operand : folding->operands) {
        const FoldedConstant* inner = as_folded(operand.data);
        if (inner && !made_.contains(inner->folding().get())) stack.push_back(inner->folding());
      }
      if (stack.size() > before) continue;
      stack.pop_back();
      if (!made_.contains(folding.get())) made_[folding.get()] = add(*folding);
    }
    graph_.outputs = {made_.at(root.get())->outputs[static_cast<size_t>(output)]};
    graph_.output_names = {"out"};
    return std::move(graph_);
  }

 private:
  Node* add(const Folding& folding) {
    std::vector<Value*> inputs;
    for (const Folding::Operand& operand : folding.operands)
      inputs.push_back(operand.data ? value_of(operand) : nullptr);
    return graph_.add_node(*folding.op, std::move(inputs), folding.attrs, folding.location);
  }

  Value* value_of(const Folding::Operand& operand) {
    if (const FoldedConstant* inner = as_folded(operand.data))
      return made_.at(inner->folding().get())->outputs[static_cast<size_t>(inner->output())];
    Value*& leaf = leaves_[operand.data.get()];
    if (!leaf) leaf = graph_.add_constant(operand.name, operand.type, operand.data);
    return leaf;
  }

  Graph graph_;
  std::unordered_map<const Folding*, Node*> made_;
  std::unordered_map<const ConstantData*, Value*> leaves_;
};

TensorPtr evaluate(const FoldingPtr& folding, int output) {
  const Graph graph = ConeBuilder().build(folding, output);
  if (std::optional<Tensor> moved = move_elements(graph))
    return std::make_shared<const Tensor>(*std::move(moved));
  const std::vector<RefTensor> results = interpret(graph, {}, RefMode::ideal);
  return std::make_shared<const Tensor>(to_tensor(results.front()));
}

bool all_literal(const Folding& folding) {
  for (const Folding::Operand& operand : folding.operands)
    if (operand.data && !operand.data->is_literal()) return false;
  return true;
}

}  // namespace

FoldedConstant::FoldedConstant(FoldingPtr folding, int output)
    : folding_(std::move(folding)),
      output_(output),
      ideal_splat_(tcc::ir::ideal_splat(*folding_)),
      is_literal_(all_literal(*folding_)) {
  const Type& type = folding_->results[static_cast<size_t>(output)];
  if (ideal_splat_) {
    data_ = make_splat(type.dtype, const_shape(type.shape), *ideal_splat_);
  } else {
    data_ = make_lazy_constant([folding = folding_, output] { return evaluate(folding, output); });
  }
}

std::optional<double> ideal_splat(const ConstantData& data) {
  const auto* folded = dynamic_cast<const FoldedConstant*>(&data);
  return folded ? folded->ideal_splat() : data.splat();
}

}  // namespace tcc::ir
