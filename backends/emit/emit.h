// The emitter: kernel IR to a target's text. It walks the kernel once; everything that differs
// between targets comes from a Dialect table or a device source file.
#pragma once

#include <string>
#include <vector>

#include "scheduler/kernel.h"
#include "scheduler/target.h"

namespace tcc::backends {

struct EmittedKernel {
  // The region, for people: comment lines to stand before the source. They hold names that a user
  // gave to values, so that no key may depend on them.
  std::string comment;
  std::string source;  // a whole translation unit
  bool argument_table =
      false;  // more arguments than push constants hold: they come through a table in memory
  bool waits = false;           // for the launch before it, before it reads or writes
  std::vector<int> alignments;  // what the arguments' addresses must be multiples of, in bytes
};

struct EmitOptions {
  bool library = true;  // false: without prelude and math, for reading
};

// `kernel` is legalised for `target`. Deterministic.
EmittedKernel emit(const sched::Kernel& kernel, const sched::Target& target,
                   const EmitOptions& options = {});

}  // namespace tcc::backends
