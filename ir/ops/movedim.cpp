#include <optional>

#include "ir/builder.h"
#include "ir/ops/_permutation.h"
#include "support/error.h"

namespace tcc::ir::ops::op_movedim {
namespace {

std::vector<int> moved(const Node& node, int rank) {
  const auto sources = dim_list(node, "source", rank);
  const auto destinations = dim_list(node, "destination", rank);
  std::vector<int> dims(static_cast<size_t>(rank), -1);
  std::vector<bool> taken(static_cast<size_t>(rank));
  for (size_t i = 0; i < sources.size(); ++i) {
    dims[static_cast<size_t>(destinations[i])] = sources[i];
    taken[static_cast<size_t>(sources[i])] = true;
  }
  int next = 0;  // the other dims keep their order
  for (int& dim : dims) {
    if (dim >= 0) continue;
    while (taken[static_cast<size_t>(next)]) ++next;
    dim = next++;
  }
  return dims;
}

void check(const InferContext& context) {
  const int rank = static_cast<int>(context.inputs[0]->shape.size());
  const size_t from = dim_list(context, "source", rank).size();
  const size_t to = dim_list(context, "destination", rank).size();
  context.require(from == to, str("source names ", from, " dims but destination ", to));
}

}  // namespace

OpDef make() {
  OpDef op = permuting("movedim",
                       "Dims `source` moved to `destination`, the others in their order; "
                       "torch.movedim",
                       {{"source", AttrType::ints, std::nullopt, {}, true},
                        {"destination", AttrType::ints, std::nullopt, {}, true}},
                       check, moved);
  const auto x = Type{DType::f32, {2, 3, 4, 5}};
  op.samples = {
      {.inputs = {x}, .attrs = {{"source", 1}, {"destination", -1}}},
      {.inputs = {x}, .attrs = {{"source", ints({0, 1})}, {"destination", ints({3, 0})}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_movedim
