// The rules of `simplify`.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "ir/builder.h"
#include "ir/graph.h"

namespace tcc::ir {

// Returns a value of the same type that may replace the only result of `node`, or null. May add
// nodes.
using SimplifyRule = Value* (*)(Builder& b, const Node& node);

std::span<const SimplifyRule> movement_rules();
std::span<const SimplifyRule> arithmetic_rules();

// Returns the value that every element of `value` is known to have; nothing unless `value` is an
// immutable constant.
std::optional<double> known_splat(const Value* value);

// Returns the node that makes `value`, if its op is `name`; else null.
const Node* producer_of(const Value* value, std::string_view name);

inline bool is_one_of(const Node& node, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, node.op_name()) != names.end();
}

}  // namespace tcc::ir
