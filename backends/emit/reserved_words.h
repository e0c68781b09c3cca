// Names that have another meaning in the text of a kernel.
#pragma once

#include "backends/emit/dialect.h"
#include "scheduler/kernel_names.h"

namespace tcc::backends {

// The words of all dialects, so that a kernel has the same names in each language, and what the
// prelude and the kernel's device source define as macros. Names that begin with tcc_ or TCC_ are
// the library's.
sched::KernelNames::Reserved reserved_words(const Dialect& dialect, const sched::Kernel& kernel);

}  // namespace tcc::backends
