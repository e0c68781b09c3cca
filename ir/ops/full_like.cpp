#include <optional>

#include "ir/ops/_creation.h"

namespace tcc::ir::ops::op_full_like {

OpDef make() {
  OpDef op = filling_like(
      "full_like", [](const Node& node) { return node.attrs.at("fill_value"); },
      "A tensor of one value of the type of x; torch.full_like");
  op.attrs = {{"fill_value", AttrType::number, std::nullopt}};
  for (OpSample& sample : op.samples) sample.attrs = {{"fill_value", 3.0}};
  return op;
}

}  // namespace tcc::ir::ops::op_full_like
