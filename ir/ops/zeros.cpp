#include "ir/ops/_creation.h"

namespace tcc::ir::ops {

OpDef make_zeros() { return filling("zeros", 0, "A tensor of zeros; torch.zeros"); }

}  // namespace tcc::ir::ops
