#include "ir/ops/_random.h"

namespace tcc::ir::ops::op_rand {

OpDef make() {
  return random_op(
      "rand", Fn::rand_uniform, random_uniform,
      "Uniform numbers in [0, 1): (r >> 8) 2^-24 of the 32 random bits r of Philox 4x32-10 with "
      "key `seed` and counter (offset, i / 4), where element i takes word i % 4; `state` (i64 [2]) "
      "is added to seed and offset; torch.rand");
}

}  // namespace tcc::ir::ops::op_rand
