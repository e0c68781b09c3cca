// Which of several ways to compute something a program takes: a table that the sizes of a run
// decide.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "executable/sizes.h"

namespace tcc::exec {

// A number that depends on sizes, and what it is within, inclusive.
struct SizeBounds {
  SymInt number = 0;
  int64_t least = 0, most = 0;
  friend bool operator==(const SizeBounds&, const SizeBounds&) = default;
};

// All of these hold.
using SizeCondition = std::vector<SizeBounds>;

// The conditions of each choice but the last one: it is taken where one of them holds. No two
// conditions hold at the same sizes: of each pair, one number has bounds that do not meet. Where
// none holds, the last choice is taken.
struct SizeTable {
  std::vector<std::vector<SizeCondition>> conditions;

  int choices() const { return static_cast<int>(conditions.size()) + 1; }
  int choice(const Sizes& sizes) const;
};

inline constexpr int kMostChoices = 16;      // of a table
inline constexpr int kMostConditions = 128;  // of a table

// A step with it runs where the table takes that choice; -1: always.
struct Chosen {
  int table = -1;  // index into the executable's tables
  int choice = 0;
};

// Whether two conditions can hold at the same sizes, as far as their bounds tell.
bool may_meet(const SizeCondition& a, const SizeCondition& b);

std::string to_string(const SizeCondition& condition);  // "m in 1..64, n in 8..8"
// "m in 1..64 or m in 80..96"; "else" for none.
std::string to_string(const std::vector<SizeCondition>& any_of);

}  // namespace tcc::exec
