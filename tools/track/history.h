// tcc-track history shows stored runs and their changes, and can act as a gate.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/track/history_data.h"
#include "tools/tune/commands.h"

namespace tcc::tools {

struct GateOptions {
  size_t runs = 0;  // a worsening that began within the last of them gates; 0: none does
  double false_alarms = 0.05;
};

// One machine's histories with their changes. Its notes say when each change was.
TrackReport history_report(const MachineHistory& machine, const GateOptions& gate);

Command add_history(CLI::App& program);
// --any-work.
void add_any_work(CLI::App& app, bool& any_work);

// Makes a report with the facts of how it was made: of the newest run, or of the run's machine.
TrackReport report_head(const TrackedRun& run);

}  // namespace tcc::tools
