// How the dims of a region's values correspond, and the layouts that follow from one another.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "scheduler/region.h"

namespace tcc::sched {

// The dims of `result` along which its elements walk through the dims of `operand`, by the latter:
// (0, 2, 3, 1) of an operand [N, H, W, C] that is read as [N, C, H, W], -1 for an extent of 1.
// Windows and shifts walk along their dim, too. Nothing where a dim is walked along by none or by
// several, as of a reshape that splits or joins dims, or where the result does not read the
// operand.
using DimMap = std::vector<int>;
std::optional<DimMap> map_dims(const Region& region, const ir::Value* result,
                               const ir::Value* operand);

// The layout of `result` in which its elements lie in the order of those of `operand` that they
// read, and the reverse. Nothing where dims do not correspond.
std::optional<Layout> layout_of_result(const Region& region, const ir::Value* result,
                                       const ir::Value* operand, const Layout& of_operand);
std::optional<Layout> layout_of_operand(const Region& region, const ir::Value* operand,
                                        const ir::Value* result, const Layout& of_result);

// The element of `base`, which the region computes of `result`, that is made of the result's
// element `at`: where both have the same shape, or the dims of one are those of the other in
// another order.
std::optional<std::vector<SymInt>> permuted_index(const Region& region, const ir::Value* base,
                                                  const ir::Value* result,
                                                  std::span<const SymInt> at);

}  // namespace tcc::sched
