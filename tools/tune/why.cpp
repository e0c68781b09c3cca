// tcc-tune why: where each kernel's config comes from.
#include <iostream>
#include <memory>

#include "autotune/plan_records.h"
#include "autotune/tune.h"
#include "support/error.h"
#include "tools/program.h"
#include "tools/tune/commands.h"
#include "tools/tune/options.h"
#include "tools/tune/record_options.h"

namespace tcc::tools {
namespace {

struct WhyOptions {
  GraphOptions graphs;
  TargetOptions target;
  std::vector<std::string> tuning;
};

// "f32[64, 784], ... of cuda:sm_90a: 12.1 us, on NVIDIA H200, 2026-11-21"
std::string record_line(const autotune::Record& record) {
  std::string text =
      str(record.operands, " on ", record.key.device, ": ", format_seconds(record.seconds));
  for (const std::string& part :
       {record.environment.device, record.environment.driver, record.date})
    if (!part.empty()) text += ", " + part;
  return text;
}

void print(const autotune::TuningTask& task, const autotune::Explanation& explanation) {
  std::cout << task.region->name() << " [" << task.key.kernel_template << "] "
            << autotune::operands_text(*task.region) << "\n  "
            << sched::name(explanation.choice.tier) << ": " << explanation.choice.config.to_string()
            << "\n";
  if (explanation.record) std::cout << "    from " << record_line(*explanation.record) << "\n";
  for (const std::string& line : explanation.refused) std::cout << "    not " << line << "\n";
}

int why(const WhyOptions& options) {
  if (options.graphs.graphs.empty()) fail_input("why: GRAPH is required; see --help");
  sched::Target target = target_of(options.target);
  autotune::RecordStore store =
      autotune::load_records({options.tuning.begin(), options.tuning.end()}, print_warning);
  const autotune::PlanStore plans =
      autotune::load_plans({options.tuning.begin(), options.tuning.end()}, print_warning);
  backends::CompileOptions compile;
  compile.plan = &plans;
  auto graphs = schedule_graphs(options.graphs, target, compile);
  std::map<sched::Tier, int> counts;
  for (const autotune::TuningTask& task : autotune::tuning_tasks(graphs, target)) {
    autotune::Explanation explanation = store.explain(*task.kernel_template, *task.region, target);
    ++counts[explanation.choice.tier];
    print(task, explanation);
  }
  std::string summary;
  for (const auto& [tier, count] : counts)
    summary += str(summary.empty() ? "" : ", ", count, " ", sched::name(tier));
  std::cout << store.records().size() << " records; kernels of " << target.id() << ": "
            << (summary.empty() ? "none" : summary) << "\n";
  return 0;
}

}  // namespace

Command add_why(CLI::App& program) {
  auto options = std::make_shared<WhyOptions>();
  CLI::App* app = program.add_subcommand(
      "why", "Says for each kernel of a graph which record it takes, and why no closer one");
  add_graph_options(*app, options->graphs);
  add_target_options(*app, options->target);
  app->add_option("--tuning", options->tuning, "folders or files of tuning records")
      ->allow_extra_args(false);
  return {app, [options] { return why(*options); }};
}

}  // namespace tcc::tools
