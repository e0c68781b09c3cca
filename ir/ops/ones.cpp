#include "ir/ops/_creation.h"

namespace tcc::ir::ops {

OpDef make_ones() { return filling("ones", 1, "A tensor of ones; torch.ones"); }

}  // namespace tcc::ir::ops
