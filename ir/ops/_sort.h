// The sorting ops share these functions.
#pragma once

#include <vector>

#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::ir::ops {

// Values and i64 indices of the first `keep` elements of x along `dim` in ascending or descending
// order (0: of all of them), as `sort_runs` orders them; x may be bool or without dims.
std::vector<Value*> sorted_along(Builder& b, Value* x, int dim, bool descending, int64_t keep);

// Samples of x for an op that sorts along attribute `dim`: ties, sizes of 0 and 1, all kinds of
// types; every dim that is sorted is 0 or has `least` elements or more.
std::vector<OpSample> sort_samples(int64_t least);

}  // namespace tcc::ir::ops
