// The files that an earlier run of tcc-compile left in a folder.
#pragma once

#include <filesystem>
#include <string_view>

namespace tcc::tools {

// Returns whether tcc-compile names the folder of a variant so: "B=7,S=128".
bool is_variant_folder(std::string_view name);

// The manifest of an earlier run and the files that it names go, with those of variants. Throws
// Error(bad_input) where the file is not ours.
void remove_earlier_run(const std::filesystem::path& folder);

}  // namespace tcc::tools
