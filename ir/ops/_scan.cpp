#include "ir/ops/_scan.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "ir/ops/_attributes.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_reduction.h"

namespace tcc::ir::ops {
namespace {

double fold_term(ReduceKind kind, double a, double b) {
  return kind == ReduceKind::sum ? a + b : a * b;
}
int64_t fold_term(ReduceKind kind, int64_t a, int64_t b) {
  return kind == ReduceKind::sum ? wrapping_add(a, b) : wrapping_mul(a, b);
}

template <class T>
void scan_line(const Node& node, ReduceKind kind, const std::vector<T>& from, std::vector<T>& to,
               int64_t base, std::span<const int64_t> offsets) {
  const bool exclusive = node.attr<bool>("exclusive"), reverse = node.attr<bool>("reverse");
  T total = kind == ReduceKind::sum ? 0 : 1;
  for (size_t k = 0; k < offsets.size(); ++k) {
    const size_t step = reverse ? offsets.size() - 1 - k : k;
    const auto at = static_cast<size_t>(base + offsets[step]);
    const T before = total;
    total = fold_term(kind, total, from[at]);
    to[at] = exclusive ? before : total;
  }
}

void reference(EvalContext& context, ReduceKind kind) {
  const RefTensor& x = *context.inputs[0];
  RefTensor& out = context.outputs[0];
  const int rank = static_cast<int>(x.shape.size());
  std::vector<int> dims;  // none in a tensor without dims: a line of one element
  if (rank > 0) dims.push_back(dim_attr(context.node, "dim", rank));
  for_each_reduction(x, dims, [&](int64_t, int64_t base, auto offsets) {
    if (x.is_float())
      scan_line(context.node, kind, x.f, out.f, base, offsets);
    else
      scan_line(context.node, kind, x.i, out.i, base, offsets);
  });
}

}  // namespace

OpDef scan_op(std::string name, ReduceKind kind, std::string doc, double lo, double hi) {
  OpDef op;
  op.name = std::move(name);
  op.kind = OpKind::scan;
  op.operands = {"x"};
  op.attrs = {{"dim", AttrType::integer, std::nullopt},
              {"exclusive", AttrType::boolean, false},
              {"reverse", AttrType::boolean, false}};
  op.doc = std::move(doc);
  op.reduction = kind;
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const Type& x = *context.inputs[0];
    dim_attr(context, "dim", std::max(1, static_cast<int>(x.shape.size())));
    return {{accumulated_dtype(x.dtype), x.shape}};
  };
  op.reference = [kind](EvalContext& context) { reference(context, kind); };
  using enum DType;
  op.samples = {
      {{{f32, {5, 7}}}, {{"dim", 1}}},
      {{{f32, {33, 4}}}, {{"dim", 0}}},
      {{{f32, {2, 1, 6}}}, {{"dim", 1}}},
      {{{f32, {3, 0}}}, {{"dim", -1}}},
      {{{f32, Shape{}}}, {{"dim", 0}, {"exclusive", true}}},
      {{{f16, {3, 20}}}, {{"dim", 1}}},
      {{{f32, {3, 70}}}, {{"dim", 1}, {"exclusive", true}}},
      {{{f32, {67, 3}}}, {{"dim", 0}, {"reverse", true}}},
      {{{bf16, {2, 40}}}, {{"dim", -1}, {"exclusive", true}, {"reverse", true}}},
      {{{i32, {4, 9}}}, {{"dim", 1}}, -2, 2, -3, 4},
      {{{boolean, {3, 12}}}, {{"dim", 1}, {"reverse", true}}, -2, 2, 0, 2},
  };
  for (OpSample& sample : op.samples) std::tie(sample.lo, sample.hi) = std::pair(lo, hi);
  return op;
}

}  // namespace tcc::ir::ops
