#include "ir/ops/_counted.h"

namespace tcc::ir::ops {

AttrDef counted_size_attr() { return {"size", AttrType::ints, std::nullopt, {}, true}; }

SymInt size_of(const Node& node) { return node.attr<std::vector<SymInt>>("size")[0]; }

Value* places_of(Builder& b, Value* flags, const SymInt& size) {
  Value* ones = b.cast(flags, DType::i64);
  const SymInt most = flags->shape()[0];
  // The k-th of them is where the sums of the flags reach k.
  Value* sums = b.op("cumsum", {ones}, {{"dim", int64_t{0}}});
  Value* count = most.range().lo > 0 ? b.reshape(b.slice(sums, 0, most - 1, most), {})
                                     : b.reduce("sum", ones, {0});
  b.op("read_size", {count}, {{"size", shape_attr({size})}, {"most", shape_attr({most})}});
  Value* numbers = b.op("iota", {}, {{"size", shape_attr({size})}});
  return b.op("searchsorted", {sums, b.add(numbers, b.scalar(DType::i64, 1))});
}

}  // namespace tcc::ir::ops
