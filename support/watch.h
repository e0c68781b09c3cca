// A caller follows long work and ends it by this: backends::compile(), runtime::Program.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

#include "tcc/progress.hpp"

namespace tcc {

class Watch {
 public:
  using Progress = std::function<void(const CompileProgress&)>;

  // Either may be empty. `progress` is called one call at a time, `cancelled` from any thread.
  Watch(Progress progress, std::function<bool()> cancelled)
      : progress_(std::move(progress)), cancelled_(std::move(cancelled)) {}

  // Throws Cancelled when the caller wants an end.
  void check() const {
    if (cancelled_ && cancelled_()) throw Cancelled();
  }
  // Reports the progress of the work, then checks.
  void at(std::string_view stage, size_t done, size_t total) const {
    if (progress_) {
      const std::lock_guard lock(mutex_);
      progress_({stage, done, total});
    }
    check();
  }

 private:
  const Progress progress_;
  const std::function<bool()> cancelled_;
  mutable std::mutex mutex_;
};

}  // namespace tcc
