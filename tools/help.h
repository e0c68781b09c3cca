// Makes the text of --help and its other forms: man pages and completion for shells. All of them
// are made from the options that a program declares.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace tcc::tools {

// A command line and what it does, for the end of --help.
struct Example {
  const char* command;
  const char* what;
};
void add_examples(CLI::App& app, std::initializer_list<Example> examples);

// Sets how the help of `app` and of its subcommands looks: groups, values' names, defaults, lines
// of at most 100 columns. To be called when all options are declared.
void arrange_help(CLI::App& app);

// Returns the help of an arranged `app` as a `man` page or as completion for `bash`, `zsh` or
// `fish`. Throws Error(bad_input) for any other format.
std::string help_as(const CLI::App& app, std::string_view format);

}  // namespace tcc::tools
