// unfold and fold share the columns of an image, one for each place of a window.
#pragma once

#include <string>
#include <vector>

#include "ir/op.h"
#include "ir/ops/_window.h"

namespace tcc::ir::ops {

// The geometry of a checked node: windows over an image of `extents`, and how many places there are
// in each dim.
struct Columns {
  std::vector<Window> windows;
  Shape extents, kernel, places;

  int spatial() const { return static_cast<int>(windows.size()); }
};
Columns columns_of(const Node& node, const Shape& extents);
// Does the same for shape rules, with checks.
Columns columns_of(const InferContext& context, const Shape& extents);
int window_rank(const Node& node);  // the entries of kernel_size

// An op with the window's attributes, whose operand is x.
OpDef column_op(std::string name);

}  // namespace tcc::ir::ops
