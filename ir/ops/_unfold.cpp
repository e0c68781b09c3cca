#include "ir/ops/_unfold.h"

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

Columns make_columns(const Shape& extents, const std::vector<int64_t>& kernel,
                     const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation,
                     const Padding& padding) {
  Columns columns;
  columns.extents = extents;
  for (size_t d = 0; d < kernel.size(); ++d) {
    const Window w = {kernel[d], stride[d], dilation[d], padding.lo[d], padding.hi[d]};
    columns.windows.push_back(w);
    columns.kernel.push_back(kernel[d]);
    columns.places.push_back(w.positions(extents[d]));
  }
  return columns;
}

}  // namespace

int window_rank(const Node& node) {
  return static_cast<int>(symint_list(node, "kernel_size").size());
}

Columns columns_of(const Node& node, const Shape& extents) {
  const int rank = window_rank(node);
  return make_columns(extents, spatial_ints(node, "kernel_size", rank),
                      spatial_ints(node, "stride", rank), spatial_ints(node, "dilation", rank),
                      spatial_padding(node, "padding", rank));
}

Columns columns_of(const InferContext& context, const Shape& extents) {
  const int rank = window_rank(context.node);
  const auto columns = make_columns(extents, spatial_ints(context, "kernel_size", rank, 1),
                                    spatial_ints(context, "stride", rank, 1),
                                    spatial_ints(context, "dilation", rank, 1),
                                    spatial_padding(context, "padding", rank));
  for (size_t d = 0; d < extents.size(); ++d) {
    context.require(!extents[d].is(0), "an image has an empty dim");
    require_fit(context, columns.windows[d], extents[d]);
  }
  checked_shape(context, columns.kernel);
  checked_shape(context, columns.places);
  return columns;
}

OpDef column_op(std::string name) {
  OpDef op;
  op.name = std::move(name);
  op.operands = {"x"};
  op.attrs = {{"kernel_size", AttrType::ints, std::nullopt},  // one entry for each spatial dim
              {"dilation", AttrType::ints, ints({1}), {}, true},
              {"padding", AttrType::ints, ints({0}), {}, true},
              {"stride", AttrType::ints, ints({1}), {}, true}};
  return op;
}

}  // namespace tcc::ir::ops
