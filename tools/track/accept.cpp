#include "tools/track/accept.h"

#include <iostream>

#include "support/error.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/run_info.h"
#include "tools/track/history_data.h"
#include "tools/track/report_text.h"

namespace tcc::tools {
namespace {

struct AcceptCommandOptions {
  std::string store, name, quantity, run, note;
  std::vector<std::string> machines;
};

void check_names(const AcceptCommandOptions& options, const std::vector<MachineHistory>& machines,
                 const Store& store) {
  std::set<std::string> cases, quantities;
  for (const MachineHistory& machine : machines)
    for (const auto& [name, one] : machine.cases) {
      cases.insert(name);
      if (name != options.name) continue;
      for (const auto& [quantity, series] : one.quantities) quantities.insert(quantity);
    }
  if (!cases.contains(options.name))
    fail_input(store.place(), ": has no case '", options.name, "'; ",
               known_names(options.name, cases));
  if (!options.quantity.empty() && !quantities.contains(options.quantity))
    fail_input(options.name, ": has no quantity '", options.quantity, "'; ",
               known_names(options.quantity, quantities));
}

// The newest run that has the case, unless one is named; null: this machine has none.
const TrackedRun* first_run(const AcceptCommandOptions& options, const MachineHistory& machine) {
  const auto one = machine.cases.find(options.name);
  if (one == machine.cases.end()) return nullptr;
  if (options.run.empty()) return &machine.runs[one->second.last_run];
  for (const TrackedRun& run : machine.runs)
    if (run.name == options.run) return &run;
  return nullptr;
}

int accept_main(const AcceptCommandOptions& options) {
  const auto store =
      open_store(options.store, [](const std::string& text) { std::cerr << text << "\n"; });
  Damage damage;
  const auto machines = load_histories(*store, {.machines = options.machines}, damage);
  if (damage.any()) std::cerr << damage.summary() << "\n";
  check_names(options, machines, *store);
  size_t written = 0;
  for (const MachineHistory& machine : machines) {
    const TrackedRun* from = first_run(options, machine);
    if (!from) continue;
    TrackedRun header = *from;
    const UtcTime now = utc_time();
    header.date = now.date;
    header.milliseconds = now.milliseconds;
    header.command = command_words();
    header.planned = 0;
    header.name = new_run_name(header);
    const auto writer = store->begin(header.name);
    writer->append(header_line(header) +
                   acceptance_line({options.name, options.quantity, from->name, options.note}) +
                   end_line({"complete", 0}));
    writer->finish();
    ++written;
    std::cout << store->file_of(header.name) << ": " << printable(options.name) << ", "
              << (options.quantity.empty() ? "all quantities" : printable(options.quantity))
              << ", accepted from run " << from->name << " on, on " << printable(machine.machine)
              << "\n";
  }
  if (written == 0) fail_input(store->place(), ": has no run '", options.run, "'");
  return 0;
}

}  // namespace

Command add_accept(CLI::App& program) {
  auto options = std::make_shared<AcceptCommandOptions>();
  CLI::App* app = program.add_subcommand(
      "accept", "Accepts an intended change of a case: judge and a gate count from there.");
  app->add_option("--store", options->store,
                  "a folder, or a branch: git:BRANCH, git:REPOSITORY#BRANCH")
      ->required();
  app->add_option("--case", options->name, "the case's whole name")->required();
  app->add_option("--quantity", options->quantity, "of one quantity alone: time, launches, ...");
  app->add_option(
      "--run", options->run,
      "the first run of the new level, by its name (default: the newest of each machine)");
  app->add_option("--machine", options->machines,
                  "machines (host, device, target) whose name holds this; several")
      ->allow_extra_args(false);
  app->add_option("--note", options->note, "why")->required();
  return {app, [options] { return accept_main(*options); }};
}

}  // namespace tcc::tools
