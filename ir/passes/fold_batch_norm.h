#pragma once

#include "ir/graph.h"

namespace tcc::ir {

// Folds batch_norm into the convolution before it. Where conv1d, conv2d, conv3d or a linear layer
// on [N, in] has immutable weights, feeds only a batch_norm, and that has immutable statistics, the
// two become one op with
//   weight * s   and   (bias - running_mean) * s + batch_norm's bias,
//   s = rsqrt(running_var + eps) * batch_norm's weight,
// per output channel. The new weights are nodes on constants, computed in f32 (f64 for f64) and
// rounded to the weight's dtype once: run fold_constants after it.
void fold_batch_norm(Graph& graph);

}  // namespace tcc::ir
