#include "support/parallel.h"

#include <algorithm>

#include "support/parallel_threads.h"

// The thread sanitizer sees into threads of our own alone: tasks of oneTBB count down a number on
// the stack of what waits for them, which its library reads unseen.
#if !defined(TCC_WITHOUT_TBB) && !defined(__SANITIZE_THREAD__)
#define TCC_TASKS 1
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#endif

namespace tcc {

#if !defined(TCC_TASKS)
void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  const std::function<void(int64_t, int64_t)>& body) {
  parallel_for_on_threads(begin, end, grain, hardware_threads(), body);
}

int parallelism() { return hardware_threads(); }
#else
void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  const std::function<void(int64_t, int64_t)>& body) {
  if (begin >= end) return;
  grain = std::max<int64_t>(grain, 1);
  if (end - begin <= grain) return body(begin, end);
  tbb::parallel_for(
      tbb::blocked_range<int64_t>(begin, end, static_cast<size_t>(grain)),
      [&](const tbb::blocked_range<int64_t>& range) { body(range.begin(), range.end()); });
}

int parallelism() { return tbb::this_task_arena::max_concurrency(); }
#endif

}  // namespace tcc
