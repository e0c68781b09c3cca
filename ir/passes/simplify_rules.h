// The rules of `simplify`.
#pragma once

#include <optional>
#include <span>

#include "ir/builder.h"
#include "ir/graph.h"

namespace tcc::ir {

// A value of the same type that may stand for the only result of `node`, or null. May add nodes.
using SimplifyRule = Value* (*)(Builder& b, const Node& node);

std::span<const SimplifyRule> movement_rules();
std::span<const SimplifyRule> arithmetic_rules();

// The value that every element of `value` is known to have; nothing for anything but immutable
// constants.
std::optional<double> known_splat(const Value* value);

// The node that makes `value`, if it is one of the op `name`.
const Node* producer_of(const Value* value, std::string_view name);

}  // namespace tcc::ir
