// A user's kernel as the tuner sees it, and as a program runs it once it is tuned.
#pragma once

#include "autotune/records.h"
#include "autotune/tunable.h"
#include "autotune/user_kernel/bound_kernel.h"
#include "backends/pipeline.h"
#include "executable/executable.h"
#include "scheduler/tuning.h"

namespace tcc::autotune {

// Records of it are of the template "user:NAME"; their region is the hash of source, arguments,
// geometry and dims. `options.dims` replace the file's dims; cache (which must outlive the result)
// and `validate` are used, the rest is not. Throws Error(bad_input) for what is wrong with the
// file, or with the file that checks it.
Tunable tunable_of(const UserKernel& kernel, const sched::Target& target,
                   const backends::CompileOptions& options);

RecordKey key_of(const BoundKernel& kernel);

// The config of the kernel's record, by the tiers that RecordStore::choose() has for regions; the
// file's default where there is none.
sched::ConfigChoice choose(const RecordStore& records, const BoundKernel& kernel);

// One launch of the kernel, so that it runs like any compiled graph: the inputs, then the outputs.
exec::Executable executable_of(const BoundKernel& kernel, const sched::ConfigChoice& choice,
                               const backends::CompileOptions& options);

}  // namespace tcc::autotune
