// The emitter turns kernel IR into a target's text. It walks the kernel once; everything that
// differs between targets comes from a Dialect table or a device source file.
#pragma once

#include "executable/kernel_binary.h"
#include "scheduler/kernel.h"
#include "scheduler/target.h"

namespace tcc::backends {

struct EmitOptions {
  bool library = true;  // false: without prelude and math, for reading
};

// `kernel` is legalised for `target`. Deterministic.
exec::KernelText emit(const sched::Kernel& kernel, const sched::Target& target,
                      const EmitOptions& options = {});

}  // namespace tcc::backends
