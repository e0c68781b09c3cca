// The plan of a convolution in small groups, and the tiles of register-tiled kernels of it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "scheduler/refusal.h"
#include "scheduler/region.h"
#include "scheduler/target.h"
#include "scheduler/templates/rule_space.h"
#include "support/checked.h"

namespace tcc::sched::template_depthwise {

// The windows along one dim of the image.
struct Windows {
  int64_t in = 1, out = 1;
  int64_t taps = 1, stride = 1, dilation = 1, before = 0;

  // The pixels from the first to the last under `count` windows.
  int64_t covered(int64_t count) const { return (count - 1) * stride + (taps - 1) * dilation + 1; }
  // Whether the pixel at this distance from the first is under one of `count` windows.
  bool uses(int64_t count, int64_t pixel) const {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t from = pixel - tap * dilation;
      if (from >= 0 && from % stride == 0 && from / stride < count) return true;
    }
    return false;
  }
  // The number of such pixels.
  int64_t used(int64_t count) const {
    if (stride == 1 && dilation == 1) return covered(count);
    int64_t pixels = 0;
    for (int64_t pixel = 0; pixel < covered(count); ++pixel) pixels += uses(count, pixel);
    return pixels;
  }
};

struct Plan {
  const ir::Node* node = nullptr;
  int64_t images = 1, channels = 1;  // of the results
  int64_t inputs = 1, outputs = 1;   // channels of a group
  Windows z, y, x;                   // of one dim: x; of two: y and x
  int64_t widest = 4;                // bytes of the widest element of the image or a result
  int64_t image_bytes = 4;           // of an element
  // The results' neighbours in memory are the pixels of a row, not the channels.
  bool by_rows = false;

  int64_t taps() const { return z.taps * y.taps * x.taps; }
  int64_t terms() const { return taps() * inputs; }  // of a sum
  int64_t all_inputs() const { return channels / outputs * inputs; }
};

// A config's values.
struct Choice {
  int64_t vector, channels, strip, rows, strips, bands, staged;
  int64_t inputs = 1;  // channels of a group that are read at once
};

inline constexpr int64_t kUnrolledProducts =
    512;  // of a thread, whose rows of one window are unrolled
inline constexpr int64_t kLoopProducts = 1024;  // of an iteration over a window's rows and inputs

// The tile that a config makes.
struct Tile : Choice {
  Tile(const Plan& plan, const Choice& c)
      : Choice(c),
        groups(channels / vector),
        threads(groups * strips * bands),
        all_groups(plan.channels / vector),
        all_strips(ceil_div(plan.x.out, strip)),
        all_bands(ceil_div(plan.y.out, rows)),
        chunks(ceil_div(all_groups, groups)),
        tiles_x(ceil_div(all_strips, strips)),
        tiles_y(ceil_div(all_bands, bands)),
        workgroups(plan.images * plan.z.out * tiles_y * tiles_x * chunks),
        products(strip * rows * vector * plan.terms()),
        whole_groups(std::max<int64_t>(1, vector / plan.outputs)),
        width(whole_groups * inputs),
        input_parts(plan.inputs / inputs),
        parts(plan.z.taps * input_parts),
        rolled(rows == 1 && products > kUnrolledProducts) {}

  int64_t groups;   // vectors of channels of a workgroup
  int64_t threads;  // of a workgroup
  int64_t all_groups, all_strips, all_bands;
  int64_t chunks, tiles_x, tiles_y, workgroups;
  int64_t products;      // multiply-adds of a thread
  int64_t whole_groups;  // of the convolution, of a thread; 1 where it has a part of one
  int64_t width;         // neighbouring channels of a pixel that are read at once
  int64_t input_parts;   // of a group's inputs, one after the other,
  int64_t parts;         // in each plane of the windows
  bool rolled;           // a loop goes over the rows of a window, and over the parts

  // Neighbouring pixels of a row that every thread reads at once where images lie by rows: those
  // under the middle of its windows, which are inside the image. 0 where strips reach over it.
  int64_t run(const Plan& plan) const {
    const int64_t pixels = strip * plan.x.stride;
    const bool is_inside = plan.x.out % strip == 0 && all_strips * pixels <= plan.x.in &&
                           plan.x.before + pixels <= plan.x.covered(strip);
    return is_inside ? pixels : 0;
  }

  // Multiply-adds of a thread of which there is code.
  int64_t unrolled(const Plan& plan) const {
    return rolled ? products / (plan.y.taps * parts) : products;
  }

  // Registers of a thread, about.
  int64_t registers(const Plan& plan) const {
    const int64_t live = std::min(rows,
                                  ceil_div((plan.y.taps - 1) * plan.y.dilation + 1, plan.y.stride)),
                  line = plan.x.used(strip) * width, taps = plan.x.taps * inputs * vector,
                  filter = staged ? std::min(taps, std::max(kStagedTaps, plan.x.taps * vector))
                                  : taps * parts * std::min(rows, plan.y.taps);
    // Registers of the next line, as it is loaded.
    const int64_t next = plan.inputs == 1
                             ? line * plan.widest / 4
                             : plan.x.used(strip) * ceil_div(width * plan.image_bytes, 4);
    return 28 + live * strip * vector + line + (rolled ? 0 : next) + filter;
  }
  int64_t shared_bytes(const Plan& plan) const { return staged ? plan.terms() * channels * 4 : 0; }

 private:
  static constexpr int64_t kStagedTaps = 32;  // that wait in registers
};

OrRefusal<Plan> plan_depthwise(const Region& region, const Target& target);

struct DepthwiseCase {
  using Values = Choice;
  using Shape = Tile;
  Choice values() const { return {}; }
  Tile shape(const Choice& choice) const { return {plan, choice}; }

  Plan plan;
  Target target;
};

using DepthwiseRules = RuleSpace<DepthwiseCase>;
std::vector<Field<Choice>> all_fields();
DepthwiseRules rules_of(const Plan& plan, const Target& target);

}  // namespace tcc::sched::template_depthwise
