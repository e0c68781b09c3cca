// Profiles of Vulkan devices: configs/targets/NAME.yaml.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/target.h"

namespace tcc::sched {

// Returns the names of the profiles in `folder`, sorted.
std::vector<std::string> profile_names(const std::filesystem::path& folder);

// Reads one profile; its Target's arch is the file's name where the file names none. Every limit
// must be stated. Throws Error(bad_input) naming file, line and key.
Target read_profile(const std::filesystem::path& file);
// Reads a profile from text; messages name `file`.
Target parse_profile(const std::string& text, const std::string& file, std::string_view arch);

}  // namespace tcc::sched
