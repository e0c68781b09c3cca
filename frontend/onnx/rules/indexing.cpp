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
  Value* indices = n.in(0);
  const TensorPtr depth = n.tensor(1);
  n.require(depth->numel() == 1 && depth->get(0) >= 0 && depth->get(0) < 0x1p53,
            "depth must be one number that is not negative");
  if (is_float(indices->dtype())) indices = n.b.cast(indices, DType::i64);
  return {n.b.op("one_hot", {indices, n.in(2)},
                 {{"num_classes", ir::ints({static_cast<int64_t>(depth->get(0))})},
                  {"dim", n.integer("axis", -1)}})};
}

Results gather_nd(OpNode& n) {
  return {n.b.op("gather_nd", {n.in(0), n.in(1)}, {{"batch_dims", n.integer("batch_dims", 0)}})};
}

// Bools are added and multiplied as "or" and "and": by way of integers.
Results scattered(OpNode& n, std::string_view op, const ir::Attrs& attrs, bool reduces) {
  Value *x = n.in(0), *updates = n.in(2);
  const DType dtype = x->dtype();
  if (reduces && dtype == DType::boolean) {
    x = n.b.cast(x, DType::i32);
    updates = n.b.cast(updates, DType::i32);
  }
  return {n.b.cast(n.b.op(op, {x, n.in(1), updates}, attrs), dtype)};
}

Results scatter_nd(OpNode& n) {
  const std::string reduction = n.text("reduction", "none");
  return scattered(n, "scatter_nd", {{"reduction", reduction}}, reduction != "none");
}

Results scatter_elements(OpNode& n) {
  const int64_t dim = n.axis(n.integer("axis", 0), n.in(0)->rank());
  const std::string reduction = n.text("reduction", "none");
  if (reduction == "none") return scattered(n, "scatter", {{"dim", dim}}, false);
  static constexpr std::pair<std::string_view, const char*> kinds[] = {
      {"add", "sum"}, {"mul", "prod"}, {"max", "amax"}, {"min", "amin"}};
  for (const auto& [name, reduce] : kinds)
    if (reduction == name)
      return scattered(n, "scatter_reduce", {{"dim", dim}, {"reduce", std::string(reduce)}}, true);
  n.fail("reduction must be none, add, mul, max or min");
}

constexpr Rule kIndexingRules[] = {
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"OneHot", one_hot},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
};

}  // namespace

std::span<const Rule> indexing_rules() { return kIndexingRules; }

}  // namespace tcc::onnx
