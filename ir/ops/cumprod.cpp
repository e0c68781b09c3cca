#include "ir/ops/_scan.h"

namespace tcc::ir::ops::op_cumprod {

OpDef make() {
  return scan_op("cumprod", ReduceKind::prod,
                 "Products of x up to and with each position along dim, without it if `exclusive`, "
                 "from the end if `reverse`; integers and bool give i64; torch.cumprod",
                 0.5, 1.5);
}

}  // namespace tcc::ir::ops::op_cumprod
