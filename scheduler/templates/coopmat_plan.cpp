#include "scheduler/templates/coopmat_plan.h"

#include <algorithm>
#include <set>

#include "scheduler/source_compiler.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/conv_gemm.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using exec::MatrixUnit;
using Load = MatrixOperand::Load;

constexpr std::string_view kUnit = "coopmat";
constexpr int64_t kChunk = 16;  // bytes of a load

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

const MatrixUnit* fragment_unit(const Target& target, DType dtype) {
  const auto found = std::ranges::find_if(target.matrix_units, [&](const MatrixUnit& unit) {
    return unit.kind == exec::kFragmentUnit && unit.a == dtype;
  });
  return found == target.matrix_units.end() ? nullptr : &*found;
}

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
  CoopmatGemm product{*std::move(gemm), std::nullopt, false, target.subgroup_size, {}, {}};
  const ContractionPlan& plan = product.plan;
  const SymInt k = plan.k.size();
  restrict_load(region, product.a, plan.a, product.a.major_k ? k : plan.m.size());
  restrict_load(region, product.b, plan.b, product.b.major_k ? k : plan.n.size());
  bring_by_vectors(region, product, product.image, product.gathers);
  const std::set<DType> types = {product.a.dtype, product.b.dtype};
  for (const MatrixUnit& unit : served.matrix_units)
    if (types == std::set<DType>{unit.a, unit.b}) product.units.push_back(unit);
  if (const MatrixUnit* unit = fragment_unit(target, product.a.dtype)) product.fragments = *unit;
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

}  // namespace tcc::sched
