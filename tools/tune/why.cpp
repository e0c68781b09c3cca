// tcc-tune why: where each kernel's config, and each choice that spans kernels, comes from.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>

#include "autotune/plan_records.h"
#include "autotune/plan_sites.h"
#include "autotune/tune.h"
#include "scheduler/passed_templates.h"
#include "scheduler/sized_choices.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "support/plural.h"
#include "tools/program.h"
#include "tools/tune/commands.h"
#include "tools/tune/options.h"
#include "tools/tune/record_json.h"
#include "tools/tune/record_options.h"
#include "tools/tune/report.h"

namespace tcc::tools {
namespace {

struct WhyOptions {
  GraphOptions graphs;
  TargetOptions target;
  std::vector<std::string> tuning;
  bool json = false;
};

// Holds the explanation of one kernel.
struct Answer {
  std::string name, operands;
  autotune::RecordKey key;
  autotune::Explanation explanation;
  std::string sequence = {};  // what the config becomes where that is not one kernel alone
  std::vector<std::string> passed = {};  // templates that refused the region, and why
  // The sizes of open dims that a kernel is measured at, "B=4", and the kernel that the program has
  // there; "": this one.
  std::string sizes = {}, other = {};
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

void print(const Answer& answer) {
  const autotune::Explanation& explanation = answer.explanation;
  std::cout << answer.name << " [" << answer.key.kernel_template << "] " << answer.operands
            << "\n  " << sched::name(explanation.choice.tier) << ": "
            << explanation.choice.config.to_string() << "\n";
  if (!answer.other.empty())
    std::cout << "    not chosen: at " << answer.sizes << " the program runs " << answer.other
              << "\n";
  if (!answer.sequence.empty()) std::cout << "    as " << answer.sequence << "\n";
  for (const std::string& line : answer.passed) std::cout << "    not " << line << "\n";
  if (explanation.record) std::cout << "    from " << record_line(*explanation.record) << "\n";
  for (const std::string& line : explanation.refused) std::cout << "    not " << line << "\n";
}

// A region of a program whose dims are open, and its kernels: each for some sizes.
struct SizedKernels {
  autotune::RecordKey key;
  std::string name, operands;
  std::vector<sched::SizedChoice> choices;

