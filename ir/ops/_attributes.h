// Reads attributes that may be written in several ways.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op.h"

namespace tcc::ir::ops {

// Returns an `ints` attribute; a single integer n stands for {n}.
Shape symint_list(const Node& node, std::string_view key);
// Returns one integer, which may be symbolic: an `integer`, or an `ints` with one element.
SymInt symint_attr(const Node& node, std::string_view key);
// Returns a `number`, also where it was given as an integer.
double number_attr(const Node& node, std::string_view key);
// Returns a `number` without its fraction, exactly where it was given as an integer.
int64_t whole_attr(const Node& node, std::string_view key);

// These do the same for shape rules: they report a wrong count or a symbol as a bad graph.
SymInt symint_attr(const InferContext& context, std::string_view key);
std::vector<int64_t> int_list(const InferContext& context, std::string_view key);
// These are for element and reference functions, which run after the shape rule has passed.
std::vector<int64_t> int_list(const Node& node, std::string_view key);

// Returns the dims that an `ints` attribute names, each in [0, rank). The first form refuses one
// out of range or named twice. 0 and -1 name nothing in a tensor without dims.
std::vector<int> dim_list(const InferContext& context, std::string_view key, int rank);
std::vector<int> dim_list(const Node& node, std::string_view key, int rank);
// Returns the dim that an `integer` attribute names, counted from the front.
int dim_attr(const InferContext& context, std::string_view key, int rank);
int dim_attr(const Node& node, std::string_view key, int rank);

// "[B, 768]", for messages.
inline std::string shape_text(const Shape& shape) {
  return to_string(std::span<const SymInt>(shape));
}

// Fails where attribute `key` is a number that `dtype` cannot hold: a fraction or an infinity for
// integers unless `drops_fraction`, or too large a number. Floats hold every number, rounded.
void require_value_of(const InferContext& context, std::string_view key, DType dtype,
                      bool drops_fraction = false);

// Returns `shape`. Fails where a dim is negative or the number of elements overflows.
Shape checked_shape(const InferContext& context, Shape shape);
// Returns a * b. Fails when two constants overflow.
SymInt checked_size(const InferContext& context, const SymInt& a, const SymInt& b);

}  // namespace tcc::ir::ops
