#include "ir/ops/_counted.h"

#include "ir/ops/_attributes.h"

namespace tcc::ir::ops {

AttrDef counted_size_attr() { return {"size", AttrType::ints, std::nullopt, {}, true}; }

SymInt size_of(const Node& node) { return node.attr<std::vector<SymInt>>("size")[0]; }

Value* places_of(Builder& b, Value* flags, const SymInt& size, const std::optional<SymInt>& most) {
  Value* ones = b.cast(flags, DType::i64);
  const SymInt n = flags->shape()[0];
  // The k-th of them is where the sums of the flags reach k.
  Value* sums = b.op("cumsum", {ones}, {{"dim", int64_t{0}}});
  Value* count =
      n.range().lo > 0 ? b.reshape(b.slice(sums, 0, n - 1, n), {}) : b.reduce("sum", ones, {0});
  b.op("read_size", {count},
       {{"size", shape_attr({size})}, {"most", shape_attr({most.value_or(n)})}});
  Value* numbers = b.op("iota", {}, {{"size", shape_attr({size})}});
  return b.op("searchsorted", {sums, b.add(numbers, b.scalar(DType::i64, 1))});
}

AttrDef optional_dim_attr() { return {"dim", AttrType::ints, std::vector<SymInt>{}, {}, true}; }

std::optional<int> optional_dim(const InferContext& context, int rank) {
  const std::vector<int> dims = dim_list(context, "dim", rank);
  const size_t given = context.node.attr<std::vector<SymInt>>("dim").size();
  context.require(given <= 1, "dim must be one dim");
  context.require(given == dims.size(), "x has no dims");
  return dims.empty() ? std::nullopt : std::optional(dims[0]);
}

std::optional<int> optional_dim(const Node& node, int rank) {
  const std::vector<int> dims = dim_list(node, "dim", rank);
  return dims.empty() ? std::nullopt : std::optional(dims[0]);
}

Value* select_places(Builder& b, Value* x, int dim, Value* places) {
  Shape shape = x->shape();
  if (!shape[static_cast<size_t>(dim)].is(0))
    return b.op("index_select", {x, places}, {{"dim", int64_t{dim}}});
  shape[static_cast<size_t>(dim)] = places->shape()[0];
  return b.splat(x->dtype(), shape, 0);
}

}  // namespace tcc::ir::ops
