// One warning that compiled kernels cannot be kept, whichever cache finds it out.
#pragma once

#include <filesystem>
#include <string>

namespace tcc {

// Says, once in a process for each cache folder, as a warning of the log `cache`, that nothing can
// be kept there. `reason` may be empty.
void warn_of_unwritable_cache(const std::filesystem::path& folder, const std::string& reason);

}  // namespace tcc
