#include "frontend/onnx/rules/_windows.h"

#include <algorithm>

#include "frontend/onnx/rules/_common.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

std::vector<int64_t> per_dim(OpNode& n, std::string_view name, size_t spatial, int64_t least) {
  std::vector<int64_t> values = n.ints_attr(name, repeated(1, spatial));
  n.require(values.size() == spatial, str("attribute '", name, "' has ", values.size(),
                                          " entries for ", spatial, " spatial dims"));
  for (int64_t value : values)
    n.require(value >= least && value < (int64_t{1} << 31),
              str("attribute '", name, "' has an entry ", value));
  return values;
}

}  // namespace

ir::Attr Windows::padding() const {
  bool is_short = begin == end;
  for (size_t d = 0; d < begin.size(); ++d)
    is_short &= begin[d] <= ((kernel[d] - 1) * dilation[d] + 1) / 2;
  if (is_short) return ir::ints(begin);
  std::vector<int64_t> both = begin;
  both.insert(both.end(), end.begin(), end.end());
  return ir::ints(both);
}

Windows windows_of(OpNode& n, const Value* x, std::vector<int64_t> kernel, bool ceil_mode) {
  n.require(x->rank() >= 3, str("x must be [N, C, ...], not ", ir::to_string(x->type)));
  const auto spatial = static_cast<size_t>(x->rank() - 2);
  Windows w;
  w.kernel = n.ints_attr("kernel_shape", kernel);
  n.require(w.kernel.size() == spatial,
            str("kernel_shape has ", w.kernel.size(), " entries for ", spatial, " spatial dims"));
  for (int64_t extent : w.kernel)
    n.require(extent > 0 && extent < (int64_t{1} << 31), str("a kernel of ", extent));
  n.require(kernel.empty() || w.kernel == kernel, "kernel_shape differs from the weight's");
  w.stride = per_dim(n, "strides", spatial, 1);
  w.dilation = per_dim(n, "dilations", spatial, 1);
  const std::string auto_pad = n.text("auto_pad", "NOTSET");
  const std::vector<int64_t> pads = n.ints_attr("pads", repeated(0, 2 * spatial));
  n.require(pads.size() == 2 * spatial,
            str("pads has ", pads.size(), " entries for ", spatial, " spatial dims"));
  w.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  w.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  if (auto_pad == "NOTSET" || auto_pad.empty()) return w;
  w.begin = w.end = repeated(0, spatial);
  if (auto_pad == "VALID") return w;
  n.require(auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER",
            "auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  for (size_t d = 0; d < spatial; ++d) {
    const SymInt& in = x->shape()[d + 2];
    const int64_t span = (w.kernel[d] - 1) * w.dilation[d] + 1;
    int64_t total = span - 1;  // a stride of 1 needs no size
    if (w.stride[d] != 1) {
      n.require(in.is_const(), str("auto_pad needs the size of spatial dim ", d, "; bind it (",
                                   n.dim_option(), ")"));
      // In checked arithmetic, as everything on dims.
      const SymInt out = ir::ceildiv(in, w.stride[d]);
      total = ir::max(0, (out - 1) * w.stride[d] + span - in).value();
    }
    w.begin[d] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.end[d] = total - w.begin[d];
  }
  return w;
}

std::vector<int64_t> kernel_of(OpNode& n, const Value* weight) {
  n.require(weight->rank() >= 3,
            str("the weight must have a spatial dim: ", ir::to_string(weight->type)));
  std::vector<int64_t> kernel;
  for (size_t d = 2; d < weight->shape().size(); ++d) {
    n.require(weight->shape()[d].is_const(), "the size of the kernel must be constant");
    kernel.push_back(weight->shape()[d].value());
  }
  return kernel;
}

std::string by_rank(OpNode& n, std::string_view op, size_t spatial) {
  n.require(spatial <= 3, str(spatial, " spatial dims; at most 3 are supported"));
  return str(op, spatial, "d");
}

Value* convolved(OpNode& n, Value* x, Value* weight, Value* bias) {
  const Windows w = windows_of(n, x, kernel_of(n, weight));
  return n.b.op(by_rank(n, "conv", w.kernel.size()), {x, weight, bias},
                {{"stride", ir::ints(w.stride)},
                 {"padding", w.padding()},
                 {"dilation", ir::ints(w.dilation)},
                 {"groups", n.integer("group", 1)}});
}

ir::Attrs window_attrs(OpNode& n, const Windows& w) {
  return {{"kernel_size", ir::ints(w.kernel)},
          {"stride", ir::ints(w.stride)},
          {"padding", w.padding()},
          {"dilation", ir::ints(w.dilation)},
          {"ceil_mode", n.flag("ceil_mode", false)}};
}

Value* average_pooled(OpNode& n, Value* x) {
  const Windows w = windows_of(n, x, {});
  ir::Attrs attrs = window_attrs(n, w);
  attrs["count_include_pad"] = n.flag("count_include_pad", false);
  return n.b.op(by_rank(n, "avg_pool", w.kernel.size()), {x}, attrs);
}

}  // namespace tcc::onnx
