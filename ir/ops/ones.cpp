#include "ir/ops/_creation.h"

namespace tcc::ir::ops::op_ones {

OpDef make() { return filling("ones", 1, "A tensor of ones; torch.ones"); }

}  // namespace tcc::ir::ops::op_ones
