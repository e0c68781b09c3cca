// The forms of --help other than the one on the terminal. `app` is arranged (tools/help.h).
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace tcc::tools {

std::string man_page(const CLI::App& app);
std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

// "N", "f32|f16": what stands for the value.
std::string value_name(const CLI::Option& option);
// "-h, --help".
std::string option_names(const CLI::Option& option);
// " N", " [N]" where the value may be left out, "" for flags, "[=ops]" for those that may be
// another.
std::string value_text(const CLI::Option& option);
// The description, with the default, or that there must be a value.
std::string description_text(const CLI::Option& option);

}  // namespace tcc::tools
