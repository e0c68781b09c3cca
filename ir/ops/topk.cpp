#include <algorithm>
#include <optional>

#include "ir/ops/_attributes.h"
#include "ir/ops/_sort.h"
#include "support/error.h"

namespace tcc::ir::ops::op_topk {

OpDef make() {
  OpDef op;
  op.name = "topk";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"k", AttrType::integer, std::nullopt},
              {"dim", AttrType::integer, int64_t{-1}},
              {"largest", AttrType::boolean, true},
              {"sorted", AttrType::boolean, true}};
  op.results = {"values", "indices"};
  op.doc =
      "The k largest elements along dim, or the smallest, in order, and where they were; NaN is "
      "the greatest, of equal ones the first come first; torch.topk, ONNX TopK";
  op.tie_sensitive = true;
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    Type values = *context.inputs[0];
    const int rank = static_cast<int>(values.shape.size());
    const int dim = dim_attr(context, "dim", std::max(1, rank));
    const int64_t k = context.node.attr<int64_t>("k");
    const SymInt extent = rank == 0 ? SymInt(1) : values.shape[static_cast<size_t>(dim)];
    context.require(k >= 0, str("k must not be negative, but is ", k));
    context.require(!extent.is_const() || k <= extent.value(),
                    str("k is ", k, ", dim ", dim, " has ", extent.to_string(), " elements"));
    context.require(rank > 0 || k == 1, "k must be 1 for an x without dims");
    if (rank > 0) values.shape[static_cast<size_t>(dim)] = k;
    return {values, {DType::i64, values.shape}};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    const int dim = dim_attr(node, "dim", std::max(1, x->rank()));
    const int64_t k = node.attr<int64_t>("k");
    if (k == 0) {
      const Shape& none = node.outputs[0]->shape();
      return {b.splat(x->dtype(), none, 0), b.splat(DType::i64, none, 0)};
    }
    return sorted_along(b, x, dim, node.attr<bool>("largest"), k);
  };
  constexpr int64_t most = 5;
  op.samples = sort_samples(most);
  for (size_t n = 0; n < op.samples.size(); ++n) {
    op.samples[n].attrs["k"] = static_cast<int64_t>(n) % most + 1;
    op.samples[n].attrs["largest"] = n % 3 != 0;
  }
  using enum DType;
  op.samples.push_back({.inputs = {{f32, {3, 4}}}, .attrs = {{"k", 0}}});
  op.samples.push_back({.inputs = {{f32, {0, 4}}}, .attrs = {{"k", 2}, {"sorted", false}}});
  op.samples.push_back({.inputs = {{f32, Shape{}}}, .attrs = {{"k", 1}}});
  op.samples.push_back({.inputs = {{f32, {1, 70}}}, .attrs = {{"k", 64}}});
  return op;
}

}  // namespace tcc::ir::ops::op_topk
