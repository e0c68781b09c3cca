// A store on a branch of a git repository, written without a work tree and without the index.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "tools/track/store.h"

namespace tcc::tools {

// The branch may be missing yet. Commits what runs of killed processes left in the spool folder
// (tcc-track/spool under the git folder), and says so.
std::unique_ptr<Store> open_git_store(const std::filesystem::path& repository,
                                      const std::string& branch,
                                      const std::function<void(const std::string&)>& say);

}  // namespace tcc::tools
