// Data-parallel loops over all cores.
#pragma once

#include <cstdint>
#include <functional>

namespace tcc {

// Calls body(first, last) for disjoint, consecutive pieces that together cover [begin, end), on
// several threads at once. Pieces of `grain` or fewer elements are not split further. The split
// into pieces is not deterministic: `body` must give the same result for every split. The first
// exception thrown by `body` is rethrown here.
void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  const std::function<void(int64_t, int64_t)>& body);

// Returns the largest number of threads that parallel_for uses.
int parallelism();

}  // namespace tcc
