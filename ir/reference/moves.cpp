#include "ir/reference/moves.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/op.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_index_loop.h"
#include "support/strided_copy.h"

namespace tcc::ir {
namespace {

using ops::strides_of;

// The operand's dim that each dim of the result is.
std::optional<std::vector<int>> permutation(const Node& node) {
  if (node.op_name() != "permute" && node.op_name() != "transpose") return std::nullopt;
  const int rank = node.inputs[0]->rank();
  if (node.op_name() == "permute") return ops::dim_list(node, "dims", rank);
  if (rank == 0) return std::nullopt;
  std::vector<int> dims;
  for (int d = 0; d < rank; ++d) dims.push_back(d);
  std::swap(dims[static_cast<size_t>(ops::dim_attr(node, "dim0", rank))],
            dims[static_cast<size_t>(ops::dim_attr(node, "dim1", rank))]);
  return dims;
}

bool moves(const Node& node) {
  return node.op_name() == "cat" || node.op_name() == "reshape" || permutation(node).has_value();
}

Tensor concatenated(const Node& node, const std::vector<TensorPtr>& operands) {
  Tensor result(node.outputs[0]->dtype(), const_shape(*node.outputs[0]));
  const auto dim = static_cast<size_t>(ops::dim_attr(node, "dim", node.outputs[0]->rank()));
  const std::vector<int64_t> strides = strides_of(result.shape());
  const int element = size_bytes(result.dtype());
  int64_t at = 0;
  for (const TensorPtr& operand : operands) {
    if (operand->bytes() == 0) continue;
    copy_strided(operand->data(), strides_of(operand->shape()),
                 result.data() + static_cast<size_t>(at * strides[dim] * element), strides,
                 operand->shape(), element);
    at += operand->shape()[dim];
  }
  return result;
}

Tensor moved(const Node& node, const std::vector<TensorPtr>& operands) {
  if (node.op_name() == "cat") return concatenated(node, operands);
  const Tensor& from = *operands[0];
  Tensor result(node.outputs[0]->dtype(), const_shape(*node.outputs[0]));
  if (const auto dims = permutation(node)) {
    const std::vector<int64_t> own = strides_of(from.shape());
    std::vector<int64_t> strides;
    for (const int d : *dims) strides.push_back(own[static_cast<size_t>(d)]);
    copy_strided(from.data(), strides, result.data(), strides_of(result.shape()), result.shape(),
                 size_bytes(from.dtype()));
  } else {
    std::copy_n(from.data(), from.bytes(), result.data());
  }
  return result;
}

}  // namespace

std::optional<Tensor> move_elements(const Graph& graph) {
  const bool only_moves = std::ranges::all_of(graph.nodes(), [](const auto& node) {
    const DType dtype = node->outputs[0]->dtype();
    return moves(*node) && std::ranges::all_of(node->inputs, [&](const Value* input) {
             return input && input->dtype() == dtype;
           });
  });
  if (!only_moves || graph.nodes().empty()) return std::nullopt;
  std::map<const Value*, TensorPtr> values;
  for (const auto& node : graph.nodes()) {
    std::vector<TensorPtr> operands;
    for (const Value* input : node->inputs)
      operands.push_back(input->is_constant() ? input->data->load() : values.at(input));
    values[node->outputs[0]] = std::make_shared<const Tensor>(moved(*node, operands));
  }
  return *values.at(graph.outputs[0]);
}

}  // namespace tcc::ir
