#include "scheduler/limits.h"

namespace tcc::sched {

int64_t longest_run(DType key, const Target& target) {
  // Elements of a thread that sorts the longest runs, and threads beyond which more do not pay.
  constexpr int64_t kItems = 9, kThreads = 256;
  const int64_t fitting = target.static_shared_bytes() / ((sorted_key_bytes(key) + 4) * kItems);
  const int64_t most = std::min({fitting, int64_t{target.max_workgroup_size}, kThreads});
  int64_t threads = 1;
  while (threads * 2 <= most) threads *= 2;
  return threads * kItems;
}

int64_t most_kept_columns(const Target& target) {
  return target.max_cluster * int64_t{target.registers_per_unit} / 2;
}

}  // namespace tcc::sched
