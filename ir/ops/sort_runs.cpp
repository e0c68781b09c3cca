// The primitive that sorting is made of. Long rows take several of them: one that sorts short runs,
// then such as merge pairs of sorted runs (scheduler/split_sort.cpp).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "ir/ops/_index_loop.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_movement.h"
#include "ir/ops/_reduction.h"
#include "support/error.h"

namespace tcc::ir::ops::op_sort_runs {
namespace {

// Elements that are left of one of `run` elements when `keep` of each run are kept.
int64_t kept(int64_t keep, int64_t run) { return keep == 0 ? run : std::min(keep, run); }

std::vector<Type> infer(const InferContext& context) {
  Type values = *context.inputs[0];
  const bool has_indices = context.inputs.size() > 1 && context.inputs[1];
  context.require(values.dtype != DType::boolean, "is not defined for bool");
  context.require(!values.shape.empty(), "x must have a dim");
  if (has_indices) {
    const Type& indices = *context.inputs[1];
    context.require(indices.dtype == DType::i32 || indices.dtype == DType::i64,
                    str("indices must be i32 or i64, not ", name(indices.dtype)));
    context.require(indices.shape == values.shape,
                    str("indices of shape ", shape_text(indices.shape), " for x of shape ",
                        shape_text(values.shape)));
  }
  const DType index = context.node.attr<DType>("index");
  context.require(index == DType::i32 || index == DType::i64, "index must be i32 or i64");
  const int64_t run = context.node.attr<int64_t>("run"), keep = context.node.attr<int64_t>("keep"),
                sorted = context.node.attr<int64_t>("sorted");
  context.require(run >= 0 && keep >= 0 && sorted >= 0, "run, keep and sorted are counts");
  context.require(sorted == 0 || run == 2 * sorted, "two sorted runs become one run");
  const int dim = dim_attr(context, "dim", static_cast<int>(values.shape.size()));
  SymInt& extent = values.shape[static_cast<size_t>(dim)];
  constexpr int64_t limit = std::numeric_limits<int32_t>::max();
  context.require(!extent.is_const() || extent.value() <= limit,
                  str("a row of ", extent.to_string(), " elements is too long to sort"));
  if (run == 0) {
    context.require(!extent.is_const() || keep <= extent.value(),
                    str("keep ", keep, " of only ", extent.to_string(), " elements"));
    if (keep > 0) extent = keep;
  } else {
    context.require(extent.is_const(), "runs are of a known extent");
    const int64_t rest = extent.value() % run;
    extent = extent.value() / run * kept(keep, run) + kept(keep, rest);
  }
  return {values, {index, values.shape}};
}

// Returns whether element `a` comes before element `b` wherever they stand.
bool comes_before(const RefTensor& x, bool descending, size_t a, size_t b) {
  if (descending) std::swap(a, b);
  if (!x.is_float()) return three_way(x.dtype, x.i[a], x.i[b]) < 0;
  return x.f[a] < x.f[b] || (!std::isnan(x.f[a]) && std::isnan(x.f[b]));
}

void reference(EvalContext& context) {
  const RefTensor& x = *context.inputs[0];
  const RefTensor* given = context.inputs.size() > 1 ? context.inputs[1] : nullptr;
  RefTensor &values = context.outputs[0], &indices = context.outputs[1];
  const bool descending = context.node.attr<bool>("descending");
  const int64_t keep = context.node.attr<int64_t>("keep");
  const auto dim = dim_attr(context.node, "dim", static_cast<int>(x.shape.size()));
  const int dims[] = {dim};
  const int64_t stride = strides_of(x.shape)[static_cast<size_t>(dim)];
  const int64_t out_extent = values.shape[static_cast<size_t>(dim)];
  for_each_reduction(x, dims, [&](int64_t, int64_t base, std::span<const int64_t> offsets) {
    const auto extent = static_cast<int64_t>(offsets.size());
    const int64_t run = context.node.attr<int64_t>("run");
    const int64_t length = run == 0 ? std::max<int64_t>(extent, 1) : run;
    // The row's first element in the outputs, which differ in this dim alone.
    int64_t to = extent == 0 ? 0 : base / (stride * extent) * stride * out_extent + base % stride;
    for (int64_t start = 0; start < extent; start += length) {
      std::vector<int64_t> order(static_cast<size_t>(std::min(length, extent - start)));
      std::iota(order.begin(), order.end(), start);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return comes_before(x, descending, static_cast<size_t>(base + a * stride),
                            static_cast<size_t>(base + b * stride));
      });
      order.resize(static_cast<size_t>(kept(keep, static_cast<int64_t>(order.size()))));
      for (const int64_t position : order) {
        const int64_t from = base + position * stride;
        copy_element(x, from, values, to);
        indices.i[static_cast<size_t>(to)] = given ? given->i[static_cast<size_t>(from)] : position;
        to += stride;
      }
    }
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "sort_runs";
  op.kind = OpKind::sort;
  op.operands = {"x", "indices?"};
  op.attrs = {{"dim", AttrType::integer, int64_t{-1}},   {"descending", AttrType::boolean, false},
              {"run", AttrType::integer, int64_t{0}},    {"keep", AttrType::integer, int64_t{0}},
              {"sorted", AttrType::integer, int64_t{0}}, {"index", AttrType::dtype, DType::i64}};
  op.results = {"values", "indices"};
  op.doc =
      "Of every `run` elements along dim (0: of all), the first `keep` (0: all) in order, NaN "
      "greatest, equal ones in the order they have, with their indices (positions, unless given); "
      "`sorted`: runs of that length are in order already";
  op.tie_sensitive = true;
  op.infer = infer;
  op.reference = reference;
  using enum DType;
  op.samples = {
      {.inputs = {{f32, {3, 50}}}},
      {.inputs = {{f32, {3, 50}}}, .attrs = {{"run", 16}}},
      {.inputs = {{i32, {2, 37}}}, .attrs = {{"run", 8}, {"keep", 3}, {"index", i32}}},
      {.inputs = {{f16, {20, 3}}, {i32, {20, 3}}},
       .attrs = {{"dim", 0}, {"descending", true}, {"keep", 5}}},
      {.inputs = {{f32, {2, 0}}}},
      {.inputs = {{f32, {0, 5}}}, .attrs = {{"keep", 2}}},
      {.inputs = {{f32, {4, 1}}}},
      // All runs of one element are sorted.
      {.inputs = {{f32, {3, 9}}}, .attrs = {{"run", 2}, {"sorted", 1}}},
      {.inputs = {{f32, {9, 3}}, {i64, {9, 3}}},
       .attrs = {{"dim", 0}, {"run", 2}, {"sorted", 1}, {"descending", true}, {"keep", 1}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_sort_runs
