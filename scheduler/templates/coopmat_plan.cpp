#include "scheduler/templates/coopmat_plan.h"

#include <algorithm>
#include <set>

#include "scheduler/source_compiler.h"
#include "scheduler/templates/common.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using exec::MatrixUnit;
using Load = MatrixOperand::Load;

constexpr std::string_view kUnit = "coopmat";
constexpr int64_t kChunk = 16;  // bytes of a load
constexpr int64_t kMostChunks = int64_t{1} << 30;

// Whether 32 bits number a buffer's chunks; those of open dims are counted when sizes are known.
bool may_have_numbers(const Region& region, int buffer, int64_t chunk) {
  const SymInt& elements = region.layout(region.inputs[static_cast<size_t>(buffer)]).elements;
  return !elements.is_const() || elements.value() / chunk < kMostChunks;
}

// Loads of 16 bytes need lines that consist of them, and 32 bits for their numbers. Else the load
// hook brings what it can.
void restrict_load(const Region& region, MatrixOperand& operand,
                   const ContractionPlan::Operand& of_plan, const SymInt& line_elements) {
  const int64_t chunk = kChunk / size_bytes(operand.dtype);
  if (operand.load == Load::tiles && is_multiple(line_elements, chunk) &&
      may_have_numbers(region, operand.view.buffer, chunk))
    return;
  operand.load = Load::computed;
  operand.major_k = of_plan.along_k;
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

// A convolution's image comes by chunks where it can, or by their halves.
void bring_image(const Region& region, CoopmatGemm& product) {
  if (region.anchor->op_name() != "convolution") return;
  const bool of_a = product.plan.a.input == 0;
  MatrixOperand& operand = of_a ? product.a : product.b;
  if (operand.load != Load::computed) return;
  product.gathers = true;
  OrRefusal<ConvView> view = conv_view(region, product.plan, of_a);
  if (!view || view->dtype != operand.dtype) return;
  const int64_t vector = has_vectors(region, *view, kChunk) ? kChunk : kChunk / 2;
  if (!has_vectors(region, *view, vector)) return;
  product.gathers = false;
  operand.load = Load::im2col;
  operand.major_k = true;
  operand.alignment = vector;
  operand.view = {view->buffer, view->dtype, view->offset, view->spatial.back().pitch, 1,
                  view->batch};
  product.image = *std::move(view);
}

Hook::Parameter passed(std::string of, const SymInt& extent) {
  return Hook::index_parameter(std::move(of), ir::max(2, extent));
}

}  // namespace

bool is_served_coopmat(const MatrixUnit& unit) {
  if (unit.kind != kUnit || unit.scope != MatrixUnit::Scope::subgroup || unit.saturating ||
      unit.c != unit.d)
    return false;
  if (unit.d == DType::f32) return unit.a == unit.b && is_low_precision(unit.a) && !is_f8(unit.a);
  return (unit.d == DType::i32 || unit.d == DType::u32) && is_byte(unit.a) && is_byte(unit.b);
}

std::set<std::string> coopmat_extensions(const std::set<DType>& operands) {
  std::set<std::string> all = {"GL_KHR_cooperative_matrix", "GL_KHR_memory_scope_semantics"};
  for (const DType one : operands) {
    if (one == DType::bf16) all.insert("GL_EXT_bfloat16");
    if (one == DType::f16) all.insert("GL_EXT_shader_explicit_arithmetic_types_float16");
    if (is_byte(one)) all.insert("GL_EXT_shader_explicit_arithmetic_types_int8");
  }
  return all;
}

bool turns_matrices(const Target& target) { return target.vendor == "nvidia"; }

bool loads_whole_lines(const Target& target) { return target.vendor == "nvidia"; }

int64_t shared_bytes_of_unit(const Target& target) {
  return target.vendor == "nvidia" ? target.shared_bytes : 4 * target.shared_bytes;
}

std::set<std::string> CoopmatGemm::extensions() const {
  return coopmat_extensions({a.dtype, b.dtype});
}

const MatrixUnit* CoopmatGemm::unit(bool swapped, int64_t m, int64_t n, int64_t k) const {
  const DType of_a = swapped ? b.dtype : a.dtype, of_b = swapped ? a.dtype : b.dtype;
  const auto found = std::ranges::find_if(units, [&](const MatrixUnit& one) {
    return one.a == of_a && one.b == of_b && one.m == m && one.n == n && one.k == k;
  });
  return found == units.end() ? nullptr : &*found;
}

