// Shapes as data: Shape, Size, Range, ConstantOfShape and constants.
#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/onnx/narrow_types.h"
#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

// The dims from `start` to `end`, which are clamped to the rank (opset 15).
Results shape(OpNode& n) {
  const Value* x = n.in(0);
  const int64_t rank = x->rank();
  const auto clamped = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = clamped(n.integer("start", 0)), end = clamped(n.integer("end", rank));
  std::vector<SymInt> dims;
  for (int64_t d = start; d < end; ++d) dims.push_back(x->shape()[static_cast<size_t>(d)]);
  return {n.dims_value(dims)};
}

Results size(OpNode& n) {
  const SymInt count = ir::product(n.in(0)->shape());
  return {scalar(n, count)};
}

Results constant(OpNode& n) {
  if (const pb::TensorProto* tensor = n.tensor_attr("value"))
    return {with_element_type(n.constant(*tensor), tensor->data_type())};
  if (n.has("value_int")) return {scalar(n, n.integer("value_int"))};
  if (n.has("value_ints")) return {n.constant_ints(n.ints_attr("value_ints"))};
  if (n.has("value_float")) return {n.b.scalar(DType::f32, n.number("value_float", 0))};
  if (n.has("value_floats")) {
    const std::vector<double> values = n.numbers_attr("value_floats");
    Tensor tensor(DType::f32, {static_cast<int64_t>(values.size())});
    for (size_t k = 0; k < values.size(); ++k) tensor.set(static_cast<int64_t>(k), values[k]);
    return {n.constant(std::make_shared<const Tensor>(std::move(tensor)))};
  }
  if (n.has("value_string") || n.has("value_strings"))
    n.fail("tensors of strings are not supported");
  if (n.has("sparse_value")) n.fail("sparse tensors are not supported");
  n.fail("has no value");
}

Results constant_of_shape(OpNode& n) {
  const std::vector<SymInt> dims = n.dims(0);
  Value* value = n.b.scalar(DType::f32, 0);
  int32_t data_type = pb::TensorProto::FLOAT;
  if (const pb::TensorProto* tensor = n.tensor_attr("value")) {
    value = n.constant(*tensor);
    data_type = tensor->data_type();
    n.require(ir::product(value->shape()).is(1), "value must be one element");
    value = n.b.reshape(value, {});
  }
  return {with_element_type(n.b.expand(value, dims), data_type)};
}

// start + k * delta. The length must be known; start and delta need not be.
Results range(OpNode& n) {
  Value *start = n.in(0), *delta = n.in(2);
  const DType dtype = start->dtype();
  // 16-bit floats are computed in f32; stash_type 11 says f64.
  const bool stashed = is_low_precision(dtype);
  const auto stash = stashed ? n.dtype_attr("stash_type").value_or(DType::f32) : dtype;
  if (!stashed) n.ignore("stash_type");
  n.require(!stashed || stash == DType::f32 || stash == DType::f64,
            "stash_type must be FLOAT or DOUBLE");
  SymInt length;
  const auto whole = [&](size_t k) { return n.whole_if_known(k); };
  if (is_float(dtype) && !(whole(0) && whole(1) && whole(2) && whole(2)->is_const())) {
    const double from = n.number_of(0), to = n.number_of(1), step = n.number_of(2);
    const double count = std::max(0.0, std::ceil((to - from) / step));
    n.require(count < 0x1p53, "has too many elements");
    length = static_cast<int64_t>(count);
  } else {
    const auto number = [&](size_t k) { return is_float(dtype) ? *whole(k) : n.dim_of(k); };
    const SymInt from = number(0), to = number(1), by = number(2);
    n.require(by.is_const(),
              str("delta must be a number, but is ", by, "; bind its dims (", n.dim_option(), ")"));
    const int64_t step = by.value();
    n.require(step != 0 && step != std::numeric_limits<int64_t>::min(),
              str("delta must not be ", step));
    const SymInt span = step > 0 ? to - from : from - to;
    length = ir::max(ir::ceildiv(span, step < 0 ? -step : step), 0);
  }
  const auto scalar = [&](Value* x) { return n.b.cast(n.b.reshape(x, {}), stash); };
  Value* place = n.b.op("iota", {}, {{"size", Shape{length}}, {"dim", 0}, {"dtype", stash}});
  return {n.b.cast(n.b.add(n.b.mul(place, scalar(delta)), scalar(start)), dtype)};
}

constexpr Rule kShapeRules[] = {
    {"Constant", constant}, {"ConstantOfShape", constant_of_shape},
    {"Range", range},       {"Shape", shape},
    {"Size", size},
};

}  // namespace

std::span<const Rule> shape_rules() { return kShapeRules; }

}  // namespace tcc::onnx
