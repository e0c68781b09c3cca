#include "ir/ops/_creation.h"

namespace tcc::ir::ops::op_zeros {

OpDef make() { return filling("zeros", 0, "A tensor of zeros; torch.zeros"); }

}  // namespace tcc::ir::ops::op_zeros