OrRefusal<CoopmatGemm> plan_coopmat(const Region& region, const Target& target) {
  Target served = target;
  std::erase_if(served.matrix_units,
                [](const MatrixUnit& unit) { return !is_served_coopmat(unit); });
  OrRefusal<Gemm> gemm = plan_gemm(region, served, kUnit);
  if (!gemm) return gemm.refusal();
  // On an H200, a test of such convolutions found a wrong result.
  if (region.anchor->op_name() == "convolution" &&
      !(gemm->plan.m.size().is_const() && gemm->plan.n.size().is_const()))
    return Refusal{"a convolution of an open number of images"};
  CoopmatGemm product{*std::move(gemm), std::nullopt, false, target.subgroup_size, {}};
  const ContractionPlan& plan = product.plan;
  const SymInt k = plan.k.size();
  restrict_load(region, product.a, plan.a, product.a.major_k ? k : plan.m.size());
  restrict_load(region, product.b, plan.b, product.b.major_k ? k : plan.n.size());
  bring_image(region, product);
  const std::set<DType> types = {product.a.dtype, product.b.dtype};
  for (const MatrixUnit& unit : served.matrix_units)
    if (types == std::set<DType>{unit.a, unit.b}) product.units.push_back(unit);
  int least_side = product.units.front().m;
  for (const MatrixUnit& unit : product.units) least_side = std::min({least_side, unit.m, unit.n});
  const int64_t m = plan.m.size().usual(), n = plan.n.size().usual();
  if (2 * std::min(m, n) < least_side)
    return Refusal{str("results of ", m, " x ", n, " fill little of its matrices")};
  for (const std::string& extension : product.extensions())
    if (std::string reason = lacking_extension(target.api, extension); !reason.empty())
      return Refusal{std::move(reason)};
  return product;
}

Hook chunk_hook(const MatrixOperand& operand, const ContractionPlan& plan, bool of_a,
                std::string name) {
  const int64_t chunk = kChunk / size_bytes(operand.dtype);
  const SymInt free = (of_a ? plan.m : plan.n).size(), k = plan.k.size();
  OperandView chunks = operand.view;
  chunks.offset = floordiv(chunks.offset, chunk);
  for (OperandView::BatchAxis& axis : chunks.batch) axis.stride = floordiv(axis.stride, chunk);
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", plan.batch.size()),
                     passed("at", operand.major_k ? free : floordiv(free, chunk)),
                     passed("k", operand.major_k ? floordiv(k, chunk) : k)};
  const SymInt at = hook.parameters[1].axis, along_k = hook.parameters[2].axis;
  const SymInt line = operand.major_k ? at : along_k, along = operand.major_k ? along_k : at;
  hook.result = DType::i32;
  hook.returns = true;
  hook.body = {
      return_value(ir::cast(ir::index_value(batch_offset(chunks, hook.parameters[0].axis) +
                                            line * floordiv(operand.line_stride(), chunk) + along),
                            DType::i32))};
  return hook;
}

Hook image_vector_hook(const ConvView& image, int64_t bytes, const ContractionPlan& plan,
                       std::string name) {
  const int64_t chunk = bytes / size_bytes(image.dtype), channels = image.channels / chunk;
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", plan.batch.size()),
                     passed("at", image.pixels()), passed("k", image.taps() * channels)};
  const SymInt at = hook.parameters[1].axis, k = hook.parameters[2].axis;
  std::vector<SymInt> extents = {image.images};
  for (const ConvView::Spatial& dim : image.spatial) extents.emplace_back(dim.outputs);
  const std::vector<SymInt> pixel = ir::delinearize(at, extents);
  OperandView groups;
  groups.offset = image.offset / chunk;
  groups.batch = image.batch;
  for (OperandView::BatchAxis& axis : groups.batch) axis.stride = floordiv(axis.stride, chunk);
  SymInt number = batch_offset(groups, hook.parameters[0].axis) +
                  pixel[0] * (image.image_pitch / chunk) + mod(k, channels);
  std::vector<Expr> inside;
  for (size_t d = 0; d < image.spatial.size(); ++d) {
    const ConvView::Spatial& dim = image.spatial[d];
    SymInt place = pixel[d + 1] * dim.step - dim.padding;
    if (dim.along_k > 0)
      place = place + mod(floordiv(k, dim.along_k / chunk), dim.taps) * dim.dilation;
    number = number + place * (dim.pitch / chunk);
    inside.push_back(ir::index_less(-1, place));
    inside.push_back(ir::index_less(place, dim.extent));
  }
  const auto whole = [](const SymInt& value) {
    return ir::cast(ir::index_value(value), DType::i32);
  };
  const Expr within = ir::all_of(inside);  // null: always
  hook.result = DType::i32;
  hook.returns = true;
  hook.body = {return_value(within ? ir::select(within, whole(number), whole(-1)) : whole(number))};
  return hook;
}

}  // namespace tcc::sched
