// A dim whose size comes at run time, and what is known of it: bounds and divisibility.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/symint.h"

namespace tcc::ir {

// Sizes are below 2^31: device sources count them in 32 bits.
inline constexpr int64_t kMostSize = (int64_t{1} << 31) - 1;

// The sizes that a dim may have: the multiples of `multiple` from `least` to `most`, which are
// multiples themselves.
struct SizeRange {
  int64_t least = 0, most = kMostSize, multiple = 1;
  bool operator==(const SizeRange&) const = default;

  // Returns the reason why the dim cannot have the size: "is above 2048"; "" where it can.
  std::string why_not(int64_t size) const;
  std::string to_string() const;  // "1..2048", "8..2048:8", "free"
  // The size that estimates take: the middle on a logarithmic scale; nothing where there is no end.
  std::optional<int64_t> usual() const;
};
using SizeRanges = std::map<std::string, SizeRange, std::less<>>;

// A dim as options give it: a number, an expression of other dims, or a range of sizes.
struct DimOption {
  std::string name;
  std::optional<int64_t> number;
  std::optional<SymInt> expression;
  SizeRange range;
};
// Reads NAME=NUMBER, NAME=EXPRESSION ("total=past+1"), NAME=LEAST..MOST, NAME=LEAST..MOST:MULTIPLE
// and NAME=free. Throws Error(bad_input) that begins with `said`, as the user gave it.
DimOption parse_dim(std::string_view text, const std::string& said);
// Reads NAME=NUMBER,NUMBER: sizes of a dim that kernels are made for beside the general ones.
std::pair<std::string, std::vector<int64_t>> parse_sizes(std::string_view text,
                                                         const std::string& said);

// The symbol that stands for the dim in expressions: its size over `multiple`, so that arithmetic
// proves what the multiple implies.
std::string symbol_name(const std::string& dim, const SizeRange& range);
// The dim's size: `multiple` times that symbol, whose range is known.
SymInt open_size(const std::string& dim, const SizeRange& range, int64_t usual);
// A symbol of that range.
SymInt bounded_symbol(std::string name, Interval range, int64_t usual);
// Such a symbol where it is known to be a multiple: `multiple` times its quotient, so that
// arithmetic proves what the multiple implies. Kernels get the symbol itself.
SymInt known_multiple(std::string name, Interval range, int64_t usual, int64_t multiple);

class Graph;
// Throws Error(bad_input), which begins with `said` (by default "dim NAME: "), where the graph has
// no such dim.
void require_dim(const Graph& graph, const std::string& name, const std::string& said = "");
using Numbers = std::map<std::string, int64_t, std::less<>>;
// Numbers for all dims of the graph: those in `numbers`, the usual sizes of ranges (of the length
// of a state that grows, the mean), and the graph's defaults for the rest. Throws Error(bad_input)
// for a dim that the graph lacks and for a number that its range lacks.
Numbers usual_sizes(const Graph& graph, const Numbers& numbers, const SizeRanges& open);
// Graph::bind() with ranges of the dims that stay open. The sizes that estimates take are those of
// usual_sizes(). Dims that runs count (ir/counted_dims.h) stay open unless `numbers` has them.
Graph bind_dims(const Graph& graph, const Numbers& numbers, const SizeRanges& open);

}  // namespace tcc::ir
