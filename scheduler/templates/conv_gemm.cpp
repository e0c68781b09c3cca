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
constexpr int64_t kVector = 16;  // bytes that a thread copies at once
constexpr int64_t kMostVectors = int64_t{1} << 30;

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

// The operand is an image, whose vectors begin at multiples of `alignment` bytes.
void read_image(MatrixOperand& operand, const ConvView& view, int64_t alignment) {
  operand.load = Load::im2col;
  operand.major_k = true;
  operand.alignment = alignment;
  operand.view = {view.buffer, view.dtype, view.offset, view.spatial.back().pitch, 1, view.batch};
}

OrRefusal<ConvGemm> with_image(const Region& region, OrRefusal<Gemm> gemm) {
  if (!gemm) return gemm.refusal();
  ConvGemm product{*std::move(gemm), std::nullopt, false, false, {}};
  product.residuals = residual_views(region, product.plan, kMostResiduals);
  if (region.anchor->op_name() != "convolution") return product;
  const bool of_a = product.plan.a.input == 0;
  MatrixOperand& operand = of_a ? product.a : product.b;
  if (operand.load != Load::computed) return product;
  product.gathers = true;
  const auto has = [&](const char* key, int64_t usual) {
    return std::ranges::any_of(region.anchor->ints(key),
                               [&](int64_t value) { return value != usual; });
  };
  product.guards = has("padding", 0) || has("input_dilation", 1);
  OrRefusal<ConvView> view = conv_view(region, product.plan, of_a);
  if (!view || !obstacle(*view, operand, of_a ? product.b : product.a).empty()) return product;
  product.gathers = false;
  read_image(operand, *view, kImageAlignment);
  product.image = *std::move(view);
  return product;
}

// Whether vectors of so many bytes are neighbouring channels under one tap, whose numbers are 32
// bits.
bool has_vectors(const Region& region, const ConvView& image, int64_t bytes) {
  const int64_t chunk = bytes / size_bytes(image.dtype);
  const auto is_whole = [&](int64_t elements) { return elements % chunk == 0; };
  return is_whole(image.channels) && is_whole(image.offset) && is_whole(image.image_pitch) &&
         std::ranges::all_of(image.spatial, is_whole, &ConvView::Spatial::pitch) &&
         std::ranges::all_of(
             image.batch,
             [&](const OperandView::BatchAxis& axis) { return is_multiple(axis.stride, chunk); }) &&
         may_have_numbers(region, image.buffer, chunk);
}

}  // namespace

OrRefusal<ConvGemm> plan_conv_gemm(const Region& region, const Target& target,
                                   std::string_view unit) {
  return with_image(region, plan_gemm(region, target, unit));
}
OrRefusal<ConvGemm> plan_exact_conv_gemm(const Region& region) {
  return with_image(region, plan_exact_gemm(region));
}

OrRefusal<ConvGemm> plan_vector_gemm(const Region& region, const Target& target,
                                     std::string_view unit) {
  OrRefusal<Gemm> gemm = plan_gemm(region, target, unit);
  if (!gemm) return gemm.refusal();
  ConvGemm product{*std::move(gemm), std::nullopt, false, false, {}};
  bring_by_vectors(region, product, product.image, product.gathers);
  return product;
}

void bring_by_vectors(const Region& region, Gemm& product, std::optional<ConvView>& image,
                      bool& gathers) {
  if (region.anchor->op_name() != "convolution") return;
  const bool of_a = product.plan.a.input == 0;
  MatrixOperand& operand = of_a ? product.a : product.b;
  if (operand.load != Load::computed) return;
  gathers = true;
  OrRefusal<ConvView> view = conv_view(region, product.plan, of_a);
  if (!view || view->dtype != operand.dtype) return;
  const int64_t vector = has_vectors(region, *view, kVector) ? kVector : kVector / 2;
  if (!has_vectors(region, *view, vector)) return;
  gathers = false;
  read_image(operand, *view, vector);
  image = *std::move(view);
}

bool may_have_numbers(const Region& region, int buffer, int64_t vector) {
  const SymInt& elements = region.layout(region.inputs[static_cast<size_t>(buffer)]).elements;
  return !elements.is_const() || elements.value() / vector < kMostVectors;
}

namespace {

// The place of a vector of an image, by a hook's parameters.
struct ImageVector {
  Hook hook;  // without a body
  SymInt number;
  Expr inside;  // null: always
};

ImageVector image_vector(const ConvView& image, int64_t bytes, const ContractionPlan& plan,
                         std::string name) {
  const int64_t chunk = bytes / size_bytes(image.dtype), channels = image.channels / chunk;
  ImageVector vector;
  Hook& hook = vector.hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", plan.batch.size()),
                     passed_index("at", image.pixels()),
                     passed_index("k", image.taps() * channels)};
  hook.returns = true;
  const SymInt at = hook.parameters[1].axis, k = hook.parameters[2].axis;
  std::vector<SymInt> extents = {image.images};
  for (const ConvView::Spatial& dim : image.spatial) extents.emplace_back(dim.outputs);
  const std::vector<SymInt> pixel = ir::delinearize(at, extents);
  OperandView groups;
  groups.offset = image.offset / chunk;
  groups.batch = image.batch;
  for (OperandView::BatchAxis& axis : groups.batch) axis.stride = floordiv(axis.stride, chunk);
  vector.number = batch_offset(groups, hook.parameters[0].axis) +
                  pixel[0] * (image.image_pitch / chunk) + mod(k, channels);
  std::vector<Expr> inside;
  for (size_t d = 0; d < image.spatial.size(); ++d) {
    const ConvView::Spatial& dim = image.spatial[d];
    SymInt place = pixel[d + 1] * dim.step - dim.padding;
    if (dim.along_k > 0)
      place = place + mod(floordiv(k, dim.along_k / chunk), dim.taps) * dim.dilation;
    vector.number = vector.number + place * (dim.pitch / chunk);
    inside.push_back(ir::index_less(-1, place));
    inside.push_back(ir::index_less(place, dim.extent));
  }
  vector.inside = ir::all_of(inside);
  return vector;
}

Expr index_as(const SymInt& value, DType dtype) { return ir::cast(ir::index_value(value), dtype); }

}  // namespace

void add_image_hooks(Kernel& kernel, const ConvView& image, int64_t bytes,
                     const ContractionPlan& plan, bool first, DType number_type) {
  ImageVector number = image_vector(image, bytes, plan, first ? "vector_a" : "vector_b"),
              presence = image_vector(image, bytes, plan, first ? "inside_a" : "inside_b");
  number.hook.result = number_type;
  number.hook.body = {return_value(index_as(number.number, number_type))};
  const Expr yes = index_as(1, DType::i32), &inside = presence.inside;
  presence.hook.result = DType::i32;
  presence.hook.body = {
      return_value(inside ? ir::select(inside, yes, index_as(0, DType::i32)) : yes)};
  kernel.hooks.push_back(std::move(number.hook));
  kernel.hooks.push_back(std::move(presence.hook));
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
