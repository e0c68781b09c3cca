#include "ir/ops/_cosine_window.h"

namespace tcc::ir::ops::op_blackman_window {

OpDef make() {
  return cosine_window("blackman_window",
                       "0.42 - 0.5 cos(2 pi k / N) + 0.08 cos(4 pi k / N), N being window_length, "
                       "or one less unless periodic; torch.blackman_window",
                       [](const Node&) {
                         return std::array{0.42, 0.5, 0.08};
                       });
}

}  // namespace tcc::ir::ops::op_blackman_window
