#include "ir/ops/_attributes.h"
#include "ir/ops/_cosine_window.h"

namespace tcc::ir::ops::op_hamming_window {

OpDef make() {
  OpDef op = cosine_window(
      "hamming_window",
      "alpha - beta cos(2 pi k / N), N being window_length, or one less unless periodic; ONNX has "
      "alpha 25/46 and beta 21/46; torch.hamming_window",
      [](const Node& node) {
        return std::array{number_attr(node, "alpha"), number_attr(node, "beta"), 0.0};
      });
  op.attrs.push_back({"alpha", AttrType::number, 0.54});
  op.attrs.push_back({"beta", AttrType::number, 0.46});
  return op;
}

}  // namespace tcc::ir::ops::op_hamming_window
