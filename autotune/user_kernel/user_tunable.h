// A user's kernel as the tuner sees it, and as a program runs it once it is tuned.
#pragma once

#include "autotune/records.h"
#include "autotune/tunable.h"
#include "autotune/user_kernel/bound_kernel.h"
#include "backends/pipeline.h"
#include "executable/executable.h"
#include "scheduler/tuning.h"

namespace tcc::autotune {

// Makes a tunable of a user's kernel. Its records have the template "user:NAME"; their region is
// the hash of source, arguments, geometry and dims. `options.dims` replace the file's dims; cache
// (which must outlive the result) and `validate` are used, the other options are not. Throws
// Error(bad_input) for a mistake in the file or in the file that checks it.
Tunable tunable_of(const UserKernel& kernel, const sched::Target& target,
                   const backends::CompileOptions& options);

RecordKey key_of(const BoundKernel& kernel);

// Returns the config of the kernel's record, by the tiers that RecordStore::choose() has for
// regions; the file's default where there is none.
sched::ConfigChoice choose(const RecordStore& records, const BoundKernel& kernel);

// Makes an executable of one launch of the kernel, so that it runs like any compiled graph. Its
// arguments are the inputs, then the outputs.
exec::Executable executable_of(const BoundKernel& kernel, const sched::ConfigChoice& choice,
                               const backends::CompileOptions& options);

}  // namespace tcc::autotune
