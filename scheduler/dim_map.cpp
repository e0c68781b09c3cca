#include "scheduler/dim_map.h"

#include <algorithm>

#include "scheduler/axis_use.h"
#include "scheduler/inline.h"

namespace tcc::sched {
namespace {

// The map of one place in the operand that elements at `axes` read. The axes of windows and sums do
// not count.
std::optional<DimMap> map_of(const std::vector<SymInt>& place, const std::vector<SymInt>& axes,
                             const ir::Shape& shape) {
  DimMap map;
  AxisUse use;
  for (size_t d = 0; d < place.size(); ++d) {
    int along = -1;
    if (!shape[d].is(1)) {
      const AxisSet free = use.of(place[d]).free;
      for (size_t a = 0; a < axes.size(); ++a) {
        if (axes[a].is_const() || !free.contains(axes[a].as_atom())) continue;
        if (along >= 0) return std::nullopt;
        along = static_cast<int>(a);
      }
      if (along < 0 || std::ranges::find(map, along) != map.end()) return std::nullopt;
    }
    map.push_back(along);
  }
  return map;
}

// Whether an element of the node's results is an expression.
bool has_elements(const ir::Node* node) {
  const ir::OpKind kind = node->op->kind;
  return kind == ir::OpKind::pointwise || kind == ir::OpKind::view || kind == ir::OpKind::reduce ||
         kind == ir::OpKind::contraction;
}

bool is_identity(const DimMap& map) {
  for (size_t d = 0; d < map.size(); ++d)
    if (map[d] >= 0 && map[d] != static_cast<int>(d)) return false;
  return true;
}

}  // namespace

std::optional<DimMap> map_dims(const Region& region, const ir::Value* result,
                               const ir::Value* operand) {
  if (!std::ranges::all_of(region.nodes, has_elements)) return std::nullopt;
  std::vector<SymInt> axes;
  for (const SymInt& extent : result->shape()) axes.push_back(SymInt::axis("i", extent));
  std::vector<std::vector<SymInt>> places;
  Inliner inliner(region);
  const Expr element = ir::read(ir::new_variable("element", compute_dtype(operand->dtype())));
  inliner.bind(operand, [&](std::span<const SymInt> index) {
    places.emplace_back(index.begin(), index.end());
    return element;
  });
  inliner.value_at(result, axes);
  for (const std::vector<SymInt>& place : places)
    if (auto map = map_of(place, axes, operand->shape())) return map;
  return std::nullopt;
}

std::optional<Layout> layout_of_result(const Region& region, const ir::Value* result,
                                       const ir::Value* operand, const Layout& of_operand) {
  const std::optional<DimMap> map = map_dims(region, result, operand);
  if (!map) return std::nullopt;
  const ir::Shape& shape = result->shape();
  if (shape.size() == map->size() && is_identity(*map) &&
      std::ranges::equal(
          shape, operand->shape(), {}, [](const SymInt& n) { return n.is(1); },
          [](const SymInt& n) { return n.is(1); }))
    return Layout::ordered(shape, of_operand.order());
  std::vector<int> order;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    if (std::ranges::find(*map, d) != map->end()) continue;
    if (!shape[static_cast<size_t>(d)].is(1)) return std::nullopt;
    order.push_back(d);
  }
  for (const int d : of_operand.order())
    if (const int along = (*map)[static_cast<size_t>(d)]; along >= 0) order.push_back(along);
  return Layout::ordered(shape, order);
}

std::optional<Layout> layout_of_operand(const Region& region, const ir::Value* operand,
                                        const ir::Value* result, const Layout& of_result) {
  const std::optional<DimMap> map = map_dims(region, result, operand);
  if (!map) return std::nullopt;
  const ir::Shape& shape = operand->shape();
  if (result->rank() == operand->rank() && is_identity(*map))
    return Layout::ordered(shape, of_result.order());
  std::vector<int> order;
  for (int d = 0; d < static_cast<int>(map->size()); ++d)
    if ((*map)[static_cast<size_t>(d)] < 0) order.push_back(d);
  for (const int along : of_result.order())
    for (int d = 0; d < static_cast<int>(map->size()); ++d)
      if ((*map)[static_cast<size_t>(d)] == along) order.push_back(d);
  return Layout::ordered(shape, order);
}

namespace {

// Whether `map` of the result's dims onto those of `base` takes each element to another one: a
// slice does not, nor does a dim that is broadcast.
bool permutes(const DimMap& map, const ir::Shape& result, const ir::Shape& base) {
  std::vector<bool> is_met(base.size(), false);
  for (size_t d = 0; d < map.size(); ++d) {
    if (map[d] < 0) {
      if (!result[d].is(1)) return false;
      continue;
    }
    const auto to = static_cast<size_t>(map[d]);
    if (is_met[to] || !(base[to] == result[d])) return false;
    is_met[to] = true;
  }
  for (size_t d = 0; d < base.size(); ++d)
    if (!is_met[d] && !base[d].is(1)) return false;
  return true;
}

}  // namespace

std::optional<std::vector<SymInt>> permuted_index(const Region& region, const ir::Value* base,
                                                  const ir::Value* result,
                                                  std::span<const SymInt> at) {
  const std::vector<SymInt> same(at.begin(), at.end());
  if (base == result) return same;
  const std::optional<DimMap> map = map_dims(region, base, result);
  if (!map || !permutes(*map, result->shape(), base->shape()))
    return base->shape() == result->shape() ? std::optional(same) : std::nullopt;
  std::vector<SymInt> index(base->shape().size(), SymInt(0));
  for (size_t d = 0; d < at.size(); ++d)
    if ((*map)[d] >= 0) index[static_cast<size_t>((*map)[d])] = at[d];
  return index;
}

}  // namespace tcc::sched
