#include "scheduler/templates/conv_gemm.h"

#include <algorithm>

#include "scheduler/copy_image.h"
#include "scheduler/templates/common.h"
#include "support/checked.h"

namespace tcc::sched {
namespace {

using Load = MatrixOperand::Load;
using kernels::Image;
using kernels::ImageDim;

constexpr int64_t kImageAlignment = 16;
constexpr size_t kMostResiduals = 2;

// Why loads of kind im2col do not bring the image beside the other operand; empty: they do.
std::string obstacle(const ConvView& view, const MatrixOperand& image, const MatrixOperand& other) {
  const int64_t size = size_bytes(view.dtype), piece = device_image(view).piece;
  if (view.dtype != image.dtype) return str("elements of ", name(view.dtype));
  // The last bits of a load's instruction hold the tap's offsets.
  const int64_t reach = int64_t{1} << 16 / static_cast<int64_t>(view.spatial.size());
  for (const ConvView::Spatial& dim : view.spatial)
    if ((dim.taps - 1) * dim.dilation >= reach)
      return str("windows of ", (dim.taps - 1) * dim.dilation + 1, " elements");
  const auto map = im2col_map(view, "image", static_cast<int>(piece / size), 8, 128);
  if (!map) return map.reason();
  if (view.channels * size % piece == 0) return "";
  // Zeros follow a tap's channels on both sides.
  if (!view.batch.empty()) return str("groups of ", view.channels, " channels");
  if (other.load != Load::tiles || !other.view.batch.empty() ||
      (!other.major_k && size_bytes(other.dtype) != 2))
    return str("weights of ", view.channels, " channels that are no tiles");
  if (!is_multiple(view.channels * other.view.k_stride * size_bytes(other.dtype), kImageAlignment))
    return str("weights of ", view.channels, " channels");
  return "";
}

ImageDim device_dim(const ConvView::Spatial& dim, int64_t channels) {
  ImageDim result;
  result.outputs = dim.outputs;
  result.step = dim.step;
  result.padding = dim.padding;
  result.taps = dim.taps;
  result.dilation = dim.dilation;
  result.along = std::max<int64_t>(1, dim.along_k / channels);
  return result;
}

OrRefusal<ConvGemm> with_image(const Region& region, OrRefusal<Gemm> gemm) {
  if (!gemm) return gemm.refusal();
  ConvGemm product{*std::move(gemm), std::nullopt, {}};
  product.residuals = residual_views(region, product.plan, kMostResiduals);
  if (region.anchor->op_name() != "convolution") return product;
  const bool of_a = product.plan.a.input == 0;
  MatrixOperand& operand = of_a ? product.a : product.b;
  if (operand.load != Load::computed) return product;
  OrRefusal<ConvView> view = conv_view(region, product.plan, of_a);
  if (!view || !obstacle(*view, operand, of_a ? product.b : product.a).empty()) return product;
  operand.load = Load::im2col;
  operand.major_k = true;
  operand.alignment = kImageAlignment;
  operand.view = {view->buffer, view->dtype, view->offset, view->spatial.back().pitch, 1,
                  view->batch};
  product.image = *std::move(view);
  return product;
}

}  // namespace

OrRefusal<ConvGemm> plan_conv_gemm(const Region& region, const Target& target,
                                   std::string_view unit) {
  return with_image(region, plan_gemm(region, target, unit));
}
OrRefusal<ConvGemm> plan_exact_conv_gemm(const Region& region) {
  return with_image(region, plan_exact_gemm(region));
}

Image device_image(const ConvView& image) {
  Image result;
  result.spatial = std::ssize(image.spatial);
  ImageDim* const dims[] = {&result.x, &result.y, &result.z};
  for (size_t d = 0; d < image.spatial.size(); ++d)
    *dims[d] = device_dim(image.spatial[image.spatial.size() - 1 - d], image.channels);
  result.channels = image.channels;
  result.piece = piece_bytes(image.channels * size_bytes(image.dtype), image.taps());
  return result;
}

}  // namespace tcc::sched
