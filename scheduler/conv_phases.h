// Convolutions of images that are spread out, as transposed ones are, without the zeros between the
// elements: outputs whose numbers have the same remainder by the step of the image, a phase, see
// the same taps of the window, every step-th, and neighbouring elements of the image.
#pragma once

#include "ir/passes/graph_rewrite.h"

namespace tcc::sched {

// Whether the image of the convolution is spread out, and its phases are few convolutions of images
// that are not: windows have no step and no holes, and all sizes but the batch are numbers.
bool has_phases(const ir::Node& convolution);

// The convolution as one of each phase, whose results alternate. Where all phases see the same
// elements, as where windows are as long as the step, it is one with as many times the channels.
// The sums are those of the convolution without its zeros: elements of the image that are infinite
// or no number reach the same outputs. An infinite weight gives no NaN by zeros between elements.
ir::Value* in_phases(ir::Builder& builder, const ir::Node& convolution);

}  // namespace tcc::sched
