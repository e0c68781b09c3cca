// Data-parallel loops over all cores.
#pragma once

#include <cstdint>
#include <functional>

namespace tcc {

// Calls body(first, last) for disjoint, consecutive pieces that together cover [begin, end), on
// several threads at once. Pieces of `grain` or fewer elements are not split further. Which pieces
// there are is not deterministic: `body` must give the same result for every split. The first
// exception thrown by `body` is rethrown here.
void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  const std::function<void(int64_t, int64_t)>& body);

// How many threads parallel_for uses at most.
int parallelism();

}  // namespace tcc
