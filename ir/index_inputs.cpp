#include "ir/index_inputs.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "ir/op.h"

namespace tcc::ir {
namespace {

// A dim of an operand.
int64_t extent(const Node& node, size_t operand, int from_end) {
  const Shape& shape = node.inputs[operand]->shape();
  return shape[shape.size() - static_cast<size_t>(from_end)].value();
}

struct IndexOperand {
  std::string_view op, operand;
  IndexRange (*range)(const Node& node);
};

constexpr IndexOperand kIndexOperands[] = {
    {"packed_attention", "query_starts",
     [](const Node& node) {
       return IndexRange{0, extent(node, 0, 3), true};
     }},
    {"packed_attention", "key_starts?",
     [](const Node& node) {
       return IndexRange{0, extent(node, 1, 3), true};
     }},
    {"paged_attention", "block_table",
     [](const Node& node) {
       return IndexRange{0, extent(node, 1, 4) - 1};
     }},
    {"paged_attention", "key_lengths",
     [](const Node& node) {
       const int64_t keys = extent(node, 3, 1) * extent(node, 1, 3);  // pages, keys of a page
       return IndexRange{std::min<int64_t>(1, keys), keys};
     }},
    {"scaled_dot_product_attention", "key_lengths?",
     [](const Node& node) {
       const int64_t keys = extent(node, 1, 2);
       return IndexRange{std::min<int64_t>(1, keys), keys};
     }},
};

// A bound graph has other dims where a run counts them.
bool has_known_dims(const Node& node) {
  return std::ranges::all_of(node.inputs, [](const Value* operand) {
    return !operand || std::ranges::all_of(operand->shape(), &SymInt::is_const);
  });
}

std::optional<IndexRange> index_range_of(const Node& node, size_t k) {
  // The last name of a list stands for all further operands; no such op has an entry.
  if (k >= node.op->operands.size()) return std::nullopt;
  for (const IndexOperand& one : kIndexOperands)
    if (one.op == node.op->name && one.operand == node.op->operands[k] && has_known_dims(node))
      return one.range(node);
  return std::nullopt;
}

}  // namespace

std::optional<IndexRange> index_range(const Graph& bound, const Value& input) {
  std::set<const Value*> same = {&input};
  for (const auto& node : bound.nodes()) {
    for (size_t k = 0; k < node->inputs.size(); ++k)
      if (same.contains(node->inputs[k]))
        if (const auto range = index_range_of(*node, k)) return range;
    const bool converts = node->op->name == "cast" || node->op->name == "to";
    if (converts && is_integer(node->outputs[0]->dtype()) && same.contains(node->inputs[0]))
      same.insert(node->outputs[0]);
  }
  return std::nullopt;
}

void set_index_ranges(Graph& bound) {
  for (Value* input : bound.inputs)
    if (!input->random_range && is_integer(input->dtype()))
      if (const auto range = index_range(bound, *input))
        input->random_range = {range->least, range->most + 1};
}

}  // namespace tcc::ir
