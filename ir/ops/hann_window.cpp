#include "ir/ops/_cosine_window.h"

namespace tcc::ir::ops::op_hann_window {

OpDef make() {
  return cosine_window("hann_window",
                       "1/2 - 1/2 cos(2 pi k / N), N being window_length, or one less unless "
                       "periodic; torch.hann_window",
                       [](const Node&) {
                         return std::array{0.5, 0.5, 0.0};
                       });
}

}  // namespace tcc::ir::ops::op_hann_window
