// The pooling ops share the reduction of one window, as an expression and as plain loops.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ir/op.h"
#include "ir/ops/_window.h"

namespace tcc::ir::ops {

// The reduction of operand 0 over one window: `index` is the output's, `axes` are the window's
// serial axes and `taps` the position in each spatial dim. Positions that are not valid count as
// the identity.
Expr reduce_window(ElementContext& context, ReduceKind kind, std::span<const SymInt> index,
                   std::span<const SymInt> axes, std::span<const Tap> taps);

// sum / count, `count` being an index expression.
Expr divide_by_count(const Expr& sum, const SymInt& count);

// The window in one dim of a concrete tensor: `count` positions from `first` on, `step` apart;
// those outside are skipped.
struct WindowRange {
  int64_t first, count, step;
};
// Fills the output with the reduction (max or sum) of every window; `range(d, o)` is the window of
// output position o in spatial dim d, `divisor(o)` (null: none) what a sum over the window at the
// spatial index o is divided by.
void pool_reference(EvalContext& context, ReduceKind kind, int spatial,
                    const std::function<WindowRange(size_t d, int64_t o)>& range,
                    const std::function<double(std::span<const int64_t> o)>& divisor);

// The windows of a checked node with the attributes of pool_attrs(), and its shape rule: the dtype
// stays.
std::vector<AttrDef> pool_attrs();
std::vector<Window> pool_windows(const Node& node, int spatial);
std::vector<Type> infer_pool(const InferContext& context, int spatial);

// max_poolNd and avg_poolNd, without samples.
OpDef max_pool_op(int spatial);
OpDef avg_pool_op(int spatial);
// The composites max_poolNd_with_indices, lp_poolNd and max_unpoolNd, without samples.
OpDef max_pool_with_indices_op(int spatial);
OpDef lp_pool_op(int spatial);
OpDef max_unpool_op(int spatial);

// The primitives adaptive_max_pool and adaptive_avg_pool over `output_size.size()` spatial dims,
// without samples, and the composites adaptive_max_poolNd and adaptive_avg_poolNd, which reduce
// plainly where the output is one element.
OpDef adaptive_pool_op(ReduceKind kind);
OpDef adaptive_pool_op(ReduceKind kind, int spatial);

}  // namespace tcc::ir::ops
