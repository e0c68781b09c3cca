// Profiles of Vulkan devices: configs/targets/NAME.yaml.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/target.h"

namespace tcc::sched {

// The folder `configs`: $TCC_CONFIG_DIR, else beside the program or library as installed, else the
// source's; "" when none of them is there.
std::filesystem::path config_folder();

// The names of the profiles in `folder`, sorted.
std::vector<std::string> profile_names(const std::filesystem::path& folder);

// Reads one profile; its Target's arch is the file's name where the file names none. Every limit
// must be stated. Throws Error(bad_input) naming file, line and key.
Target read_profile(const std::filesystem::path& file);
// The same from text; `file` is for messages.
Target parse_profile(const std::string& text, const std::string& file, std::string_view arch);

}  // namespace tcc::sched
