// Losses against class indices.
#pragma once

#include <vector>

#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::ir::ops {

// The type of a loss of input [C], [N, C] or [N, C, d1, ...] against integer targets of that shape
// without C, under an optional weight [C]. Reads `reduction`.
std::vector<Type> infer_class_loss(const InferContext& context);

// -weight[target] * log_prob[target], plus a share `smoothing` of the mean over all classes; 0
// where target is `ignore_index`. Reduced as the node's `reduction` says, a mean being weighted and
// over the targets that count. `log_prob` has a compute dtype.
Value* class_loss(Builder& b, const Node& node, Value* log_prob, double smoothing);

// The dim of the classes.
inline int class_dim(const Shape& input) { return input.size() == 1 ? 0 : 1; }

AttrDef ignore_index_attr();

}  // namespace tcc::ir::ops
