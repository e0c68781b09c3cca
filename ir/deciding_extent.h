// Extents that tell the value of a symbol: how sizes are found in shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/symint.h"

namespace tcc::ir {

// factor * symbol + constant, with a factor above 0.
struct DecidingExtent {
  std::string symbol;
  int64_t factor = 1, constant = 0;
  // The symbol's value where the extent is `size`; nothing: it is that for no value.
  std::optional<int64_t> value(int64_t size) const;
};

// Returns nothing for an extent of another form.
std::optional<DecidingExtent> deciding_extent(const SymInt& extent);

}  // namespace tcc::ir
