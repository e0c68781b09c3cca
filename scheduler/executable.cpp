#include "scheduler/executable.h"

#include <algorithm>

namespace tcc::sched {

int64_t assumed_alignment(const Executable& executable, int buffer) {
  constexpr int kUnknown = 16;
  int most = 1;
  for (const Launch& launch : executable.launches) {
    const auto& assumed = executable.kernels[static_cast<size_t>(launch.kernel)].alignments;
    for (size_t i = 0; i < launch.buffers.size(); ++i)
      if (launch.buffers[i] == buffer)
        most = std::max(most, assumed.empty() ? kUnknown : assumed[i]);
  }
  return most;
}

}  // namespace tcc::sched
