// Views that put the dims of x in another order.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ir/ops/_movement.h"

namespace tcc::ir::ops {

// A view whose dim d is dim dims(node, rank)[d] of x; `check` looks at the attributes first.
OpDef permuting(std::string name, std::string doc, std::vector<AttrDef> attrs,
                std::function<void(const InferContext&)> check,
                std::function<std::vector<int>(const Node&, int rank)> dims);

}  // namespace tcc::ir::ops
