// Bulk tensor copies of kind im2col (exec::Im2col): rows of channels of neighbouring pixels, moved to one tap of a filter.
#include "sm90.cuh"

// Channels from `channel` on of the map's many pixels from the one at `pixel` (innermost spatial dim first) of image
// `image`, moved by `tap`: the tap's place in the filter times the dilation, 0 and more. Bytes count for `barrier`, those
// of zeros outside of the image, too. With MULTICAST, to the same places in all workgroups of the cluster that `mask` names.
template <i32 SPATIAL, bool MULTICAST>
TCC_FN void tma_load_im2col(u32 to, const TensorMap& map, u32 barrier, u16 mask, i32 channel, const i32 (&pixel)[SPATIAL],
                            i32 image, const u16 (&tap)[SPATIAL]) {
  static_assert(SPATIAL >= 1 && SPATIAL <= 3, "images have one to three spatial dims");
  const i32 x = pixel[0], y = SPATIAL > 1 ? pixel[SPATIAL > 1 ? 1 : 0] : 0, z = SPATIAL > 2 ? pixel[SPATIAL - 1] : 0;
  const u16 tx = tap[0], ty = SPATIAL > 1 ? tap[SPATIAL > 1 ? 1 : 0] : u16(0), tz = SPATIAL > 2 ? tap[SPATIAL - 1] : u16(0);
#define TMA_IM2COL(spatial, rank, at, offsets)                                                                       \
  if constexpr (SPATIAL == spatial && MULTICAST)                                                                     \
    asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"        \
                 ".multicast::cluster [%0], [%1, " at "], [%2], " offsets ", %3;"                                    \
                 ::"r"(to), "l"(&map), "r"(barrier), "h"(mask), "r"(channel), "r"(image), "r"(x), "r"(y), "r"(z),    \
                 "h"(tx), "h"(ty), "h"(tz) : "memory");                                                              \
  if constexpr (SPATIAL == spatial && !MULTICAST)                                                                    \
    asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"        \
                 " [%0], [%1, " at "], [%2], " offsets ";"                                                           \
                 ::"r"(to), "l"(&map), "r"(barrier), "h"(mask), "r"(channel), "r"(image), "r"(x), "r"(y), "r"(z),    \
                 "h"(tx), "h"(ty), "h"(tz) : "memory");
  TMA_IM2COL(1, 3, "{%4, %6, %5}", "{%9}")
  TMA_IM2COL(2, 4, "{%4, %6, %7, %5}", "{%9, %10}")
  TMA_IM2COL(3, 5, "{%4, %6, %7, %8, %5}", "{%9, %10, %11}")
#undef TMA_IM2COL
}
