// tcc-tune merge: joins the records of several machines or sweeps.
#include <iostream>
#include <memory>

#include "autotune/plan_records.h"
#include "support/error.h"
#include "support/plural.h"
#include "tools/tune/commands.h"
#include "tools/tune/record_options.h"

namespace tcc::tools {
namespace {

struct MergeOptions {
  std::vector<std::string> paths;
  std::string output;
};

int merge(const MergeOptions& options) {
  autotune::RecordStore store = join_records(options.paths);
  autotune::PlanStore plans;
  for (const std::string& path : options.paths)
    autotune::read_plan_path(path, plans, log_tuning_warning);
  if (store.records().empty() && plans.records().empty())
    fail_input("no records in what is to be merged");
  auto files = autotune::save_records(store, options.output, autotune::Saving::merge);
  for (auto& file : autotune::save_plans(plans, options.output, autotune::Saving::merge))
    files.push_back(file);
  std::cout << counted(store.records().size(), "record");
  if (!plans.records().empty()) std::cout << ", " << counted(plans.records().size(), "plan");
  std::cout << "\n";
  for (const auto& file : files) std::cout << "wrote " << file.string() << "\n";
  return 0;
}

}  // namespace

Command add_merge(CLI::App& program) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* app = program.add_subcommand(
      "merge",
      "Joins tuning records: of two of one kernel, the newer environment's, then the faster");
  app->add_option("PATH", options->paths, "tuning files, and folders of them")->required();
  app->add_option("--output", options->output, "folder of the result; what is there is joined too")
      ->required();
  return {app, [options] { return merge(*options); }};
}

}  // namespace tcc::tools
