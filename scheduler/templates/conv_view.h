// A contraction's operand as an image in memory under moving windows: what loads of kind im2col
// (exec::Im2col) bring without a thread's help. operand_view.h has the operands that are matrices.
#pragma once

#include <string>
#include <vector>

#include "executable/tensor_map.h"
#include "scheduler/templates/contraction_plan.h"
#include "scheduler/templates/operand_view.h"

namespace tcc::sched {

// Pixels are the operand's own axis, ordered by image, then by place. k is ordered by tap, in any
// order of the spatial dims, then by channel. Pixel p under tap t is at p * step + t * dilation -
// padding of each spatial dim, and is zero outside of [0, extent). Offsets and pitches are in
// elements.
struct ConvView {
  struct Spatial {
    int64_t extent, pitch;  // of the image
    int64_t outputs, step;  // pixels of the result
    int64_t taps, dilation;
    int64_t padding;  // before the first element; negative: so many elements are skipped
    int64_t along_k;  // the tap is k / along_k % taps; 0: there is one
  };
  int buffer = 0;  // the kernel's slot
  DType dtype = DType::bf16;
  int64_t offset = 0;  // of the first element of the first image
  SymInt images = 1;   // may be open
  int64_t image_pitch = 0;
  std::vector<Spatial> spatial;               // 1 to 3, outermost first
  int64_t channels = 1, all_channels = 1;     // of one group, and of the image; they are neighbours
  std::vector<OperandView::BatchAxis> batch;  // groups: a batch begins at other channels

  SymInt pixels() const;  // of all images' results
  int64_t taps() const;
};

// Refuses, with the reason, an operand that is computed, whose channels are no neighbours, whose
// elements are spread out (a transposed convolution), and one without windows.
OrRefusal<ConvView> conv_view(const Region& region, const ContractionPlan& plan, bool of_a);

// Returns the map with which loads bring `channels` of `pixels` pixels of the image at a tap, or
// the reason why the copy engine cannot read the image so.
OrRefusal<exec::TensorMap> im2col_map(const ConvView& view, std::string name, int channels,
                                      int pixels, int swizzle);

}  // namespace tcc::sched
