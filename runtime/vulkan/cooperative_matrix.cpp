#include "runtime/vulkan/cooperative_matrix.h"

#include <algorithm>
#include <array>

namespace tcc::runtime::vulkan {
namespace {

const exec::RegisterMatrixUnits registered_units({"coopmat", exec::kFragmentUnit.data()});

// VkComponentTypeKHR.
std::optional<DType> component(uint32_t type) {
  switch (type) {
    case 0: return DType::f16;
    case 1: return DType::f32;
    case 2: return DType::f64;
    case 3: return DType::i8;
    case 4: return DType::i16;
    case 5: return DType::i32;
    case 6: return DType::i64;
    case 7: return DType::u8;
    case 8: return DType::u16;
    case 9: return DType::u32;
    case 10: return DType::u64;
    case 1000141000: return DType::bf16;
    case 1000491002: return DType::f8e4m3;
    case 1000491003: return DType::f8e5m2;
    default: return std::nullopt;
  }
}

// VkScopeKHR.
std::optional<exec::MatrixUnit::Scope> scope_of(uint32_t scope) {
  if (scope == 2) return exec::MatrixUnit::Scope::workgroup;
  if (scope == 3) return exec::MatrixUnit::Scope::subgroup;
  return std::nullopt;
}

}  // namespace

std::optional<exec::MatrixUnit> matrix_unit_of(const CooperativeMatrixProperties& properties) {
  constexpr uint32_t kMostSide = 4096;
  for (const uint32_t side : {properties.MSize, properties.NSize, properties.KSize})
    if (side == 0 || side > kMostSide) return std::nullopt;
  const auto a = component(properties.AType), b = component(properties.BType);
  const auto c = component(properties.CType), d = component(properties.ResultType);
  const auto scope = scope_of(properties.scope);
  if (!a || !b || !c || !d || !scope) return std::nullopt;
  exec::MatrixUnit unit;
  unit.kind = "coopmat";
  unit.m = static_cast<int>(properties.MSize);
  unit.n = static_cast<int>(properties.NSize);
  unit.k = static_cast<int>(properties.KSize);
  unit.a = *a;
  unit.b = *b;
  unit.c = *c;
  unit.d = *d;
  unit.scope = *scope;
  unit.saturating = properties.saturatingAccumulation != VK_FALSE;
  return unit;
}

std::vector<exec::MatrixUnit> query_matrix_units(VkPhysicalDevice device,
                                                 GetCooperativeMatrixProperties get,
                                                 const std::set<DType>& types, int exact_sum) {
  constexpr uint32_t kMost = 1024;
  std::vector<exec::MatrixUnit> units;
  uint32_t count = 0;
  if (!get || get(device, &count, nullptr) != VK_SUCCESS || count > kMost) return units;
  std::vector<CooperativeMatrixProperties> list(count);
  if (get(device, &count, list.data()) != VK_SUCCESS) return units;
  list.resize(std::min<size_t>(list.size(), count));
  for (const CooperativeMatrixProperties& properties : list) {
    auto unit = matrix_unit_of(properties);
    if (!unit) continue;
    if (unit->d == DType::f32) unit->exact_sum = exact_sum;
    const bool is_usable = std::ranges::all_of(std::array{unit->a, unit->b, unit->c, unit->d},
                                               [&](DType one) { return types.contains(one); });
    if (is_usable && !std::ranges::count(units, *unit)) units.push_back(*unit);
  }
  return units;
}

}  // namespace tcc::runtime::vulkan
