// Limits of what a workgroup can hold at once, which graph passes and templates share.
#pragma once

#include <algorithm>

#include "ir/dtype.h"
#include "scheduler/target.h"

namespace tcc::sched {

// The bytes of a key while it is sorted.
inline int64_t sorted_key_bytes(DType key) { return std::max(4, size_bytes(key)); }

// The longest run of keys of `key` that one workgroup of `target` sorts.
int64_t longest_run(DType key, const Target& target);

// Columns of a row that the workgroups of a cluster, or one alone, keep in registers, at most.
int64_t most_kept_columns(const Target& target);

}  // namespace tcc::sched
