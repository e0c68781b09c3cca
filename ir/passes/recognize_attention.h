#pragma once

#include "ir/graph.h"

namespace tcc::ir {

// Makes one scaled_dot_product_attention of
//   matmul(softmax(mask(matmul(query, key^T) * scale)), value)
// as exporters write it:
//   - products by matmul, bmm or einsum; heads as a dim or taken into the batch by reshapes;
//   - a constant scale, multiplied or divided, on the scores or on query and key (where those are
//     f16, the query keeps it: without it the product may overflow);
//   - masks that are added, and bool masks by where or masked_fill with -inf or a number so low
//     that it hides as well, several after one another; is_causal only where the mask is known to
//     be causal without loading a weight;
//   - casts between floats, a floor of the scores (maximum with the lowest number), inactive
//     dropout, and probabilities of NaN replaced by 0 (which becomes `safe_softmax`);
//   - a column that is appended to the scores and dropped behind the softmax (an attention sink),
//     which becomes a factor of the results by their log-sum-exp;
//   - key and value heads that are repeated for groups of query heads (enable_gqa).
//
// Nothing is changed where anyone else reads the scores or the probabilities, or where something
// else is done to them. Scores are computed in f32 or wider, so results are rounded less often than
// before. Where there is a softmax, bmm, einsum and dropout become their compositions, and the
// result is simplified. Dims may be symbolic.
void recognize_attention(Graph& graph);

}  // namespace tcc::ir
