// These ops make tensors from attributes.
#pragma once

#include <functional>
#include <string>

#include "ir/builder.h"
#include "ir/op.h"
#include "ir/ops/_attributes.h"

namespace tcc::ir::ops {

// Returns a constant in `dtype`'s compute dtype, with the value as `dtype` holds it: bool != 0,
// integers without the fraction.
Expr constant_of(DType dtype, double value);
// The same of an attribute.
Expr constant_of(DType dtype, const Node& node, std::string_view key);

// Makes an op that composes to `full`, with the attributes `size` and `dtype`, or with the type of
// x. It has samples.
OpDef filling(std::string name, double value, std::string doc);
OpDef filling_like(std::string name, std::function<Attr(const Node&)> value, std::string doc);

}  // namespace tcc::ir::ops
