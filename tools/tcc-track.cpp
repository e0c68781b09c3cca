// tcc-track: whether a change made programs slower, with a stated rate of false alarms.
#include <string_view>

#include "tools/help.h"
#include "tools/program.h"
#include "tools/track/accept.h"
#include "tools/track/bisect.h"
#include "tools/track/compare.h"
#include "tools/track/explain.h"
#include "tools/track/history.h"
#include "tools/track/judge.h"
#include "tools/track/report_command.h"
#include "tools/track/resample.h"
#include "tools/track/run.h"
#include "tools/track/worker.h"

namespace tcc::tools {

int track_main(int argc, char** argv) {
  // Started by this program for itself.
  if (argc == 4 && std::string_view(argv[1]) == "--worker") return serve_worker(argv[2], argv[3]);
  CLI::App app(
      "Tracks performance: builds of tcc against each other, with a stated rate of false "
      "alarms.",
      "tcc-track");
  const std::vector<Command> commands = {
      add_compare(app), add_calibrate(app), add_report(app), add_run(app),     add_history(app),
      add_judge(app),   add_accept(app),    add_bisect(app), add_explain(app), add_resample(app)};
  app.require_subcommand(1);
  add_examples(app, {{"tcc-track calibrate build/release bench/suites/bandwidth.yaml",
                      "what can be seen on this machine"},
                     {"tcc-track compare build/before build/release bench/suites/bandwidth.yaml",
                      "what a change made slower or faster"}});
  return run_program(app, argc, argv, [&] {
    for (const Command& command : commands)
      if (command.app->parsed()) return command.main();
    return 2;
  });
}

}  // namespace tcc::tools
