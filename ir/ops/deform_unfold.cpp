#include <cmath>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_unfold.h"
#include "support/error.h"

namespace tcc::ir::ops::op_deform_unfold {
namespace {

enum Operand : size_t { kX, kOffset, kMask };

std::vector<Type> infer(const InferContext& context) {
  const Type& x = *context.inputs[kX];
  const int spatial = window_rank(context.node);
  for (size_t k = 0; k < context.inputs.size(); ++k) {
    require_float(context, k);
    context.require(!context.inputs[k] || context.inputs[k]->dtype == x.dtype,
                    "x, offset and mask must have one dtype");
  }
  context.require(spatial >= 1 && static_cast<int>(x.shape.size()) == spatial + 2,
                  "x must be [N, C, ...] with as many spatial dims as kernel_size has entries");
  const Columns columns = columns_of(context, spatial_dims(x.shape, spatial));
  const Shape& offset = context.inputs[kOffset]->shape;
  const int64_t taps = product(columns.kernel).value(), per_group = taps * spatial;
  context.require(
      offset.size() == x.shape.size() && offset[1].divisible_by(per_group),
      str("offset must be [N, groups * ", per_group, ", ...], not ", shape_text(offset)));
  const SymInt groups = floordiv(offset[1], per_group);
  context.require(
      groups.is_const() && groups.value() >= 1 && x.shape[1].divisible_by(groups.value()),
      str("the ", groups, " groups of offset do not divide ", x.shape[1], " channels"));
  const auto placed = [&](const SymInt& channels) {
    Shape shape = {x.shape[0], channels};
    shape.insert(shape.end(), columns.places.begin(), columns.places.end());
    return shape;
  };
  require_shape(context, kOffset, placed(groups * per_group), "[N, groups * taps * dims, places]");
  require_shape(context, kMask, placed(groups * taps), "[N, groups * taps, places]");
  Shape out = {x.shape[0], x.shape[1], SymInt(taps)};
  out.insert(out.end(), columns.places.begin(), columns.places.end());
  return {{x.dtype, checked_shape(context, std::move(out))}};
}

// An element on either side of a position, or none, with its weight.
struct Side {
  SymInt index;
  Expr weight;  // 0 where there is none
};

std::vector<Side> sides(ElementContext& context, const Expr& at, const SymInt& extent) {
  const auto number = [&](double value) { return constant(at->dtype, value); };
  const Expr zero = number(0), one = number(1);
  const Expr last = extent.is_const() ? number(static_cast<double>(extent.value() - 1))
                                      : cast(index_value(extent - 1), at->dtype);
  const Expr first = call(Fn::floor, {at}), t = sub(at, first);
  const auto side = [&](const Expr& whole, const Expr& weight) -> Side {
    const Expr inside =
        call(Fn::logical_and, {call(Fn::ge, {whole, zero}), call(Fn::le, {whole, last})});
    const Expr near = call(Fn::minimum, {call(Fn::maximum, {whole, zero}), last});
    return {context.indirect(cast(near, DType::i64), extent), select(inside, weight, zero)};
  };
  return {side(first, sub(one, t)), side(add(first, one), t)};
}

Expr blend(ElementContext& context, const std::vector<std::vector<Side>>& dims,
           std::vector<SymInt>& at, size_t d) {
  if (d == dims.size()) return context.operand(kX, at);
  Expr sum;
  for (const Side& side : dims[d]) {
    at[d + 2] = side.index;
    const Expr value = blend(context, dims, at, d + 1);
    // An element that does not exist adds nothing, even beside an infinite one.
    const Expr none = constant(value->dtype, 0);
    const Expr part = select(call(Fn::eq, {side.weight, none}), none, mul(side.weight, value));
    sum = sum ? add(sum, part) : part;
  }
  return sum;
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Shape& x = context.operand_type(kX).shape;
  const int spatial = window_rank(context.node());
  const Columns columns = columns_of(context.node(), spatial_dims(x, spatial));
  const SymInt taps = product(columns.kernel);
  const SymInt groups = floordiv(context.operand_type(kOffset).shape[1], taps * spatial);
  const SymInt group = floordiv(index[1], floordiv(x[1], groups));
  const SymInt tap = group * taps + index[2];
  const auto k = delinearize(index[2], columns.kernel);
  const auto o = index.subspan(3);
  const auto placed = [&](size_t operand, const SymInt& channel) {
    std::vector<SymInt> at = {index[0], channel};
    at.insert(at.end(), o.begin(), o.end());
    return context.operand(static_cast<int>(operand), at);
  };
  std::vector<std::vector<Side>> dims;
  for (int64_t d = 0; d < spatial; ++d) {
    const auto dim = static_cast<size_t>(d);
    const Expr moved = placed(kOffset, tap * spatial + d);
    const SymInt start = columns.windows[dim].position(o[dim], k[dim]);
    const Expr at = add(cast(index_value(start), moved->dtype), moved);
    dims.push_back(sides(context, at, columns.extents[dim]));
  }
  std::vector<SymInt> at = {index[0], index[1]};
  at.resize(x.size());
  const Expr value = blend(context, dims, at, 0);
  return context.node().inputs.size() > kMask && context.node().inputs[kMask]
             ? mul(placed(kMask, tap), value)
             : value;
}

// x at a position of one plane, zero beside it: the sum over all corners.
double sample(const RefTensor& x, int64_t plane, std::span<const double> at) {
  double sum = 0;
  for (size_t corner = 0; corner < size_t{1} << at.size(); ++corner) {
    double weight = 1;
    int64_t place = plane;
    bool inside = true;
    for (size_t d = 0; d < at.size(); ++d) {
      const double low = std::floor(at[d]), whole = low + static_cast<double>(corner >> d & 1);
      weight *= 1 - std::fabs(at[d] - whole);
      inside &= whole >= 0 && whole < static_cast<double>(x.shape[d + 2]);
      place = place * x.shape[d + 2] + (inside ? static_cast<int64_t>(whole) : 0);
    }
    if (inside && weight != 0) sum += weight * x.f[static_cast<size_t>(place)];
  }
  return sum;
}

void reference(EvalContext& context) {
  const RefTensor &x = *context.inputs[kX], &offset = *context.inputs[kOffset];
  const RefTensor* mask = context.inputs.size() > kMask ? context.inputs[kMask] : nullptr;
  RefTensor& out = context.outputs[0];
  const auto spatial = static_cast<size_t>(window_rank(context.node));
  const Columns columns = columns_of(context.node, Shape(x.shape.begin() + 2, x.shape.end()));
  std::vector<int64_t> kernel;
  for (const SymInt& k : columns.kernel) kernel.push_back(k.value());
  const int64_t taps = count_of(kernel), dims = static_cast<int64_t>(spatial);
  const int64_t groups = offset.shape[1] / (taps * dims);
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t to) {
    const auto o = index.subspan(3);
    const auto k = index_of(index[2], kernel);
    const int64_t tap = index[1] / (x.shape[1] / groups) * taps + index[2];
    const auto placed = [&](const RefTensor& tensor, int64_t channel) {
      std::vector<int64_t> at = {index[0], channel};
      at.insert(at.end(), o.begin(), o.end());
      return tensor.f[static_cast<size_t>(offset_of(at, tensor.shape))];
    };
    std::vector<double> at;
    for (size_t d = 0; d < spatial; ++d) {
      const Window& w = columns.windows[d];
      at.push_back(static_cast<double>(o[d] * w.stride - w.padding_lo + k[d] * w.dilation) +
                   placed(offset, tap * dims + static_cast<int64_t>(d)));
    }
    const double value = sample(x, index[0] * x.shape[1] + index[1], at);
    out.f[static_cast<size_t>(to)] = mask ? placed(*mask, tap) * value : value;
  });
}

}  // namespace

OpDef make() {
  OpDef op = column_op("deform_unfold");
  op.operands = {"x", "offset", "mask?"};
  op.doc =
      "The windows of x [N, C, ...] with each tap moved by `offset` [N, groups * taps * dims, "
      "places], between elements, times `mask` [N, groups * taps, places]: [N, C, taps, places]; "
      "what deform_conv2d is made of";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  using enum DType;
  op.samples = {
      {{{f32, {2, 4, 5, 6}}, {f32, {2, 8, 4, 5}}}, {{"kernel_size", ints({2, 2})}}},
      {{{f32, {1, 4, 5, 6}}, {f32, {1, 36, 3, 3}}, {f32, {1, 18, 3, 3}}},
       {{"kernel_size", ints({3, 3})}, {"stride", 2}, {"padding", ints({1, 1, 1, 0})}}},
      {{{f32, {1, 2, 7}}, {f32, {1, 2, 5}}}, {{"kernel_size", ints({2})}, {"dilation", 2}}},
      {{{f16, {1, 2, 4, 4}}, {f16, {1, 8, 3, 3}}}, {{"kernel_size", ints({2, 2})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_deform_unfold
