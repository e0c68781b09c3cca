#include "ir/counted_dims.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_counted.h"
#include "ir/ops/_sort.h"
#include "support/error.h"

namespace tcc::ir::ops::op_unique {
namespace {

constexpr int64_t kMostColumns = 256;  // each is sorted by

// x's shape as rows, n of `width` elements each.
struct Rows {
  SymInt n, width = 1;
};

Rows rows_of(const Shape& x, std::optional<int> dim) {
  if (!dim) return {product(x)};
  Shape rest = x;
  rest.erase(rest.begin() + *dim);
  return {x[static_cast<size_t>(*dim)], product(rest)};
}

std::vector<Type> infer(const InferContext& context) {
  const Type& x = *context.inputs[0];
  const std::optional<int> dim = optional_dim(context, static_cast<int>(x.shape.size()));
  const auto [n, width] = rows_of(x.shape, dim);
  context.require(!width.is_const() || width.value() <= kMostColumns,
                  str("slices along dim ", dim.value_or(0), " have ", width, " elements; at most ",
                      kMostColumns, " are supported, as each is sorted by"));
  const SymInt size = counted_size(context);
  Type values = x;
  if (!dim) values.shape = {0};
  values.shape[static_cast<size_t>(dim.value_or(0))] = size;
  const Type numbers{DType::i64, {size}};
  return {values, numbers, {DType::i64, {n}}, numbers};
}

// Rows by their order: `order` (i64 [n]) has the rows' places in x, of equal ones the first first.
Value* order_of(Builder& b, Value* rows, int64_t width) {
  Value* order = nullptr;
  for (int64_t column = width; column-- > 0;) {
    Value* keys = b.reshape(b.slice(rows, 1, column, column + 1), {rows->shape()[0]});
    if (order) keys = select_places(b, keys, 0, order);
    Value* next = sorted_along(b, keys, 0, false, 0)[1];
    order = order ? select_places(b, order, 0, next) : next;
  }
  return order ? order : b.op("iota", {}, {{"size", shape_attr({rows->shape()[0]})}});
}

// bool [n]: whether the row differs from the one before it. NaN equals NaN.
Value* starts_of(Builder& b, Value* rows) {
  Value* numbers = b.op("iota", {}, {{"size", shape_attr({rows->shape()[0]})}});
  Value* one = b.scalar(DType::i64, 1);
  Value* before = b.op("maximum", {b.sub(numbers, one), b.scalar(DType::i64, 0)});
  Value* previous = select_places(b, rows, 0, before);
  Value* differs = b.op("ne", {rows, previous});
  if (is_float(rows->dtype())) {
    Value* both_nan = b.op("logical_and", {b.unary("isnan", rows), b.unary("isnan", previous)});
    differs = b.op("logical_and", {differs, b.unary("logical_not", both_nan)});
  }
  return b.op("logical_or", {b.reduce("any", differs, {1}), b.op("lt", {numbers, one})});
}

std::vector<Value*> compose(Builder& b, const Node& node) {
  Value* x = node.inputs[0];
  const std::optional<int> dim = optional_dim(node, x->rank());
  const auto [n, width] = rows_of(x->shape(), dim);
  if (!width.is_const()) return {};
  if (!dim) x = b.reshape(x, {n});
  Value* front = x;
  if (dim.value_or(0) != 0)
    front = b.op("movedim", {x}, {{"source", ints({*dim})}, {"destination", ints({0})}});
  Value* rows = b.reshape(front, {n, width});

  const auto at = [&](Value* values, Value* places) { return select_places(b, values, 0, places); };
  Value* order = order_of(b, rows, width.value());
  Value* starts = starts_of(b, at(rows, order));
  Value* place = sorted_along(b, order, 0, false, 0)[1];  // of each row of x in the order
  // The group of each row in the order, counted from 1.
  Value* groups = b.op("cumsum", {b.cast(starts, DType::i64)}, {{"dim", int64_t{0}}});
  const auto start_of = [&](Value* group) { return b.op("searchsorted", {groups, group}); };
  const auto end_of = [&](Value* group) {
    return b.op("searchsorted", {groups, group}, {{"right", true}});
  };
  Value* one = b.scalar(DType::i64, 1);

  Value *first, *inverse, *group;  // of each result: its first row in x; of each row: its result
  if (node.attr<bool>("sorted")) {
    Value* found = places_of(b, starts, size_of(node));
    first = at(order, found);
    group = at(groups, found);
    inverse = b.sub(at(groups, place), one);
  } else {
    Value* is_first = at(starts, place);
    first = places_of(b, is_first, size_of(node));
    group = at(groups, at(place, first));
    Value* numbers = b.op("cumsum", {b.cast(is_first, DType::i64)}, {{"dim", int64_t{0}}});
    Value* first_alike = at(order, start_of(at(groups, place)));
    inverse = b.sub(at(numbers, first_alike), one);
  }
  Value* counts = b.sub(end_of(group), start_of(group));
  return {select_places(b, x, dim.value_or(0), first), first, inverse, counts};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "unique";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {counted_size_attr(), {"sorted", AttrType::boolean, true}, optional_dim_attr()};
  op.results = {"values", "indices", "inverse", "counts"};
  op.doc =
      "The different elements of the flattened x, or slices along dim, ascending (slices by their "
      "first difference) or in the order of their first occurrence; where each occurs first, which "
      "of them every element is, and how often each occurs (i64); NaN equals NaN; each run counts "
      "them and gives the dim `size` their number; ONNX Unique";
  op.tie_sensitive = true;
  op.infer = infer;
  op.most_counted = [](const Node& node) {
    const Value* x = node.inputs[0];
    return rows_of(x->shape(), optional_dim(node, x->rank())).n;
  };
  op.compose = compose;
  using enum DType;
  const Attr size = shape_attr({SymInt::symbol("N")});
  const auto sample = [&](DType dtype, const Shape& shape, bool sorted, const Attrs& more = {}) {
    Attrs attrs = more;
    attrs["size"] = size;
    attrs["sorted"] = sorted;
    return OpSample{.inputs = {{dtype, shape}}, .attrs = attrs, .int_lo = -2, .int_hi = 2};
  };
  op.samples = {sample(i32, {50}, true),
                sample(i32, {3, 7}, false),
                sample(f32, {9}, true),
                sample(boolean, {2, 5}, false),
                sample(i64, {6, 2}, true, {{"dim", ints({0})}}),
                sample(i8, {2, 40, 2}, false, {{"dim", ints({1})}}),
                sample(f16, {3, 4}, true, {{"dim", ints({-1})}}),
                sample(i32, {0, 4}, true, {{"dim", ints({0})}}),
                sample(i32, {3, 0}, true, {{"dim", ints({0})}}),
                sample(i32, Shape{}, true)};
  return op;
}

}  // namespace tcc::ir::ops::op_unique
