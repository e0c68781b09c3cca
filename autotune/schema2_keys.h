// The keys of tuning records of schema 2, as the tcc that wrote them made them: for `tcc-tune
// migrate` alone. This file and schema2_keys.cpp may be deleted with the release that no longer
// migrates schema 2 (docs/decisions/020-one-key.md): nothing else uses them.
#pragma once

#include <string>

#include "scheduler/region.h"

namespace tcc::autotune {

// 32 digits: the key of the region in records of schema 2.
std::string schema2_key(const sched::Region& region);

}  // namespace tcc::autotune
