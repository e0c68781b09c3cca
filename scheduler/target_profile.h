// Profiles of Vulkan devices: configs/targets/NAME.yaml.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/target.h"

namespace tcc::sched {

// Whether it may name a profile: up to 64 small letters, digits, - and _, which cannot leave a
// folder.
bool is_profile_name(std::string_view name);

// Returns the names of the profiles in `folder`, sorted.
std::vector<std::string> profile_names(const std::filesystem::path& folder);

// Reads one profile; its Target's arch is the file's name where the file itself names none. Every
// limit must be stated, there or by the profile of the same folder that it names in `extends`, and
// so on. Throws Error(bad_input) naming file, line and key.
Target read_profile(const std::filesystem::path& file);
// Reads the profile in `folder` that names this architecture; nothing where there is none. Files
// whose text lacks the word are not parsed.
std::optional<Target> find_profile_of(const std::filesystem::path& folder, std::string_view arch);
// Reads a profile from text as if it were `file`, which messages name.
Target parse_profile(const std::string& text, const std::string& file, std::string_view arch);

}  // namespace tcc::sched
