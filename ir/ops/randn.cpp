#include "ir/ops/_random.h"

namespace tcc::ir::ops::op_randn {

OpDef make() {
  return random_op("randn", Fn::rand_normal, random_normal,
                   "Standard normal numbers by Box-Muller from Philox 4x32-10 with key `seed` and "
                   "counter (offset, i / 4): elements 2k and 2k + 1 are the cosine and the sine of "
                   "one pair of words (see _philox.h); torch.randn");
}

}  // namespace tcc::ir::ops::op_randn
