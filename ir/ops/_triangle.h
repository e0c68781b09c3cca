// tril and triu share these functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ir/op.h"

namespace tcc::ir::ops {

// The op with its shape rule, attribute `diagonal` and samples; without element and reference.
OpDef triangle(std::string name, std::string doc);
// The reference: keeps the elements for whose (column - row) `keep` holds, the rest stay 0.
void copy_where(EvalContext& context, const std::function<bool(int64_t column_less_row)>& keep);

}  // namespace tcc::ir::ops
