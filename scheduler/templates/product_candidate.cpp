#include "scheduler/templates/product_candidate.h"

#include <algorithm>

#include "ir/sizes.h"
#include "scheduler/conv_phases.h"
#include "scheduler/copy_image.h"
#include "scheduler/copy_operands.h"
#include "scheduler/dim_map.h"
#include "scheduler/layout.h"
#include "scheduler/split_contraction.h"
#include "scheduler/templates/coopmat_plan.h"
#include "scheduler/templates/gemm.h"
#include "support/checked.h"

namespace tcc::sched {
namespace {

using Load = MatrixOperand::Load;

// [O, C, *kernel] as [*kernel, C, O] in memory; bytes for matrix units, which read them along k
// alone, as [O, *kernel, C].
Layout packed_weight(const ir::Shape& shape, bool along_k) {
  std::vector<int> order;
  for (int d = 2; d < static_cast<int>(shape.size()); ++d) order.push_back(d);
  order.push_back(1);
  order.insert(along_k ? order.begin() : order.end(), 0);
  return Layout::ordered(shape, order);
}

// Other layouts of a buffer: its rows padded, the shortest rows first; or, for matrix units that
// read them along k alone, inner dims that move outside of others, whose rows are padded then.
std::vector<Layout> other_layouts(const ir::Shape& shape, const Layout& dense,
                                  const MatrixOperand& operand, int64_t multiple) {
  std::vector<Layout> layouts;
  const int rank = static_cast<int>(shape.size());
  if (!along_k_alone(operand.dtype) || operand.major_k) {
    for (int inner = 1; inner < rank; ++inner)
      layouts.push_back(dense.padded(shape, inner, multiple));
    return layouts;
  }
  const std::vector<int> order = dense.order();
  for (int moved = 1; moved < rank; ++moved)
    for (int outer = rank - moved - 1; outer >= 0; --outer) {
      std::vector<int> turned = order;
      std::rotate(turned.begin() + outer, turned.end() - moved, turned.end());
      layouts.push_back(
          Layout::ordered(shape, turned).padded(shape, rank - moved - outer, multiple));
    }
  return layouts;
}

// The first of the other layouts of the operand's buffer in which its lines are whole vectors.
std::optional<LayoutWish> padded_operand(const Region& region, const Gemm& gemm, int input,
                                         const Target& target, std::string_view unit) {
  const MatrixOperand& operand = gemm.operand_of(input);
  const bool is_view = operand.load != Load::computed;
  const bool turned = is_view && along_k_alone(operand.dtype) && !operand.major_k;
  if (operand.load != Load::rows && !turned) return std::nullopt;
  const ir::Value* value = region.inputs[static_cast<size_t>(operand.view.buffer)];
  const ir::Shape& shape = value->shape();
  const Layout& dense = region.layout(value);
  Region changed = region;
  for (const Layout& layout :
       other_layouts(shape, dense, operand, target.matrix_row_bytes / size_bytes(value->dtype()))) {
    if (2 * layout.elements.usual() > 3 * dense.elements.usual()) continue;
    changed.layouts[value] = layout;
    const OrRefusal<Gemm> product = plan_gemm(changed, target, unit);
    if (!product) continue;
    const MatrixOperand& changed_operand = product->operand_of(input);
    if (changed_operand.load == Load::tiles && (!turned || changed_operand.major_k))
      return LayoutWish{value, layout};
  }
  return std::nullopt;
}

constexpr int64_t kTile = 64;  // of a usual kernel, rows and columns

// Sums in parts, where that could occupy units that are idle.
std::optional<Alternative> sums_in_parts(const ir::Node& node, const Target& target) {
  constexpr int64_t kShortestPart = 128;  // products of one part
  if (!is_float(node.outputs[0]->dtype())) return std::nullopt;
  for (const ir::Value* operand : node.inputs)
    if (!ir::open_dims(operand->shape()).empty()) return std::nullopt;
  const ContractionExtents extents = contraction_extents(node);
  const int64_t tiles = tiles_of(extents, kTile, kTile);
  if (tiles == 0 || tiles >= 2 * target.compute_units) return std::nullopt;
  Alternative split;
  split.kind = "split_k";
  // Where records have both, parts took 1.3 of their estimates and wholes 1.1.
  split.clear = 0.7;
  // There are no more parts than give every compute unit four workgroups.
  split.choices = divisors_among(
      {1, 2, 4, 8, 16, 32, 64}, extents.divisible, 1,
      std::min(extents.k / kShortestPart, ceil_div(4 * target.compute_units, tiles)));
  if (split.choices.size() < 2) return std::nullopt;
  // As many as give every unit a tile, while sums stay long enough to hide a workgroup's start,
  // come first, then those whose parts take fewer bytes.
  constexpr int64_t kLongPart = 512;
  int64_t filling = 1;
  for (const int64_t parts : split.choices)
    if (tiles * filling < target.compute_units && extents.k / parts >= kLongPart) filling = parts;
  std::ranges::stable_sort(split.choices, {}, [&](int64_t parts) { return parts != filling; });
  split.description = str(node.op_name(), " of ", extents.m, " x ", extents.n, " x ", extents.k,
                          " ", name(node.inputs[0]->dtype()), ": parts of K");
  split.rewrite = split_contraction;
  return split;
}

// Copies of operands that are given, and therefore dense, in the layouts that the product wishes.
std::optional<Alternative> copied_operands(const ProductCandidate& product) {
  const ir::Node& node = *product.region().anchor;
  std::set<int64_t> masks = {0};
  for (const LayoutWish& wish : product.row_wishes()) {
    const bool is_given = !wish.value->producer && !ir::is_fixed(wish.value);
    if (const int64_t bits = is_given ? operands_made_of(node, wish.value) : 0; bits != 0)
      for (const int64_t mask : std::set<int64_t>(masks)) masks.insert(mask | bits);
  }
  if (masks.size() == 1) return std::nullopt;
  Alternative copies;
  copies.kind = "pad_inputs";
  copies.choices.assign(masks.begin(), masks.end());
  copies.none = 0;
  copies.clear = 0.9;  // the same kernels, but for their loads
  copies.description =
      str(product.region().name(), " of ", ir::to_string(node.inputs[0]->type), " and ",
          ir::to_string(node.inputs[1]->type), ": operands that are copied");
  copies.rewrite = copy_operands;
  return copies;
}

// Copies of an image that is given, or has few channels.
std::optional<Alternative> copied_image(const ir::Node& node, const Target& target) {
  Alternative copies;
  copies.kind = "pad_images";
  copies.choices = image_copies(node, target.box_copies);
  if (copies.choices.size() < 2) return std::nullopt;
  copies.none = 0;
  copies.clear = 0.9;  // as for operands
  copies.description = str("convolution of ", ir::to_string(node.inputs[0]->type), " and ",
                           ir::to_string(node.inputs[1]->type), ": copies of the image");
  copies.rewrite = copy_image;
  return copies;
}

// A spread image as those of its phases.
Alternative phases(const ir::Node& node) {
  Alternative alternative;
  alternative.kind = "phases";
  alternative.choices = {0, 1};
  alternative.none = 0;
  alternative.clear = 0.9;  // as for operands
  alternative.description = str("convolution of ", ir::to_string(node.inputs[0]->type), " and ",
                                ir::to_string(node.outputs[0]->type), ": in phases");
  alternative.rewrite = [](ir::Builder& builder, const ir::Node& convolution, int64_t) {
    return ir::Replacement{in_phases(builder, convolution)};
  };
  return alternative;
}

// The alternative of the last stage. Copies are for matrix units.
std::optional<Alternative> last_alternative(const ProductCandidate& candidate) {
  const ir::Node& node = *candidate.region().anchor;
  const bool is_convolution = node.op_name() == "convolution";
  if (is_convolution && has_phases(node)) return phases(node);
  if (candidate.target().matrix_units.empty()) return std::nullopt;
  return is_convolution ? copied_image(node, candidate.target()) : copied_operands(candidate);
}

}  // namespace

std::vector<Alternative> ProductCandidate::alternatives(AlternativeStage stage) const {
  const bool first = stage == AlternativeStage::primitives;
  const ir::Node& node = *region().anchor;
  std::optional<Alternative> one = first ? sums_in_parts(node, target()) : last_alternative(*this);
  if (!one) return {};
  if (first) {
    const int64_t workgroups = most_workgroups(contraction_extents(*region().anchor));
    one->occupied = std::min(1.0, static_cast<double>(workgroups) / target().compute_units);
  }
  return {*std::move(one)};
}

int64_t ProductCandidate::most_workgroups(const ContractionExtents& product) const {
  return tiles_of(product, kTile, kTile);
}

std::vector<LayoutWish> convolution_wishes(const Region& region, const ir::Node& node,
                                           bool along_k) {
  std::vector<LayoutWish> wishes;
  const ir::Value *result = node.outputs[0], *image = node.inputs[0];
  const auto wish = [&](const ir::Value* value, const std::optional<Layout>& layout) {
    if (layout && !value->is_constant() && value->rank() >= 3) wishes.push_back({value, *layout});
  };
  for (const ir::Value* value : region.outputs) {
    const auto layout = layout_of_result(region, value, result, channels_last(result->shape()));
    wish(value, layout);
    if (!layout) continue;
    // The epilogue's operands.
    for (const ir::Value* input : region.inputs)
      if (input != image) wish(input, layout_of_operand(region, input, value, *layout));
  }
  for (const ir::Value* value : region.inputs)
    wish(value, layout_of_operand(region, value, image, channels_last(image->shape())));
  const ir::Value* weight = node.inputs[1];
  if (region.slot_of_input(weight) >= 0)
    wishes.push_back({weight, packed_weight(weight->shape(), along_k)});
  return wishes;
}

namespace {

// The product, where a kernel may gain by operands that lie along k: bulk copies bring f32 to FMA
// units, whose workgroups share k then, and cooperative matrices take such operands from memory to
// registers.
OrRefusal<Gemm> product_along_k(const Region& region, const Target& target) {
  if (target.box_copies) return plan_exact_gemm(region);
  OrRefusal<Gemm> gemm = plan_gemm(region, target, "coopmat");
  if (!gemm || fragment_unit(target, gemm->a.dtype)) return gemm;
  return Refusal{"no kernel gains by the order of a matrix"};
}

// A given matrix [k, n] lies as [n, k] where that is faster.
std::vector<LayoutWish> matrix_wishes(const Candidate& product) {
  const Region& region = product.region();
  if (!open_dims(region).empty()) return {};
  const OrRefusal<Gemm> gemm = product_along_k(region, product.target());
  if (!gemm || gemm->a.load != Load::tiles || gemm->b.load != Load::tiles) return {};
  if (!gemm->a.major_k || gemm->b.major_k) return {};
  const ir::Value* matrix = region.inputs[static_cast<size_t>(gemm->b.view.buffer)];
  if (!matrix->is_constant() || matrix->rank() != 2) return {};
  std::vector<int> order = region.layout(matrix).order();
  std::ranges::reverse(order);
  const Layout turned = Layout::ordered(matrix->shape(), order);
  Region changed = region;
  changed.layouts[matrix] = turned;
  const Match other = match_region(changed, product.target());
  if (!other || !is_faster(**other, product)) return {};
  return {{matrix, turned}};
}

}  // namespace

std::vector<LayoutWish> ProductCandidate::order_wishes() const {
  const ir::Node& anchor = *region().anchor;
  if (anchor.op_name() != "convolution") return matrix_wishes(*this);
  const DType dtype = anchor.inputs[1]->dtype();
  // Cooperative matrices take weights along k to registers.
  if (fragment_unit(target(), dtype)) return convolution_wishes(region(), anchor, true);
  // tf32 is f32 that units may read.
  const bool is_read = along_k_alone(dtype) || (dtype == DType::f32 && region().tf32);
  const bool along_k =
      is_read && std::ranges::any_of(target().matrix_units, [&](const exec::MatrixUnit& unit) {
        return unit.lines_along_k && size_bytes(unit.a) == size_bytes(dtype);
      });
  return convolution_wishes(region(), anchor, along_k);
}

std::vector<LayoutWish> ProductCandidate::row_wishes() const {
  std::vector<LayoutWish> wishes;
  const std::string_view unit = row_unit();
  if (target().matrix_row_bytes == 0 || unit.empty()) return wishes;
  Region changed = region();  // with the buffers found so far: both operands may be one buffer
  for (const int input : {0, 1}) {
    const OrRefusal<Gemm> gemm = plan_gemm(changed, target(), unit);
    if (!gemm) return wishes;
    if (auto wish = padded_operand(changed, *gemm, input, target(), unit)) {
      changed.layouts[wish->value] = wish->layout;
      wishes.push_back(*std::move(wish));
    }
  }
  if (region().anchor->op_name() == "convolution" && gathers(changed))
    if (auto wish = padded_pixels(changed)) wishes.push_back(*std::move(wish));
  return wishes;
}

std::optional<LayoutWish> ProductCandidate::padded_pixels(const Region& region) const {
  for (const ir::Value* value : region.inputs) {
    if (value->is_constant() || value->rank() < 3) continue;
    const Layout& dense = region.layout(value);
    const Layout layout =
        dense.padded(value->shape(), 1, target().matrix_row_bytes / size_bytes(value->dtype()));
    if (layout == dense || 2 * layout.elements.usual() > 3 * dense.elements.usual()) continue;
    Region changed = region;
    changed.layouts[value] = layout;
    if (!gathers(changed)) return LayoutWish{value, layout};
  }
  return std::nullopt;
}

}  // namespace tcc::sched
