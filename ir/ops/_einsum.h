// Parses the notation of einsum.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "ir/op.h"

namespace tcc::ir::ops {

// A dim of an operand: the character of a letter, or a number from 256 on for a dim that `...`
// stands for, counted from the last one.
using Label = int;
inline constexpr Label kEllipsis = 256;

struct Einsum {
  std::vector<std::vector<Label>> operands;
  std::vector<Label> output;
  std::map<Label, SymInt> extents;  // n where an operand has 1 and another n
};

// Reads an equation such as "bij,bjk->bik" against the operands' shapes. Without "->" the output
// has the labels that occur once, in alphabetical order, behind those of `...`. Throws
// Error(bad_input), with the prefix of `context` if there is one.
Einsum parse_einsum(std::string_view equation, const std::vector<Shape>& shapes,
                    const InferContext* context = nullptr);

}  // namespace tcc::ir::ops