  const sched::SizedChoice& at(const exec::Sizes& sizes) const {
    exec::SizeTable table;
    for (size_t i = 0; i + 1 < choices.size(); ++i)
      table.conditions.push_back(choices[i].conditions);
    return choices.at(static_cast<size_t>(table.choice(sizes)));
  }
};

// Returns those of the graph's regions with open dims, each once.
std::vector<SizedKernels> sized_kernels(const backends::Scheduled& graph,
                                        const autotune::RecordStore& store,
                                        const sched::Target& target) {
  std::vector<const sched::Region*> all;
  for (const sched::ScheduledRegion& scheduled : graph.regions) all.push_back(&scheduled.region());
  const sched::SizedChoices choices(*graph.graph, all, target, store);
  std::map<std::string, size_t> known;
  std::vector<sched::CandidatePtr> candidates;
  std::vector<int> times;
  for (const sched::ScheduledRegion& scheduled : graph.regions) {
    if (scheduled.candidate().host_call()) continue;
    const auto [entry, is_new] =
        known.try_emplace(sched::kernel_key(scheduled.region()), candidates.size());
    if (is_new) {
      candidates.push_back(scheduled.shared());
      times.push_back(0);
    }
    ++times[entry->second];
  }
  std::vector<sched::SizedRegion> regions;
  for (size_t i = 0; i < candidates.size(); ++i)
    regions.push_back(choices.look_at(candidates[i], times[i]));
  sched::divide_sizes(regions);
  std::vector<SizedKernels> result;
  for (const sched::SizedRegion& region : regions) {
    if (!region.division) continue;
    const sched::Candidate& candidate = *region.candidate;
    result.push_back({autotune::key_of(candidate), candidate.region().name(),
                      autotune::operands_text(candidate.region()), choices.choices(region)});
  }
  return result;
}

// "[contraction] default: block_k=16 block_m=16"
std::string choice_text(const sched::SizedChoice& choice) {
  return str("[", choice.candidate->kernel_template().name(), "] ", sched::name(choice.config.tier),
             ": ", choice.config.config.to_string());
}

void print(const SizedKernels& region) {
  std::cout << region.name << " " << region.operands << "\n";
  for (const sched::SizedChoice& choice : region.choices)
    std::cout << "  " << to_string(choice.conditions) << ": " << choice_text(choice) << "\n";
}

// Returns the program's kernel at the sizes of a task, if it is another one than the task's; "": it
// is that one.
std::string other_kernel(const autotune::TuningTask& task, const sched::Config& config,
                         std::span<const SizedKernels> program) {
  if (!task.sized) return "";
  const auto region = std::ranges::find(program, task.region, &SizedKernels::key);
  if (region == program.end()) return "";
  const sched::SizedChoice& choice = region->at(task.sized->numbers);
  const bool is_it = &choice.candidate->kernel_template() == &task.candidate->kernel_template() &&
                     choice.config.config == config;
  return is_it ? "" : choice_text(choice);
}

autotune::Explanation explain(const autotune::RecordStore& store, const autotune::Tunable& kernel) {
  autotune::Explanation result;
  const autotune::Found found = store.find({.key = kernel.key,
                                            .family = kernel.family,
                                            .extents = kernel.extents,
                                            .environment = kernel.environment,
                                            .tcc = autotune::tcc_version(),
                                            .space = &kernel.space},
                                           &result.refused);
  result.choice = {found.record ? found.record->best : kernel.default_config, found.tier};
  if (found.record) result.record = *found.record;
  return result;
}

// Prints where the choice of a site comes from: a plan's record, or the default.
void print(const sched::PlanSite& site, const autotune::PlanStore& plans,
           const sched::Target& target) {
  const int64_t choice = plans.choose(site, target);
  const autotune::PlanRecord* record = plans.find(site, target);
  std::string alternatives;
  for (const int64_t alternative : site.alternatives)
    alternatives += str(alternatives.empty() ? "" : ", ", alternative);
  const bool is_used = record && autotune::is_alternative(site, record->choice);
  std::cout << site.kind << " " << site.description << "\n  ";
  if (site.kind == "fuse")
    std::cout << (choice == 0 ? "two kernels" : "fused")
              << (is_used ? " by a plan" : " by default");
  else
    std::cout << (is_used ? "plan: " : "default: ") << choice << " of " << alternatives;
  if (is_used) {
    std::string from;
    for (const std::string& part : {record->measured_on, record->driver, record->date})
      if (!part.empty()) from += (from.empty() ? "" : ", ") + part;
    char gain[32];
    std::snprintf(gain, sizeof gain, "%.2fx", 1 / record->ratio());
    std::cout << "\n    from " << (from.empty() ? "a plan" : from) << ": " << gain
              << " the default, " << record->default_choice << "\n";
  } else if (record) {
    std::cout << "\n    the plan of " << target.id() << " has the choice " << record->choice
              << ", which is no alternative\n";
  } else {
    std::cout << "; no plan of " << target.id() << " says otherwise\n";
  }
}

void print_json(const std::vector<Answer>& answers, const std::vector<SizedKernels>& program,
                const std::vector<sched::PlanSite>& sites, const std::vector<std::string>& apart,
                const autotune::PlanStore& plans, const sched::Target& target) {
  JsonWriter json(JsonWriter::Style::indented);
  begin_report(json, "why");
  json.member("target", target.id()).key("kernels").begin_array();
  for (const Answer& answer : answers) {
    json.begin_object()
        .member("name", answer.name)
        .member("template", answer.key.kernel_template)
        .member("region", answer.key.region)
        .member("operands", answer.operands)
        .member("sizes", answer.sizes)
        .member("in_program", answer.other.empty())
        .member("tier", sched::name(answer.explanation.choice.tier));
    write_config(json, "config", answer.explanation.choice.config);
    json.key("record");
    if (answer.explanation.record)
      write_record(json, *answer.explanation.record);
    else
      json.null();
    json.key("refused").begin_array();
    for (const std::string& line : answer.explanation.refused) json.value(line);
    json.end_array().key("passed").begin_array();
    for (const std::string& line : answer.passed) json.value(line);
    json.end_array().end_object();
  }
  json.end_array().key("by_sizes").begin_array();
  for (const SizedKernels& region : program)
    for (const sched::SizedChoice& choice : region.choices) {
      json.begin_object()
          .member("name", region.name)
          .member("operands", region.operands)
          .member("sizes", to_string(choice.conditions))
          .member("template", choice.candidate->kernel_template().name())
          .member("tier", sched::name(choice.config.tier));
      write_config(json, "config", choice.config.config);
      json.end_object();
    }
  json.end_array().key("choices").begin_array();
  for (const sched::PlanSite& site : sites) {
    json.begin_object()
        .member("site", site.kind)
        .member("key", site.key)
        .member("name", site.description)
        .member("choice", plans.choose(site, target))
        .member("default", site.default_choice)
        .key("alternatives")
        .begin_array();
    for (const int64_t alternative : site.alternatives) json.value(alternative);
    json.end_array().key("plan");
    const autotune::PlanRecord* plan = plans.find(site, target);
    if (plan && autotune::is_alternative(site, plan->choice))
      write_plan(json, *plan);
    else
      json.null();
    json.end_object();
  }
  json.end_array().key("apart").begin_array();
  for (const std::string& line : apart) json.value(line);
  json.end_array().key("switched_off").begin_array();
  for (const exec::SwitchedOff& off : target.switched_off) json.value(off.what + ": " + off.text());
  json.end_array().end_object();
  std::cout << json.text() << "\n";
}

int why(const WhyOptions& options) {
  check_any_named(options.graphs);
  sched::Target target = target_of(options.target);
  autotune::RecordStore store =
      autotune::load_records({options.tuning.begin(), options.tuning.end()}, log_tuning_warning);
  const autotune::PlanStore plans =
      autotune::load_plans({options.tuning.begin(), options.tuning.end()}, log_tuning_warning);
  backends::CompileOptions compile;
  const autotune::SiteRecorder sites(plans);
  compile.plan = &sites;
  // Nodes that a template would have as one region, and why they are not one.
  std::vector<std::string> apart;
  compile.explain_fusion = [&](const std::string& line) {
    if (line.find(" is not one kernel: ") != std::string::npos &&
        std::ranges::find(apart, line) == apart.end())
      apart.push_back(line);
  };
  DimLists dims(options.graphs.dims);
  auto graphs = schedule_graphs(options.graphs, dims, target, compile);
  const auto own = user_tunables(options.graphs, dims, target, {});
  dims.check_all_used();
  std::vector<SizedKernels> program;  // of open dims
  for (const backends::Scheduled& graph : graphs)
    for (SizedKernels& region : sized_kernels(graph, store, target))
      program.push_back(std::move(region));
  std::vector<Answer> answers;
  for (const autotune::TuningTask& task : autotune::tuning_tasks(graphs)) {
    const sched::Region& region = task.sized ? task.sized->region : task.candidate->region();
    Answer& answer = answers.emplace_back(Answer{region.name(), autotune::operands_text(region),
                                                 task.key, store.explain(*task.candidate)});
    answer.passed = sched::passed_templates(*task.candidate);
    answer.sequence = summary(task.candidate->lower(answer.explanation.choice.config));
    if (task.sized) answer.sizes = task.sized->sizes;
    answer.other = other_kernel(task, answer.explanation.choice.config, program);
  }
  for (const autotune::Tunable& kernel : own)
    answers.push_back({kernel.name, kernel.operands, kernel.key, explain(store, kernel)});
  if (options.json) {
    print_json(answers, program, sites.sites(), apart, plans, target);
    return 0;
  }
  std::map<sched::Tier, int> counts;
  if (!program.empty()) std::cout << "kernels of the program, by the sizes of its open dims:\n";
  for (const SizedKernels& region : program) {
    for (const sched::SizedChoice& choice : region.choices) ++counts[choice.config.tier];
    print(region);
  }
  if (!program.empty())
    std::cout
        << "kernels that tcc-tune measures at some of these sizes, and those of no open dim:\n";
  for (const Answer& answer : answers) {
    if (answer.sizes.empty()) ++counts[answer.explanation.choice.tier];
    print(answer);
  }
  for (const sched::PlanSite& site : sites.sites()) print(site, plans, target);
  if (std::ranges::find(sites.sites(), "fuse", &sched::PlanSite::kind) != sites.sites().end())
    std::cout << "why other neighbours are not fused: tcc-compile --explain-fusion\n";
  for (const std::string& line : apart) std::cout << line << "\n";
  for (const exec::SwitchedOff& off : target.switched_off)
    std::cout << off.what << ": " << off.text() << "\n";
  std::string summary;
  for (const auto& [tier, count] : counts)
    summary += str(summary.empty() ? "" : ", ", count, " ", sched::name(tier));
  std::cout << counted(store.records().size(), "record") << "; kernels of " << target.id() << ": "
            << (summary.empty() ? "none" : summary) << "\n";
  return 0;
}

}  // namespace

Command add_why(CLI::App& program) {
  auto options = std::make_shared<WhyOptions>();
  CLI::App* app = program.add_subcommand(
      "why",
      "Says for each kernel of a graph which record it takes, and why no closer one; and for each "
      "choice that spans kernels whether a plan made it");
  add_graph_options(*app, options->graphs);
  add_target_options(*app, options->target);
  app->add_option("--tuning", options->tuning, "folder or file of tuning records; several")
      ->allow_extra_args(false);
  app->add_flag("--json", options->json, "print one JSON object");
  return {app, [options] { return why(*options); }};
}

}  // namespace tcc::tools
