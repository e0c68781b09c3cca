#include "ir/ops/_convolution.h"

#include <algorithm>

#include "ir/ops/_attributes.h"
#include "ir/ops/_gemm.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_operands.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

using Indices = std::span<const SymInt>;

ConvolutionGeometry make_geometry(const std::vector<int64_t>& kernel,
                                  const std::vector<int64_t>& stride,
                                  const std::vector<int64_t>& padding,
                                  const std::vector<int64_t>& dilation,
                                  const std::vector<int64_t>& input_dilation, int64_t groups) {
  ConvolutionGeometry geometry;
  for (size_t d = 0; d < kernel.size(); ++d)
    geometry.windows.push_back(
        {kernel[d], stride[d], dilation[d], padding[2 * d], padding[2 * d + 1]});
  geometry.input_dilation = input_dilation;
  geometry.groups = groups;
  return geometry;
}

// The part of the im2col matrix [C/g * kernel, positions] of one image and group whose columns are
// the output positions [first, last). Row-major.
template <class T>
void im2col(const ConvolutionGeometry& geometry, std::span<const int64_t> in_shape,
            std::span<const int64_t> out_shape, std::span<const int64_t> kernel_shape,
            int64_t channels, const T* image, int64_t first, int64_t last, T* columns) {
  const size_t rank = in_shape.size();
  const int64_t width = last - first, image_size = count_of(in_shape);
  const int64_t rows = channels * count_of(kernel_shape);
  const auto strides = strides_of(in_shape);
  parallel_for(0, rows, 1, [&](int64_t row_first, int64_t row_last) {
    for (int64_t row = row_first; row < row_last; ++row) {
      const int64_t taps = count_of(kernel_shape);
      const auto k = index_of(row % taps, kernel_shape);
      auto o = index_of(first, out_shape);
      for (int64_t column = 0; column < width; ++column, advance(o, out_shape)) {
        int64_t offset = row / taps * image_size;
        bool inside = true;
        for (size_t d = 0; d < rank && inside; ++d) {
          const Window& w = geometry.windows[d];
          const int64_t position = o[d] * w.stride - w.padding_lo + k[d] * w.dilation;
          const int64_t spread = geometry.input_dilation[d];
          inside = position >= 0 && position % spread == 0 && position / spread < in_shape[d];
          if (inside) offset += position / spread * strides[d];
        }
        columns[row * width + column] = inside ? image[offset] : T{0};
      }
    }
  });
}

// Computes the convolution by matrix products; multiply(m, n, k, ...) is like gemm().
template <class T, class Multiply>
void convolve(const ConvolutionGeometry& geometry, const RefTensor& x, const std::vector<T>& x_data,
              const RefTensor& weight, const std::vector<T>& weight_data, const RefTensor& out,
              std::vector<T>& out_data, const Multiply& multiply) {
  constexpr int64_t max_columns_size = int64_t{1} << 22;  // elements of the im2col buffer
  const auto spatial = [](const RefTensor& t) {
    return std::span<const int64_t>(t.shape).subspan(2);
  };
  const int64_t groups = geometry.groups;
  const int64_t channels = weight.shape[1], out_channels = out.shape[1] / groups;
  const int64_t rows = channels * count_of(spatial(weight));
  const int64_t positions = count_of(spatial(out)), in_positions = count_of(spatial(x));
  const int64_t step =
      std::clamp<int64_t>(max_columns_size / std::max<int64_t>(1, rows), 1, positions);
  std::vector<T> columns(static_cast<size_t>(rows * step));
  for (int64_t image = 0; image < x.shape[0]; ++image) {
    for (int64_t g = 0; g < groups; ++g) {
      const T* from = x_data.data() + (image * groups + g) * channels * in_positions;
      T* to = out_data.data() + (image * groups + g) * out_channels * positions;
      for (int64_t first = 0; first < positions; first += step) {
        const int64_t last = std::min(first + step, positions);
        im2col(geometry, spatial(x), spatial(out), spatial(weight), channels, from, first, last,
               columns.data());
        multiply(out_channels, last - first, rows, weight_data.data() + g * out_channels * rows,
                 rows, int64_t{1}, columns.data(), last - first, int64_t{1}, to + first, positions);
      }
    }
  }
}

}  // namespace

