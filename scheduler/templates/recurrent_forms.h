// The forms of recurrent kernels by the device source's own numbers.
#pragma once

#include <cstdint>

#include "backends/device/common/recurrent_forms.inc"

namespace tcc::sched {

enum Weights : int64_t {
  kInShared = IN_SHARED,
  kInRegisters = IN_REGISTERS,
  kInMemory = IN_MEMORY
};
enum Exchange : int64_t { kAlone = ALONE, kByLaunch = BY_LAUNCH, kByWaiting = BY_WAITING };

}  // namespace tcc::sched

#undef IN_SHARED
#undef IN_REGISTERS
#undef IN_MEMORY
#undef ALONE
#undef BY_LAUNCH
#undef BY_WAITING
