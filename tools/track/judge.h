// tcc-track judge compares one stored run with the runs before it on its machine.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/track/history_data.h"
#include "tools/tune/commands.h"

namespace tcc::tools {

struct JudgeChoices {
  double smallest = 0.05, false_alarms = 0.05;
  bool with_history = true;  // else budgets and results alone
  bool any_work = false;     // as HistoryChoices has it
};
// Options of `judge` and `run --judge`.
struct JudgeOptions {
  double smallest_percent = 5, false_alarms_percent = 5;
  bool any_work = false;
  JudgeChoices choices() const;
};
// --smallest, --false-alarms, --any-work.
void add_judge_options(CLI::App& app, JudgeOptions& options);

// `run` is a number of the machine's runs. Throws Error(bad_input) where nothing was measured.
TrackReport judged_report(const MachineHistory& machine, size_t run, const JudgeChoices& choices);

// Judges the run of this name, prints a table, and returns the report. `run` "": the newest one.
TrackReport judge_stored(const Store& store, const std::string& run, const JudgeChoices& choices);
// Returns a table of the quantities that changed, and a last line.
std::string judge_table(const TrackReport& report);

Command add_judge(CLI::App& program);

}  // namespace tcc::tools
