// The loops of support/parallel.h without oneTBB: for builds of the runtime alone, whose loops copy
// and convert tensors. Every loop starts its threads anew.
#pragma once

#include <cstdint>
#include <functional>

namespace tcc {

// As parallel_for, on at most `threads` threads, the calling one among them.
void parallel_for_on_threads(int64_t begin, int64_t end, int64_t grain, int threads,
                             const std::function<void(int64_t, int64_t)>& body);

// Returns how many threads the machine runs at once, at least 1.
int hardware_threads();

}  // namespace tcc
