// Graph passes and templates share these limits of what a workgroup can hold at once.
#pragma once

#include <algorithm>

#include "ir/dtype.h"
#include "scheduler/target.h"

namespace tcc::sched {

// The bytes of a key while it is sorted.
inline int64_t sorted_key_bytes(DType key) { return std::max(4, size_bytes(key)); }

// The longest run of keys of `key` that one workgroup of `target` sorts.
int64_t longest_run(DType key, const Target& target);

// Returns the largest number of columns of a row that one workgroup, or the workgroups of a
// cluster, keep in registers.
int64_t most_kept_columns(const Target& target);

}  // namespace tcc::sched
