#include "ir/append.h"

#include "ir/op.h"
#include "ir/ops/_attributes.h"
#include "ir/size_range.h"
#include "ir/sizes.h"
#include "support/error.h"

namespace tcc::ir {

bool appends(const Node& node) { return node.op->appends; }

Append append_of(const Node& node) {
  const int dim = ops::dim_attr(node, "dim", node.inputs[0]->rank());
  return {node.inputs[0], node.inputs[1], dim, ops::symint_attr(node, "length")};
}

const Value& stored_part(const Value& value) {
  const Node* node = value.producer;
  return node && appends(*node) ? *append_of(*node).rows : value;
}

std::vector<SymInt> stored_index(const Value& value, std::vector<SymInt> index) {
  if (!value.producer || !appends(*value.producer)) return index;
  const Append append = append_of(*value.producer);
  SymInt& row = index[static_cast<size_t>(append.dim)];
  row = row + append.length;
  return index;
}

SymInt stored_elements(const Value* value) { return elements_of(&stored_part(*value)); }

int64_t usual_stored(const Value* value) { return stored_elements(value).usual(); }

const Value* state_of_length(const Graph& graph, std::string_view dim) {
  for (const auto& node : graph.nodes()) {
    if (!appends(*node)) continue;
    const AtomPtr length = append_of(*node).length.as_atom();
    if (length && length->kind == Atom::Kind::symbol && length->name == dim) return node->inputs[0];
  }
  return nullptr;
}

void check_growing_states(const Graph& graph, const Graph& bound) {
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = *graph.nodes()[i];
    if (!appends(node)) continue;
    const SymInt length = append_of(node).length, stays = append_of(*bound.nodes()[i]).length;
    if (length.is_const() || (!stays.is_const() && stays.range().hi < kMostSize)) continue;
    fail_input("state '", node.inputs[0]->name, "' grows from run to run: its length ", length,
               " stays open, and needs a range (--dim ", length, "=0..4095)");
  }
}

}  // namespace tcc::ir
