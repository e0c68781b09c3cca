// Gather, Scatter, OneHot and their kin.
#include <algorithm>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"

namespace tcc::onnx {
namespace {

// The indices' shape stands where the axis was.
Results gather(OpNode& n) {
  Value *x = n.in(0), *indices = n.in(1);
  const int64_t axis = n.axis(n.integer("axis", 0), x->rank());
  const SymInt count = ir::product(indices->shape());
  Value* picked = n.b.op("index_select", {x, n.b.reshape(indices, {count})}, {{"dim", axis}});
  Shape shape(x->shape().begin(), x->shape().begin() + axis);
  shape.insert(shape.end(), indices->shape().begin(), indices->shape().end());
  shape.insert(shape.end(), x->shape().begin() + axis + 1, x->shape().end());
  return {n.b.reshape(picked, shape)};
}

Results gather_elements(OpNode& n) {
  Value* x = n.in(0);
  return {n.b.op("gather", {x, n.in(1)}, {{"dim", n.axis(n.integer("axis", 0), x->rank())}})};
}

// Depth values, `on` where the index is and `off` elsewhere; an index out of range gives `off`.
Results one_hot(OpNode& n) {
  Value *indices = n.in(0), *values = n.in(2);
  const TensorPtr given = n.tensor(1);
  n.require(given->numel() == 1, "depth must be one number");
  const auto depth = static_cast<int64_t>(given->get(0));
  const int64_t axis = n.axis(n.integer("axis", -1), indices->rank() + 1);
  Value* index = n.b.unsqueeze(n.b.cast(indices, DType::i64), axis);
  Value* zero = n.b.scalar(DType::i64, 0);
  Value* wrapped =
      n.b.op("where", {n.b.op("lt", {index, zero}),
                       n.b.add(index, n.b.scalar(DType::i64, static_cast<double>(depth))), index});
  Shape shape = index->shape();
  shape[static_cast<size_t>(axis)] = depth;
  Value* place = n.b.op("iota", {}, {{"size", shape}, {"dim", axis}});
  const auto value = [&](int64_t k) {
    return n.b.op("select", {values}, {{"dim", 0}, {"index", k}});
  };
  return {n.b.op("where", {n.b.op("eq", {place, wrapped}), value(1), value(0)})};
}

constexpr Rule kRules[] = {
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"OneHot", one_hot},
};

}  // namespace

std::span<const Rule> indexing_rules() { return kRules; }

}  // namespace tcc::onnx