ConvolutionGeometry convolution_geometry(const InferContext& context) {
  const Shape& x = context.inputs[0]->shape;
  const Shape& weight = context.inputs[1]->shape;
  const int rank = static_cast<int>(x.size()) - 2;
  context.require(rank >= 1 && weight.size() == x.size(),
                  str("x must be [N, C, ...] and weight [O, C/groups, ...] of the same rank, not ",
                      shape_text(x), " and ", shape_text(weight)));
  require_image(context, 0, rank);
  std::vector<int64_t> kernel;
  for (const SymInt& extent : spatial_dims(weight, rank)) {
    context.require(
        extent.is_const() && extent.value() >= 1 && extent.value() < (int64_t{1} << 31),
        str("the kernel of weight ", shape_text(weight), " must be of constant, positive size"));
    kernel.push_back(extent.value());
  }
  const int64_t groups = context.node.attr<int64_t>("groups");
  context.require(groups >= 1, str("groups must be positive, not ", groups));
  context.require(may_be_equal(x[1], checked_size(context, weight[1], groups)),
                  str("x has ", x[1], " channels; weight ", shape_text(weight), " and groups ",
                      groups, " expect ", weight[1] * groups));
  context.require(may_be_divided(weight[0], groups),
                  str("groups ", groups, " does not divide the ", weight[0], " output channels"));
  auto geometry = make_geometry(kernel, spatial_ints(context, "stride", rank, 1),
                                spatial_ints(context, "padding", 2 * rank, -(int64_t{1} << 31)),
                                spatial_ints(context, "dilation", rank, 1),
                                spatial_ints(context, "input_dilation", rank, 1), groups);
  for (size_t d = 0; d < kernel.size(); ++d) {
    checked_size(context, x[d + 2], geometry.input_dilation[d]);
    require_fit(context, geometry.windows[d], geometry.spread(d, x[d + 2]));
  }
  return geometry;
}

ConvolutionGeometry convolution_geometry(const Node& node) {
  const Shape& weight = node.inputs[1]->shape();
  const int rank = static_cast<int>(weight.size()) - 2;
  std::vector<int64_t> kernel;
  for (const SymInt& extent : spatial_dims(weight, rank)) kernel.push_back(extent.value());
  return make_geometry(kernel, spatial_ints(node, "stride", rank),
                       spatial_ints(node, "padding", 2 * rank),
                       spatial_ints(node, "dilation", rank),
                       spatial_ints(node, "input_dilation", rank), node.attr<int64_t>("groups"));
}

Contraction convolution_contraction(const Node& node) {
  const ConvolutionGeometry geometry = convolution_geometry(node);
  const Shape x = node.inputs[0]->shape(), weight = node.inputs[1]->shape();
  const Shape& out = node.outputs[0]->shape();
  const SymInt group_outputs = floordiv(weight[0], geometry.groups), group_channels = weight[1];
  Contraction c;
  c.batch = {SymInt(geometry.groups)};
  c.m = {out[0]};
  c.m.insert(c.m.end(), out.begin() + 2, out.end());
  c.n = {group_outputs};
  c.k = {weight.begin() + 1, weight.end()};
  c.a = [=](Indices batch, Indices m, Indices k) -> Access {
    Access access{{m[0], batch[0] * group_channels + k[0]}, nullptr};
    std::vector<Expr> valid;
    for (size_t d = 0; d < geometry.windows.size(); ++d) {
      const SymInt position = geometry.windows[d].position(m[d + 1], k[d + 1]);
      const SymInt spread = geometry.input_dilation[d];
      if (!spread.is(1))
        valid.push_back(
            call(Fn::eq, {index_value(mod(position, spread)), constant_int(DType::i64, 0)}));
      const Tap t = tap(floordiv(position, spread), x[d + 2]);
      access.index.push_back(t.index);
      valid.push_back(t.valid);
    }
    access.valid = all_of(valid);
    return access;
  };
  c.b = [=](Indices batch, Indices k, Indices n) -> Access {
    std::vector<SymInt> index = {batch[0] * group_outputs + n[0]};
    index.insert(index.end(), k.begin(), k.end());
    return {index, nullptr};
  };
  c.out = [=](Indices batch, Indices m, Indices n) {
    std::vector<SymInt> index = {m[0], batch[0] * group_outputs + n[0]};
    index.insert(index.end(), m.begin() + 1, m.end());
    return index;
  };
  return c;
}

void convolution_reference(EvalContext& context) {
  const RefTensor& x = *context.inputs[0];
  const RefTensor& weight = *context.inputs[1];
  RefTensor& out = context.outputs[0];
  if (out.numel() == 0) return;
  const ConvolutionGeometry geometry = convolution_geometry(context.node);
  const auto multiply = [](auto... arguments) { gemm(arguments...); };
  const auto multiply_f8 = [&](auto... arguments) { gemm_f8(context.f8_sums, arguments...); };
  if (is_f8(x.dtype)) {
    convolve(geometry, x, x.f, weight, weight.f, out, out.f, multiply_f8);
  } else if (out.is_float()) {
    convolve(geometry, x, x.f, weight, weight.f, out, out.f, multiply);
  } else {
    convolve(geometry, x, x.i, weight, weight.i, out, out.i, multiply);
  }
}

}  // namespace tcc::ir::ops
