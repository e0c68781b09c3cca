// The folder of shipped target profiles, tuning records and quirks.
#pragma once

#include <filesystem>

namespace tcc {

// Returns the folder `configs`: $TCC_CONFIG_DIR, else the one beside the installed program or
// library, else the one of the source; "" when none of them exists.
std::filesystem::path config_folder();

}  // namespace tcc
