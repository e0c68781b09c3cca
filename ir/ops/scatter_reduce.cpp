#include <algorithm>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_movement.h"
#include "ir/ops/_scatter.h"

namespace tcc::ir::ops::op_scatter_reduce {
namespace {

bool is_mean(const Node& node) { return node.attr<std::string>("reduce") == "mean"; }

// This works like scatter_add: every element of the output reads all indices along `dim`, in order.
Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Node& node = context.node();
  const Expr x = context.operand(0, index);
  const auto scattered = scattered_source(context, index);
  if (!scattered) return x;
  const ReduceKind kind = scatter_kind(node.attr<std::string>("reduce"));
  const bool with_self = node.attr<bool>("include_self"), mean = is_mean(node);
  const Expr src = context.operand(2, scattered->index);
  const Expr nothing = scatter_identity(kind, src->dtype);
  Expr result = reduce(kind, {scattered->axis}, select(scattered->hit, src, nothing));
  if (with_self) result = scatter_fold(kind, x, result);
  if (with_self && !mean) return result;
  const Expr hits = reduce(ReduceKind::sum, {scattered->axis}, cast(scattered->hit, DType::i64));
  const Expr one = constant_int(DType::i64, 1);
  if (mean) {
    const Expr count =
        converted(with_self ? add(hits, one) : maximum(hits, one), context.operand_type(0).dtype);
    result = call(is_float(result->dtype) ? Fn::div : Fn::floordiv, {result, count});
  }
  return with_self ? result : select(less(hits, one), x, result);
}

void reference(EvalContext& context) {
  const ReduceKind kind = scatter_kind(context.node.attr<std::string>("reduce"));
  const bool with_self = context.node.attr<bool>("include_self");
  RefTensor& out = context.outputs[0];
  std::vector<int64_t> counts(static_cast<size_t>(out.numel()), with_self ? 1 : 0);
  scatter(context, [&](RefTensor& to_tensor, size_t to, const RefTensor& src, size_t from) {
    if (counts[to]++ == 0)
      copy_element(src, static_cast<int64_t>(from), to_tensor, static_cast<int64_t>(to));
    else
      scatter_fold(kind, to_tensor, to, src, from);
  });
  if (!is_mean(context.node)) return;
  for (size_t k = 0; k < counts.size(); ++k) {
    if (out.is_float())
      out.f[k] /= static_cast<double>(std::max<int64_t>(counts[k], 1));
    else
      out.i[k] = floor_quotient(out.dtype, out.i[k], std::max<int64_t>(counts[k], 1));
  }
}

}  // namespace

OpDef make() {
  OpDef op = scatter_op("scatter_reduce",
                        "x with src[i] combined by `reduce` into index[i] along `dim`; x itself "
                        "takes part if `include_self`; torch.scatter_reduce");
  op.attrs.push_back(
      {"reduce", AttrType::text, std::nullopt, {"sum", "prod", "mean", "amax", "amin"}});
  op.attrs.push_back({"include_self", AttrType::boolean, true});
  op.element = element;
  op.reference = reference;
  std::vector<OpSample> samples;
  const char* reductions[] = {"sum", "prod", "mean", "amax", "amin"};
  for (size_t k = 0; k < 5; ++k) {
    for (const bool with_self : {true, false}) {
      OpSample sample = op.samples[(k + (with_self ? 0 : 1)) % op.samples.size()];
      sample.attrs["reduce"] = std::string(reductions[k]);
      sample.attrs["include_self"] = with_self;
      samples.push_back(sample);
    }
  }
  using enum DType;
  samples.push_back({.inputs = {{i32, {8, 3}}, {i64, {9, 3}}, {i32, {9, 3}}},
                     .attrs = {{"dim", 0}, {"reduce", "mean"}}});
  samples.push_back({.inputs = {{u8, {8}}, {i64, {12}}, {u8, {12}}},
                     .attrs = {{"dim", 0}, {"reduce", "amin"}, {"include_self", false}}});
  op.samples = samples;
  return op;
}

}  // namespace tcc::ir::ops::op_scatter_reduce
