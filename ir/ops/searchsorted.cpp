#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_indexing.h"
#include "ir/ops/_integers.h"
#include "ir/size_range.h"
#include "support/error.h"

namespace tcc::ir::ops::op_searchsorted {
namespace {

// One sorted row for all values, or a row for each of theirs.
bool is_shared(const Shape& sorted) { return sorted.size() == 1; }

std::vector<Type> infer(const InferContext& context) {
  const Type &sorted = *context.inputs[0], &values = *context.inputs[1];
  context.require(sorted.dtype == values.dtype,
                  str("sorted is ", name(sorted.dtype), " but values ", name(values.dtype)));
  context.require(sorted.dtype != DType::boolean, "is not defined for bool");
  context.require(!sorted.shape.empty(), "sorted must have a dim");
  bool fits = is_shared(sorted.shape) || sorted.shape.size() == values.shape.size();
  for (size_t d = 0; fits && d + 1 < sorted.shape.size(); ++d)
    fits = !sorted.shape[d].is_const() || !values.shape[d].is_const() ||
           sorted.shape[d] == values.shape[d];
  context.require(fits,
                  str("sorted of shape ", shape_text(sorted.shape),
                      " has no row for each row of values of shape ", shape_text(values.shape)));
  return {{DType::i64, values.shape}};
}

// A search of a row of at most so many elements in steps of 2^bits elements, then of 2^bits as
// many less, and so on.
struct Search {
  int levels = 1, bits = 0;
  explicit Search(int64_t most) {
    constexpr int kMostLevels = 4;  // the walks over an expression double with each
    constexpr int kBits = 5;
    const int width = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(most, 1)));
    levels = std::min(kMostLevels, (width + kBits - 1) / kBits);
    bits = (width + levels - 1) / levels;
  }
  int64_t step(int level) const { return int64_t{1} << (bits * (levels - 1 - level)); }
};

// Returns how many elements of the row come before the value: the last element of each piece tells
// whether all of it does. In a NaN's order, which is the last, as `sort` has it.
Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Shape& sorted = context.operand_type(0).shape;
  const bool right = context.node().attr<bool>("right");
  const SymInt length = sorted.back();
  const int64_t most = std::min(length.range().hi, kMostSize);
  const Expr value = context.operand(1, index);
  std::vector<SymInt> row;
  if (!is_shared(sorted)) row.assign(index.begin(), index.end() - 1);
  row.emplace_back();
  const auto comes_before = [&](const SymInt& place) {
    row.back() = place;
    const Expr x = context.operand(0, row);
    Expr before = call(right ? Fn::le : Fn::lt, {x, value});
    if (is_float(value->dtype)) {
      const Expr value_nan = unary(Fn::isnan, value), x_nan = unary(Fn::isnan, x);
      const Expr behind =
          right ? value_nan : call(Fn::logical_and, {value_nan, unary(Fn::logical_not, x_nan)});
      before = call(Fn::logical_or, {before, behind});
    }
    return before;
  };
  const Search search(most);
  SymInt skipped = 0;
  for (int level = 0; level < search.levels; ++level) {
    const int64_t step = search.step(level);
    const SymInt pieces = min(ceildiv(length, step), int64_t{1} << search.bits);
    if (pieces.is(0)) return constant(DType::i64, 0);
    const SymInt axis = context.new_axis(pieces);
    // Past the end the last element stands for all: then the whole row comes before the value.
    const SymInt last = min(skipped + axis * step + (step - 1), length - 1);
    const Expr count = reduce(ReduceKind::sum, {axis}, cast(comes_before(last), DType::i64));
    const Expr next = call(
        Fn::minimum,
        {add(index_value(skipped), mul(count, constant(DType::i64, static_cast<double>(step)))),
         index_value(length)});
    if (level + 1 == search.levels) return next;
    skipped = SymInt::indirect("skipped", next, {0, most});
  }
  return index_value(skipped);
}

void reference(EvalContext& context) {
  const RefTensor &sorted = *context.inputs[0], &values = *context.inputs[1];
  const bool right = context.node.attr<bool>("right"), shared = sorted.shape.size() == 1;
  const int64_t length = sorted.shape.back();
  for_each_index(values.shape, [&](std::span<const int64_t>, int64_t offset) {
    const auto at = static_cast<size_t>(offset);
    const int64_t row = shared ? 0 : offset / values.shape.back();
    const auto comes_before = [&](int64_t k) {
      const auto from = static_cast<size_t>(row * length + k);
      int order = 0;  // of the row's element and the value
      if (sorted.is_float()) {
        const double a = sorted.f[from], b = values.f[at];
        order = std::isnan(a) || std::isnan(b) ? std::isnan(a) - std::isnan(b) : (a > b) - (a < b);
      } else {
        order = three_way(sorted.dtype, sorted.i[from], values.i[at]);
      }
      return order < 0 || (right && order == 0);
    };
    int64_t count = 0;
    while (count < length && comes_before(count)) ++count;
    context.outputs[0].i[at] = count;
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "searchsorted";
  op.operands = {"sorted", "values"};
  op.attrs = {{"right", AttrType::boolean, false}};
  op.doc =
      "Where each value would go in its ascending row (the last dim of sorted, or its only one): "
      "before equal elements, behind them if `right`; i64; torch.searchsorted";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  using enum DType;
  // Rows must be sorted: these have equal elements.
  op.samples = {{.inputs = {{f32, {17}}, {f32, {3, 5}}}, .lo = 1, .hi = 1 + 1e-9},
                {.inputs = {{i32, {2, 9}}, {i32, {2, 7}}}, .attrs = {{"right", true}}, .int_hi = 1},
                {.inputs = {{f16, {6}}, {f16, Shape{}}}, .lo = 1, .hi = 1 + 1e-9},
                {.inputs = {{f32, {3, 0}}, {f32, {3, 4}}}},
                {.inputs = {{i64, {4, 1000}}, {i64, {4, 3}}}, .int_hi = 1},
                {.inputs = {{u8, {9}}, {u8, {0}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_searchsorted
