// --load-states and --save-states: the states of a graph or a package, in files.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace tcc::tools {

struct StateFiles {
  std::string load, save;  // "": none
};
void add_state_options(CLI::App& app, StateFiles& files);
// Throws Error(bad_input) for a file to save that has another ending than .safetensors, or that
// could not be written.
void check_state_files(const StateFiles& files);
// Throws Error(bad_input) where a file is named and the graph or package `model` has no states.
void check_has_states(const StateFiles& files, const std::string& model, bool has_states);

}  // namespace tcc::tools
