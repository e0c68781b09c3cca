#include "scheduler/conv_dims.h"

#include <algorithm>
#include <span>

namespace tcc::sched {

bool has_conv_dims(const ir::Node& conv) {
  const auto all = [](std::span<const ir::SymInt> dims) {
    return std::ranges::all_of(
        dims, [](const ir::SymInt& dim) { return dim.is_const() && dim.value() > 0; });
  };
  const std::span<const ir::SymInt> image = conv.inputs[0]->shape();
  return image.size() > 2 && !image[0].is(0) && all(image.subspan(1)) &&
         all(conv.inputs[1]->shape());
}

std::vector<ConvDim> conv_dims(const ir::Node& conv) {
  const ir::Shape &x = conv.inputs[0]->shape(), &w = conv.inputs[1]->shape();
  const size_t spatial = x.size() - 2;
  const auto list = [&](const char* key, size_t size) {
    std::vector<int64_t> values = conv.ints(key);
    if (values.size() == 1) values.resize(size, values[0]);
    return values;
  };
  const auto stride = list("stride", spatial), dilation = list("dilation", spatial),
             spread = list("input_dilation", spatial), padding = list("padding", 2 * spatial);
  std::vector<ConvDim> dims;
  for (size_t d = 0; d < spatial; ++d)
    dims.push_back({x[d + 2].value(), w[d + 2].value(), stride[d], padding[2 * d],
                    padding[2 * d + 1], dilation[d], spread[d]});
  return dims;
}

}  // namespace tcc::sched
