// Ops that make tensors from attributes.
#pragma once

#include <functional>
#include <string>

#include "ir/builder.h"
#include "ir/op.h"
#include "ir/ops/_attributes.h"

namespace tcc::ir::ops {

// A constant in `dtype`'s compute dtype, of the value that `dtype` holds: bool != 0, integers
// without the fraction.
Expr constant_of(DType dtype, double value);

// Composes to `full`: of the attributes `size` and `dtype`, or of the type of x. With samples.
OpDef filling(std::string name, double value, std::string doc);
OpDef filling_like(std::string name, std::function<double(const Node&)> value, std::string doc);

}  // namespace tcc::ir::ops
