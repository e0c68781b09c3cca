// The prefix operations share this definition.
#pragma once

#include <string>

#include "ir/op.h"

namespace tcc::ir::ops {

// A scan op with the sums' output dtype (i64 for integers and bool); `kind` is sum or prod.
// Attributes: `dim`; `exclusive` leaves a position's own element out, so that the first result is
// the identity; `reverse` starts at the end. With samples of floats in [lo, hi).
OpDef scan_op(std::string name, ReduceKind kind, std::string doc, double lo, double hi);

}  // namespace tcc::ir::ops
