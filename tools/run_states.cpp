#include "tools/run_states.h"

#include <filesystem>

#include "support/error.h"
#include "tools/program.h"

namespace tcc::tools {

void add_state_options(CLI::App& app, StateFiles& files) {
  app.add_option("--load-states", files.load,
                 "the states' values before the first run, from a .safetensors");
  app.add_option("--save-states", files.save,
                 "write the states after the last run to this .safetensors");
}

void check_state_files(const StateFiles& files) {
  if (!files.save.empty() && std::filesystem::path(files.save).extension() != ".safetensors")
    fail_input("--save-states ", files.save, ": must end in .safetensors");
  check_can_write("--save-states", files.save);
}

void check_has_states(const StateFiles& files, const std::string& model, bool has_states) {
  if (has_states || (files.load.empty() && files.save.empty())) return;
  fail_input(files.load.empty() ? "--save-states" : "--load-states", ": ", model, " has no states");
}

}  // namespace tcc::tools
