// Reading attributes that may be written in several ways.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op.h"

namespace tcc::ir::ops {

// An `ints` attribute; a single integer n stands for {n}.
Shape symint_list(const Node& node, std::string_view key);
// One integer, possibly symbolic: an `integer`, or an `ints` with one element.
SymInt symint_attr(const Node& node, std::string_view key);
// A `number`, also where it was given as an integer.
double number_attr(const Node& node, std::string_view key);

// The same for shape rules, which report a wrong count or a symbol as a bad graph.
SymInt symint_attr(const InferContext& context, std::string_view key);
std::vector<int64_t> int_list(const InferContext& context, std::string_view key);
// For elements and references, after the shape rule has passed.
std::vector<int64_t> int_list(const Node& node, std::string_view key);

// The dims that an `ints` attribute names, each in [0, rank); the first form refuses one out of
// range or named twice. 0 and -1 name nothing in a tensor without dims.
std::vector<int> dim_list(const InferContext& context, std::string_view key, int rank);
std::vector<int> dim_list(const Node& node, std::string_view key, int rank);
// The dim that an `integer` attribute names, counted from the front.
int dim_attr(const InferContext& context, std::string_view key, int rank);
int dim_attr(const Node& node, std::string_view key, int rank);

// "[B, 768]", for messages.
inline std::string shape_text(const Shape& shape) {
  return to_string(std::span<const SymInt>(shape));
}

// Fails where attribute `key` is a number that `dtype` cannot hold: a fraction or an infinity for
// integers, or too large a number. Floats hold every number, rounded.
void require_value_of(const InferContext& context, std::string_view key, DType dtype);

// `shape`, once it is known that no dim is negative and that the number of elements does not
// overflow.
Shape checked_shape(const InferContext& context, Shape shape);
// a * b, refused when two constants overflow.
SymInt checked_size(const InferContext& context, const SymInt& a, const SymInt& b);

}  // namespace tcc::ir::ops
