// tcc-tune prune: drops records and plans that nothing can use any more.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "autotune/plan_records.h"
#include "autotune/plan_sites.h"
#include "autotune/record_file.h"
#include "autotune/tune.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "support/file.h"
#include "support/plural.h"
#include "tools/program.h"
#include "tools/tune/commands.h"
#include "tools/tune/options.h"
#include "tools/tune/record_options.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;
using autotune::Record;
using autotune::RecordKey;
using autotune::RecordStore;

struct PruneOptions {
  std::vector<std::string> paths;
  GraphOptions graphs;
  TargetOptions target;
  bool stale = false, families = false, dry_run = false;
};

// Every value that the family's records have: a relative's config is legal, any other is not.
sched::ConfigSpace space_of_family(const RecordStore& store, const Record& record) {
  std::map<std::string, std::set<int64_t>> values;
  for (const auto& [key, other] : store.records())
    if (other.family == record.family)
      for (const auto& [name, value] : other.best.values()) values[name].insert(value);
  sched::ConfigSpace space;
  for (const auto& [name, set] : values)
    space.parameters.push_back({name, {set.begin(), set.end()}, ""});
  return space;
}

class Prune {
 public:
  explicit Prune(const PruneOptions& options) : options_(options) {}

  int run() {
    if (options_.stale || !options_.graphs.graphs.empty()) target_ = target_of(options_.target);
    if (!options_.graphs.graphs.empty()) schedule();
    for (const std::string& path : options_.paths) {
      std::error_code error;
      if (!fs::exists(path, error)) fail_input(path, ": no such file or folder");
      for (const fs::path& file : autotune::record_files(path, log_tuning_warning)) prune(file);
    }
    const size_t of_kernels = dropped_, kernels = records_;
    for (const std::string& path : options_.paths)
      for (const fs::path& file : autotune::plan_files(path, log_tuning_warning)) prune_plans(file);
    std::cout << (options_.dry_run ? "would drop " : "dropped ") << of_kernels << " of "
              << counted(kernels, "record");
    if (records_ != kernels)
      std::cout << ", " << dropped_ - of_kernels << " of " << counted(records_ - kernels, "plan");
    std::cout << "\n";
    return 0;
  }

 private:
  void schedule() {
    // The graph is scheduled by the plans: a choice decides which other choices there are.
    autotune::PlanStore plans;
    for (const std::string& path : options_.paths)
      autotune::read_plan_path(path, plans, [](const std::string&) {});  // prune_plans() says it
    const autotune::SiteRecorder recorder(plans);
    backends::CompileOptions compile;
    compile.plan = &recorder;
    graphs_ = schedule_graphs(options_.graphs, *target_, compile);
    for (const sched::PlanSite& site : recorder.sites())
      sites_.emplace(autotune::key_of(site), site);
    for (const autotune::TuningTask& task : autotune::tuning_tasks(graphs_))
      spaces_.emplace(task.key, task.candidate->space());
  }

  void prune(const fs::path& file) {
    RecordStore store;
    size_t damaged = 0;
    autotune::read_record_path(file, store, [&](const std::string& text) {
      if (text.ends_with("record skipped")) ++damaged;
      log_tuning_warning(text);
    });
    if (store.records().empty()) return;  // no tuning file, or one of another schema
    records_ += store.records().size() + damaged;
    size_t before = dropped_;
    dropped_ += damaged;
    const RecordStore all = store;
    for (const auto& [key, record] : all.records()) {
      std::string reason = useless(record);
      if (!reason.empty()) drop(file, store, record, reason);
    }
    if (options_.families) drop_redundant(file, store);
    if (dropped_ != before && !options_.dry_run) write(file, store);
  }

  void drop(const fs::path& file, RecordStore& store, const Record& record,
            const std::string& reason) {
    std::cout << file.string() << ": " << record.name << " " << record.operands << ": " << reason
              << "\n";
    ++dropped_;
    store.erase(record.key);
  }

  // Returns the reason why no look-up will take the record; "" when one may.
  std::string useless(const Record& record) const {
    const RecordKey& key = record.key;
    if (key.kernel_template.starts_with("user:")) return "";  // its source is not here
    const sched::Template* kernel_template = sched::find_template(key.kernel_template);
    if (!kernel_template) return str("there is no template '", key.kernel_template, "'");
    if (key.version != kernel_template->version())
      return str("version ", key.version, " of the template; it is ", kernel_template->version());
    if (auto space = spaces_.find(key); space != spaces_.end())
      if (std::string reason = space->second.violation(record.best); !reason.empty())
        return "its config is not legal: " + reason;
    return options_.stale ? stale(record) : "";
  }

