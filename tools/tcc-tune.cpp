// tcc-tune: measures configs of graphs' kernels on a device and records the best; and what one does
// with such records.
#include <filesystem>
#include <string>
#include <vector>

#include "ir/suggest.h"
#include "support/error.h"
#include "tools/help.h"
#include "tools/program.h"
#include "tools/tune/commands.h"
#include "tools/tune/options.h"
#include "tools/tune/sweep_command.h"

namespace tcc::tools {

namespace {

// A subcommand that is spelled otherwise is taken for a graph.
void check_no_command(const std::vector<std::string>& graphs,
                      const std::vector<Command>& commands) {
  if (graphs.empty() || std::filesystem::exists(graphs[0])) return;
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.app->get_name());
  if (const std::string meant = ir::closest_name(graphs[0], names); !meant.empty())
    tcc::fail_input(graphs[0], ": no such graph file; did you mean the subcommand '", meant, "'?");
}

}  // namespace

int tune_main(int argc, char** argv) {
  CLI::App app("Finds the best configs of graphs' kernels on a device, and keeps the records.",
               "tcc-tune");
  SweepOptions options;
  add_sweep_options(app, options);
  const std::vector<Command> commands = {add_merge(app), add_show(app),   add_why(app),
                                         add_prune(app), add_verify(app), add_migrate(app)};
  app.require_subcommand(0, 1);
  add_examples(app,
               {{"tcc-tune mlp.yaml --budget 60 --output tuned",
                 "tune a model's kernels for a minute; tcc-run --tuning tuned uses the records"},
                {"tcc-tune bert.onnx --dim batch=1,8 --dtype bf16 --report sweep.html",
                 "two batch sizes in bf16, and a page about the sweep"},
                {"tcc-tune why mlp.yaml --tuning tuned", "which record each kernel takes"},
                {"tcc-tune verify mlp.yaml --tuning tuned",
                 "whether the records are still right on this machine"},
                {"tcc-tune merge machine-a machine-b --output configs/tuned",
                 "one folder of what several machines found"}});
  return run_program(app, argc, argv, [&] {
    for (const Command& command : commands)
      if (command.app->parsed()) {
        if (!options.graphs.graphs.empty())
          tcc::fail_input(options.graphs.graphs[0], ": stands before ", command.app->get_name());
        return command.main();
      }
    check_no_command(options.graphs.graphs, commands);
    return sweep_main(options, given_options(app));
  });
}

}  // namespace tcc::tools
