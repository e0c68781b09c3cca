// The cell of long short-term memory, whatever its weights are.
#pragma once

#include "ir/ops/_recurrent.h"

namespace tcc::ir::ops {

// Makes the op without name and doc. Gates are in the order input, output, forget, cell.
RecurrentOp lstm_layer();

}  // namespace tcc::ir::ops
