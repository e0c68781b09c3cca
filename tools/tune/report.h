// Writes a sweep's results as JSON (docs/tune-report.schema.json), and as one HTML page that needs
// no network and shows the same.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "autotune/tune.h"
#include "runtime/device.h"
#include "support/json_writer.h"
#include "tools/tune/summary.h"

namespace tcc::tools {

inline constexpr int kTuneReportSchema = 1;

// Opens the object of a report of tcc-tune: "tcc_tune" (the schema), "kind" ("sweep",
// "show", "why", "verify"), and by what and when it was made.
void begin_report(JsonWriter& json, std::string_view kind);

// {"block_m": 32, ...}
void write_config(JsonWriter& json, std::string_view key, const sched::Config& config);

// Holds the facts that a report states beside a sweep's results.
struct SweepReport {
  std::string title;                                         // "mlp.yaml"
  const runtime::Device* device = nullptr;                   // null: it is gone
  std::vector<std::pair<std::string, std::string>> options;  // that were given: "--budget", "20"
  std::vector<Batch> batches;
  std::vector<std::string> files;  // that were written
};

// Returns how much of the variation of log(seconds) each parameter explains by itself, from 0 to 1,
// over the trials that were measured; in the order of task.space.parameters. 0 where a parameter
// has one value or there is no variation.
std::vector<double> parameter_influence(const autotune::KernelResult& kernel);

// Returns the report with all trials (for the page), or without. It contains no "<", so that it may
// be in a script element.
std::string report_json(const autotune::TuneResult& result, const SweepReport& report,
                        bool with_trials);

// Returns the page. A fault of its script shows in the document's title, "report error: ...".
std::string report_page(const autotune::TuneResult& result, const SweepReport& report);

}  // namespace tcc::tools
