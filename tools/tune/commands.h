// The subcommands of tcc-tune that need no search. Each adds itself to the command line and returns
// the function that runs it.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace tcc::tools {

struct Command {
  CLI::App* app = nullptr;    // parsed() when the user chose it
  std::function<int()> main;  // the exit code; to be called after the command line was parsed
};

// tcc-tune merge DIR|FILE... --output DIR: the best record of each kernel.
Command add_merge(CLI::App& program);
// tcc-tune show [PATH...]: records as a table.
Command add_show(CLI::App& program);
// tcc-tune why GRAPH: which record each kernel takes, and why closer ones were refused.
Command add_why(CLI::App& program);
// tcc-tune prune PATH...: drops records that nothing can use any more.
Command add_prune(CLI::App& program);
// tcc-tune migrate PATH...: carries records of an earlier schema over.
Command add_migrate(CLI::App& program);
// tcc-tune verify GRAPH...: whether the records are still right on this machine.
Command add_verify(CLI::App& program);

}  // namespace tcc::tools
