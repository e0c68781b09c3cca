// Windows on images, as the region of a convolution has them, and the maps with which they are
// read.
#pragma once

#include <string>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/layout.h"
#include "scheduler/target_profile.h"
#include "scheduler/templates/conv_view.h"
#include "support/error.h"

namespace tcc::test {

// An image of `images` x `height` x `width` x `channels` floats, and a filter's windows on it.
struct Im2colCase {
  int images, height, width, channels;
  int taps_y, taps_x, padding, dilation, stride;
  int lines;  // pixels of a load

  int rows() const { return places(height, taps_y); }
  int columns() const { return places(width, taps_x); }

 private:
  int places(int size, int taps) const {
    return (size + 2 * padding - dilation * (taps - 1) - 1) / stride + 1;
  }
};

inline constexpr int kLoadChannels = 8;  // of a load

inline constexpr Im2colCase kIm2colCases[] = {
    {2, 8, 8, 16, 3, 3, 1, 1, 1, 32},   // the usual 3 x 3
    {1, 9, 7, 8, 3, 3, 1, 1, 2, 4},     // strided, odd sizes: rows end within loads
    {2, 8, 8, 8, 3, 3, 2, 2, 1, 16},    // dilated
    {1, 12, 12, 24, 5, 1, 2, 1, 1, 8},  // a padding larger than a window's side needs
    {3, 4, 4, 8, 1, 1, 0, 1, 1, 16},    // 1 x 1
    {2, 10, 10, 8, 7, 7, 3, 1, 2, 25},  // a stem
};

// The map that conv_view finds in the convolution's region, whose image has its channels last.
inline exec::TensorMap im2col_map_of(const Im2colCase& c) {
  const std::string text =
      str("tcc: 1\nname: g\ninputs: {x: {dtype: f32, shape: [", c.images, ", ", c.channels, ", ",
          c.height, ", ", c.width, "]}, w: {dtype: f32, shape: [16, ", c.channels, ", ", c.taps_y,
          ", ", c.taps_x, "]}}\nnodes:\n  - {out: y, op: conv2d, in: [x, w], padding: ", c.padding,
          ", dilation: ", c.dilation, ", stride: ", c.stride, "}\noutputs: [y]\n");
  const ir::Graph graph = parse_yaml_graph(text, "conv.yaml", ".");
  const backends::Scheduled scheduled =
      backends::schedule(graph, sched::target_by_name("cuda:sm_90a"));
  sched::Region region = scheduled.regions.back().region();
  for (auto& [value, layout] : region.layouts)
    if (value->rank() >= 3) layout = sched::channels_last(value->shape());
  const auto plan = sched::plan_contraction(region);
  if (!plan) throw InternalError(plan.reason());
  const auto view = sched::conv_view(region, *plan, plan->a.input == 0);
  if (!view) throw InternalError(view.reason());
  const auto map = sched::im2col_map(*view, "image", kLoadChannels, c.lines, 0);
  if (!map) throw InternalError(map.reason());
  return *map;
}

}  // namespace tcc::test
