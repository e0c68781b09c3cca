#include "support/cache_warning.h"

#include <mutex>
#include <set>

#include "support/error.h"
#include "support/log.h"

namespace tcc {

void warn_of_unwritable_cache(const std::filesystem::path& folder, const std::string& reason) {
  static std::mutex mutex;
  static std::set<std::filesystem::path> said;
  {
    std::lock_guard lock(mutex);
    if (!said.insert(folder).second) return;
  }
  log_text(LogLevel::warning, LogChannel::cache,
           str(folder.string(), ": cannot be written", reason.empty() ? "" : " (", reason,
               reason.empty() ? "" : ")",
               "; what is compiled is not kept for the next process (TCC_CACHE_DIR names another "
               "folder)"));
}

}  // namespace tcc
