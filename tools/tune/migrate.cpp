// tcc-tune migrate: carries records of an earlier schema over to today's keys.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include "autotune/migration.h"
#include "autotune/record_file.h"
#include "scheduler/target_profile.h"
#include "support/config_folder.h"
#include "support/error.h"
#include "support/file.h"
#include "support/plural.h"
#include "tools/tune/commands.h"
#include "tools/tune/options.h"
#include "tools/tune/record_options.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;
using autotune::KeyTable;
using autotune::Record;
using autotune::RecordStore;

struct MigrateOptions {
  std::vector<std::string> paths, models, dims, dtypes, targets;
  std::string write_table;
};

struct OldFile {
  fs::path path;
  std::string text;
  RecordStore records;
};

// The files of the old schema among `paths`, and those that cannot be read as such.
std::vector<OldFile> old_files(const std::vector<std::string>& paths) {
  std::vector<OldFile> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) fail_input(path, ": no such file or folder");
    for (const fs::path& file : autotune::record_files(path, log_tuning_warning)) {
      OldFile old{file, read_file(file, autotune::kMaxRecordFileBytes), {}};
      const std::string today = str("\ntcc_tuning: ", autotune::kRecordSchema, "\n");
      if (("\n" + old.text).find(today) != std::string::npos) {
        std::cout << file.string() << ": nothing to carry over\n";
        continue;
      }
      autotune::read_record_text(old.text, file.string(), old.records, log_tuning_warning,
                                 autotune::kMigratedSchema);
      files.push_back(std::move(old));
    }
  }
  return files;
}

std::optional<sched::Target> target_of_id(const std::string& id) {
  try {
    return sched::target_by_name(id);
  } catch (const Error&) {}  // a profile may have another name than its architecture
  for (const std::string& name : sched::profile_names(config_folder() / "targets"))
    if (sched::Target target = sched::target_by_name("vulkan:" + name); target.id() == id)
      return target;
  return std::nullopt;
}

// A graph's regions depend on these properties of a device; a record knows them.
sched::Target target_of(const Record& record, sched::Target target) {
  const auto& known = record.environment.capabilities;
  const auto take = [&](const char* name, auto& value) {
    if (const auto found = known.find(name); found != known.end())
      value = static_cast<std::remove_reference_t<decltype(value)>>(found->second);
  };
  take("compute_units", target.compute_units);
  take("l2_bytes", target.l2_bytes);
  take("shared_bytes", target.shared_bytes);
  take("workgroup_size", target.max_workgroup_size);
  return target;
}

// The targets that the records were made for: one of each device and set of capabilities.
std::vector<sched::Target> targets_of(const std::vector<OldFile>& files,
                                      const std::vector<std::string>& names) {
  std::vector<sched::Target> targets;
  for (const std::string& name : names) targets.push_back(sched::target_by_name(name));
  std::set<std::pair<std::string, std::map<std::string, int64_t>>> seen;
  for (const OldFile& file : files)
    for (const auto& [key, record] : file.records.records()) {
      if (!seen.emplace(key.device, record.environment.capabilities).second) continue;
      if (const auto target = target_of_id(key.device))
        targets.push_back(target_of(record, *target));
    }
  return targets;
}

// The keys of all that the models' graphs become, in each dtype and precision.
void add_models(const MigrateOptions& options, const std::vector<sched::Target>& targets,
                KeyTable& table) {
  if (options.models.empty()) return;
  if (targets.empty()) fail_input("--model: no record names a known target; give it by --target");
  const std::vector<std::string> dtypes =
      options.dtypes.empty() ? std::vector<std::string>{"", "bf16", "f16", "f32"} : options.dtypes;
  DimLists dims(options.dims);
  for (const sched::Target& target : targets)
    for (const std::string& dtype : dtypes)
      for (const char* precision : {"highest", "high"}) {
        GraphOptions graphs;
        graphs.graphs = options.models;
        graphs.compile.dtype = dtype == "own" ? "" : dtype;
        graphs.compile.matmul_precision = precision;
        for (const backends::Scheduled& scheduled : schedule_graphs(graphs, dims, target, {}))
          for (const sched::Region& region : scheduled.regions) table.add(region);
      }
  dims.check_all_used();
}

// Writes the file's records under their new keys; the old file stays as FILE.schema2. Returns how
// many stay behind. `has_models`: the table has keys of the user's graphs, too.
size_t carry_over(const OldFile& file, const KeyTable& table, bool has_models) {
  RecordStore carried;
  size_t left = 0;
  for (const auto& [key, record] : file.records.records()) {
    if (auto moved = autotune::carried_over(record, table)) {
      carried.add(*std::move(moved));
    } else {
      ++left;
      std::cout << file.path.string() << ": not carried over: " << record.name << " "
                << record.operands << ": no graph that tcc ships"
                << (has_models ? ", and none of --model with this --dim and --dtype," : "")
                << " has its region " << key.region << "\n";
    }
  }
  if (carried.records().empty()) {
    std::cout << file.path.string() << ": no record is carried over; the file stays as it is\n";
    return left;
  }
  std::vector<const Record*> list;
  for (const auto& [key, record] : carried.records()) list.push_back(&record);
  write_file_atomic(file.path.string() + str(".schema", autotune::kMigratedSchema), file.text);
  write_file_atomic(file.path, autotune::record_file_text(list));
  std::cout << file.path.string() << ": " << counted(list.size(), "record") << " carried over\n";
  return left;
}

int migrate(const MigrateOptions& options) {
  const std::vector<OldFile> files = old_files(options.paths);
  KeyTable table = autotune::shipped_key_table();
  add_models(options, targets_of(files, options.targets), table);
  if (!options.write_table.empty()) {
    write_file_atomic(options.write_table, table.to_yaml());
    std::cout << "wrote " << options.write_table << ", " << counted(table.size(), "key") << "\n";
    return 0;
  }
  size_t left = 0;
  for (const OldFile& file : files) left += carry_over(file, table, !options.models.empty());
  if (left > 0)
    std::cout << counted(left, "record")
              << " left: name the graph that they are of by --model, with the --dim of the sweep\n";
  return 0;
}

}  // namespace

Command add_migrate(CLI::App& program) {
  auto options = std::make_shared<MigrateOptions>();
  CLI::App* app = program.add_subcommand(
      "migrate", "Carries tuning records of an earlier schema over, in place");
  app->add_option("PATH", options->paths, "tuning files, and folders of them")->required();
  app->add_option("--model", options->models,
                  "a graph file that the records are of, if tcc does not ship it; several")
      ->allow_extra_args(false);
  app->add_option("--dim", options->dims,
                  "the dims of the sweep, as they were given to it; several")
      ->allow_extra_args(false);
  app->add_option("--dtype", options->dtypes,
                  "of the sweep; 'own': the graph's (default: own, bf16, f16 and f32); several")
      ->allow_extra_args(false);
  app->add_option("--target", options->targets, "a target beside those of the records; several")
      ->allow_extra_args(false);
  app->add_option(
      "--write-table", options->write_table,
      "write the keys of shipped graphs and of --model to this file, and change nothing");
  return {app, [options] { return migrate(*options); }};
}

}  // namespace tcc::tools
