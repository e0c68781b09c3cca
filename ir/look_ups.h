// Ops that read elements of one operand at the places that another holds.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/graph.h"

namespace tcc::ir {

inline bool is_look_up(const Node& node) {
  static constexpr std::array<std::string_view, 4> kNames = {"embedding", "gather", "gather_nd",
                                                             "index_select"};
  return std::ranges::find(kNames, node.op_name()) != kNames.end();
}

}  // namespace tcc::ir
