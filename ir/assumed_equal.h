// Shape rules take symbolic dims for equal that they cannot tell apart, since numbers are bound
// later. Dims that stay open are never looked at again: those that differ at some sizes are found
// here, and ir/equal_dims.h writes one of them as the other before.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/symint.h"

namespace tcc::ir {

// Notes, for the Assumptions of this thread, that two dims are taken for equal.
void assume_equal(const SymInt& a, const SymInt& b);

// Gets the pairs that are noted on its thread while it lives, also those of Assumptions within it.
class Assumptions {
 public:
  Assumptions();
  ~Assumptions();
  Assumptions(const Assumptions&) = delete;
  Assumptions& operator=(const Assumptions&) = delete;

  // Returns the reason against the first pair that differs at a size that open dims may have:
  // "takes S and 8 for equal, which they are not at S = 1"; "" where none was found. Symbols
  // without a range have no numbers yet: they are taken for equal.
  std::string refusal() const;
  const std::vector<std::pair<SymInt, SymInt>>& pairs() const { return pairs_; }

 private:
  friend void assume_equal(const SymInt& a, const SymInt& b);
  Assumptions* outer_;
  std::vector<std::pair<SymInt, SymInt>> pairs_;
};

}  // namespace tcc::ir