  std::string stale(const Record& record) const {
    if (record.key.device != target_->id()) return "";
    static const sched::ConfigSpace any;
    autotune::Environment now = autotune::environment_of(any, *target_);
    auto space = spaces_.find(record.key);
    now.space =
        space == spaces_.end() ? "" : autotune::environment_of(space->second, *target_).space;
    return autotune::environment_change(record, now, autotune::tcc_version());
  }

  // Records without which the look-up finds a relative with the same config.
  void drop_redundant(const fs::path& file, RecordStore& store) {
    const RecordStore all = store;
    for (const auto& [key, record] : all.records()) {
      if (record.family.empty()) continue;
      sched::ConfigSpace space = space_of_family(store, record);
      store.erase(key);
      autotune::Found found = store.find({.key = key,
                                          .family = record.family,
                                          .extents = record.extents,
                                          .environment = record.environment,
                                          .tcc = record.tcc,
                                          .space = &space});
      bool redundant = found.tier == sched::Tier::nearest && found.record->best == record.best;
      std::string relative = redundant ? found.record->operands : "";
      store.add(record);
      if (redundant) drop(file, store, record, "as its relative " + relative);
    }
  }

  void prune_plans(const fs::path& file) {
    autotune::PlanStore store;
    size_t damaged = 0;
    autotune::read_plan_path(file, store, [&](const std::string& text) {
      if (text.ends_with("plan skipped")) ++damaged;
      log_tuning_warning(text);
    });
    if (store.records().empty()) return;  // another schema's, or nothing of it can be read
    records_ += store.records().size() + damaged;
    size_t dropped = damaged;
    const autotune::PlanStore all = store;
    for (const auto& [key, plan] : all.records()) {
      const std::string reason = useless(plan);
      if (reason.empty()) continue;
      std::cout << file.string() << ": " << key.kind << " " << plan.description << ": " << reason
                << "\n";
      ++dropped;
      store.erase(key);
    }
    dropped_ += dropped;
    if (dropped == 0 || options_.dry_run) return;
    if (store.records().empty()) {
      fs::remove(file);
      return;
    }
    std::vector<const autotune::PlanRecord*> list;
    for (const auto& [key, plan] : store.records()) list.push_back(&plan);
    write_file_atomic(file, autotune::plan_file_text(list));
  }

  // Returns the reason why no compilation will take the plan; "" when one may.
  std::string useless(const autotune::PlanRecord& plan) const {
    const auto kinds = sched::plan_kinds();
    if (std::find(kinds.begin(), kinds.end(), plan.key.kind) == kinds.end())
      return str("there is no choice '", plan.key.kind, "'");
    const bool is_here = target_ && plan.key.device == target_->id();
    const auto site = sites_.find({plan.key.kind, plan.key.site});
    if (is_here && site != sites_.end() && !autotune::is_alternative(site->second, plan.choice))
      return str("its choice ", plan.choice, " is no alternative any more");
    if (!options_.stale || !is_here) return "";
    Record measured;
    measured.environment.device = plan.measured_on;
    measured.environment.driver = plan.driver;
    measured.tcc = plan.tcc;
    return autotune::environment_change(measured, autotune::environment_of({}, *target_),
                                        autotune::tcc_version());
  }

  static void write(const fs::path& file, const RecordStore& store) {
    if (store.records().empty()) {
      fs::remove(file);
      return;
    }
    std::vector<const Record*> list;
    for (const auto& [key, record] : store.records()) list.push_back(&record);
    write_file_atomic(file, autotune::record_file_text(list));
  }

  const PruneOptions& options_;
  std::optional<sched::Target> target_;
  std::vector<backends::Scheduled> graphs_;
  std::map<RecordKey, sched::ConfigSpace> spaces_;      // of the graphs' kernels
  std::map<autotune::SiteKey, sched::PlanSite> sites_;  // of the graphs' plans
  size_t records_ = 0, dropped_ = 0;
};

}  // namespace

Command add_prune(CLI::App& program) {
  auto options = std::make_shared<PruneOptions>();
  CLI::App* app = program.add_subcommand(
      "prune",
      "Drops records of templates that are gone or changed, plans of choices that are gone, and "
      "damaged ones");
  app->add_option("PATH", options->paths, "tuning files, and folders of them")->required();
  app->add_option("--graph", options->graphs.graphs,
                  "also what is of this graph with configs or choices that are not legal; several")
      ->allow_extra_args(false);
  app->add_option("--dim", options->graphs.dims, "the graphs' dims, NAME=1,8,32")
      ->allow_extra_args(false);
  add_compile_options(*app, options->graphs.compile);
  add_target_options(*app, options->target);
  app->add_flag("--stale", options->stale,
                "also records of this device with another driver, compiler or tcc");
  app->add_flag("--families", options->families,
                "also records that a relative of other sizes makes needless");
  app->add_flag("--dry-run", options->dry_run, "only say what would be dropped");
  return {app, [options] { return Prune(*options).run(); }};
}

}  // namespace tcc::tools
