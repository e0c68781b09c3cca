#include "autotune/plan_search.h"

#include <algorithm>
#include <map>
#include <memory>

#include "autotune/finals.h"
#include "autotune/plan_sites.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

using Choices = std::map<SiteKey, int64_t>;
using Launches = std::map<RecordKey, int>;

constexpr int kPasses = 2;

// Answers by a table, else as what is in use does.
class ChosenPlan : public sched::PlanSource {
 public:
  ChosenPlan(const Choices& choices, const PlanSearchOptions& options)
      : choices_(choices), options_(options) {}

  int64_t choose(const sched::PlanSite& site, const sched::Target& target) const override {
    const auto found = choices_.find(key_of(site));
    // After another choice elsewhere, a site may have other alternatives.
    if (found != choices_.end() && is_alternative(site, found->second)) return found->second;
    return today(site, target);
  }

  int64_t today(const sched::PlanSite& site, const sched::Target& target) const {
    const int64_t choice =
        options_.in_use ? options_.in_use->choose(site, target) : site.default_choice;
    return is_alternative(site, choice) ? choice : site.default_choice;
  }

 private:
  const Choices& choices_;
  const PlanSearchOptions& options_;
};

// A plan makes this of the graphs.
struct Program {
  std::shared_ptr<const std::vector<backends::Scheduled>> graphs;
  std::vector<TuningTask> tasks;  // they point into the graphs
  Launches launches;
  std::vector<sched::PlanSite> sites;
  std::string failure;         // why it cannot be compared
  bool out_of_budget = false;  // that is why
};

// The launches that all programs have.
Launches common_launches(const std::vector<Program>& programs) {
  Launches common = programs.front().launches;
  for (const Program& program : programs)
    for (auto& [key, times] : common) {
      const auto found = program.launches.find(key);
      times = std::min(times, found == program.launches.end() ? 0 : found->second);
    }
  return common;
}

// The program's launches beside those.
Launches launches_beside(const Program& program, const Launches& common) {
  Launches own = program.launches;
  for (const auto& [key, times] : common) own[key] -= times;
  std::erase_if(own, [](const auto& entry) { return entry.second == 0; });
  return own;
}

class PlanSearch {
 public:
  PlanSearch(const ScheduleByPlan& schedule, const TuneKernels& tune, const ConfirmKernels& confirm,
             const sched::Target& target, const PlanSearchOptions& options)
      : schedule_(schedule), tune_(tune), confirm_(confirm), target_(target), options_(options) {}

  PlanSearchResult run() {
    Program best = program(choices_);
    result_.today_launches = count(best.launches);
    // A part of the sites needs the kernels in which its alternatives differ, and no others.
    result_.is_part = static_cast<bool>(options_.is_part);
    if (!result_.is_part) {
      tune_unknown(best.tasks, best.sites.empty() ? options_.deadline : part_left(kTodaysShare));
      check_measured(best, {});
      result_.today_seconds = total_seconds(best);
      if (!best.failure.empty()) stopped();
      if (best.out_of_budget) go_on_without_total(best);
    }
    // If the choices in use cannot be measured, nothing can be compared with them.
    for (int pass = 0; pass < kPasses && best.failure.empty(); ++pass)
      if (!improve(best)) break;
    if (result_.today_seconds > 0) result_.best_seconds = total_seconds(best);
    result_.choices = count_choices(best);
    result_.compared = compared_.size();
    result_.best_launches = count(best.launches);
    for (const SiteKey& key : order_) finish(key);
    return std::move(result_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  // The end of a part of the time that is left.
  Clock::time_point part_left(double part) const {
    const Clock::time_point now = Clock::now();
    if (options_.deadline == Clock::time_point::max() || now >= options_.deadline)
      return options_.deadline;
    const std::chrono::duration<double> left = options_.deadline - now;
    return now + std::chrono::duration_cast<Clock::duration>(part * left);
  }

  // Kernels of today's plan that its share of the time did not reach are tuned where a comparison
  // needs them, as in a process that has a part of the sites.
  void go_on_without_total(Program& best) {
    result_.out_of_time = true;
    best.failure.clear();
    best.out_of_budget = false;
    for (const RecordKey& key : out_of_budget_) seen_.erase(key);
    out_of_budget_.clear();
  }

  bool is_own(const sched::PlanSite& site) const {
    return !options_.is_part || options_.is_part(site);
  }
  // Those of the program, and those that were compared before others took them out of it.
  size_t count_choices(const Program& best) const {
    std::set<SiteKey> sites = compared_;
    for (const sched::PlanSite& site : best.sites)
      if (is_own(site)) sites.insert(key_of(site));
    return sites.size();
  }

  bool interrupted() const { return options_.interrupted && *options_.interrupted; }
  // Must be called only where there is more to do.
  bool stopped() {
    if (interrupted()) return true;
    if (Clock::now() < options_.deadline) return false;
    return result_.out_of_time = true;
  }

  // One pass over all sites, those included that only choices of this pass gave rise to.
  bool improve(Program& best) {
    bool changed = false;
    std::set<SiteKey> done;
    std::vector<sched::PlanSite> pending = best.sites;
    for (size_t i = 0; i < pending.size() && !stopped(); ++i) {
      const SiteKey key = key_of(pending[i]);
      if (!done.insert(key).second) continue;
      // The site is looked up anew: choices that were made since may have changed its alternatives.
      const auto now = std::find_if(best.sites.begin(), best.sites.end(),
                                    [&](const auto& site) { return key_of(site) == key; });
      if (now == best.sites.end() || !is_own(*now)) continue;
      const sched::PlanSite site = *now;
      const bool is_last = std::all_of(
          pending.begin() + static_cast<std::ptrdiff_t>(i) + 1, pending.end(),
          [&](const sched::PlanSite& one) { return done.contains(key_of(one)) || !is_own(one); });
      if (!compare(site, best, is_last ? kLastComparisonShare : kComparisonShare)) continue;
      changed = true;
      pending.insert(pending.end(), best.sites.begin(), best.sites.end());
    }
    return changed;
  }

  // Returns whether another alternative took the place of the site's present one; `best` is then
  // its program. Tuning takes at most that share of the time that is left.
  bool compare(const sched::PlanSite& site, Program& best, double share) {
    const ChosenPlan plan(choices_, options_);
    const int64_t before = plan.choose(site, target_);
    std::vector<Program> programs;
    for (int64_t choice : site.alternatives) {
      Choices choices = choices_;
      choices[key_of(site)] = choice;
      programs.push_back(choice == before ? best : program(choices));
      if (stopped()) return false;
    }
    const Launches common = common_launches(programs);
    const bool same = std::all_of(programs.begin(), programs.end(), [&](const Program& program) {
      return program.launches == best.launches;
    });
    if (same) {
      compared_.insert(key_of(site));
      return false;
    }
    std::vector<TuningTask> differing;
    for (const Program& program : programs)
      for (const TuningTask& task : program.tasks)
        if (launches_beside(program, common).count(task.key)) differing.push_back(task);
    tune_unknown(differing, part_left(share));
    if (stopped()) return false;  // kernels that were not tuned cannot be judged
    bool incumbent_fails = false, all_in_budget = true;
    for (size_t i = 0; i < programs.size(); ++i) {
      check_measured(programs[i], common);
      all_in_budget &= !programs[i].out_of_budget;
      incumbent_fails |= site.alternatives[i] == before && !programs[i].failure.empty();
    }
    result_.out_of_time |= !all_in_budget;
    if (incumbent_fails) return false;
    PlanComparison comparison{site, alternatives(site, programs), plan.today(site, target_), before,
                              true};
    size_t winner = programs.size();
    for (size_t i = 0; i < programs.size(); ++i) {
      if (!programs[i].failure.empty() || !clearly_faster(programs[i], best)) continue;
      if (winner == programs.size() ||
          comparison.alternatives[i].seconds < comparison.alternatives[winner].seconds)
        winner = i;
    }
    bool changed = winner < programs.size();
    if (changed) {
      changed = confirm(programs[winner], best) && clearly_faster(programs[winner], best);
      if (interrupted()) return false;
      comparison.alternatives = alternatives(site, programs);
    }
    if (changed) {
      comparison.choice = site.alternatives[winner];
      choices_[key_of(site)] = comparison.choice;
      best = std::move(programs[winner]);
    }
    comparison.is_decided = changed || all_in_budget;
    if (comparison.is_decided) compared_.insert(key_of(site));
    const auto earlier = comparisons_.find(key_of(site));
    if (earlier == comparisons_.end())
      order_.push_back(key_of(site));
    else if (!comparison.is_decided)
      return false;  // what was found out before stays
    const bool is_news =
        earlier == comparisons_.end() || earlier->second.choice != comparison.choice;
    if (options_.compared && is_news) options_.compared(comparison);
    comparisons_.insert_or_assign(key_of(site), std::move(comparison));
    return changed;
  }

  // Times that were measured far apart are no proof: the kernels in which the two differ are
  // measured again, together. Whether all could be.
  bool confirm(const Program& winner, const Program& best) {
    const Launches common = common_launches({winner, best});
    std::vector<TuningTask> tasks;
    std::set<RecordKey> listed;
    for (const Program* program : {&best, &winner}) {
      const Launches own = launches_beside(*program, common);
      for (const TuningTask& task : program->tasks)
        if (own.count(task.key) && listed.insert(task.key).second) tasks.push_back(task);
    }
    RecordStore records;
    for (const TuningTask& task : tasks) records.add(best_.at(task.key));
    const RecordStore confirmed = confirm_(tasks, records);
    for (const auto& [key, record] : confirmed.records()) best_.insert_or_assign(key, record);
    return confirmed.records().size() == tasks.size();
  }

  // ---- programs

  Program program(const Choices& choices) {
    const ChosenPlan plan(choices, options_);
    const SiteRecorder recorder(plan);
    Program result;
    result.graphs = std::make_shared<const std::vector<backends::Scheduled>>(schedule_(recorder));
    result.tasks = tuning_tasks(*result.graphs);
    for (const TuningTask& task : result.tasks) result.launches[task.key] = task.launches;
    result.sites = recorder.sites();
    return result;
  }

  void check_measured(Program& program, const Launches& common) const {
    const Launches own = launches_beside(program, common);
    for (const TuningTask& task : program.tasks) {
      if (!own.count(task.key) || best_.count(task.key)) continue;
      program.out_of_budget = out_of_budget_.count(task.key) > 0;
      program.failure = program.out_of_budget
                            ? std::string("not measured: out of budget")
                            : str(task.candidate->region().name(), " could not be measured");
      if (!program.out_of_budget) return;  // a reason that no budget removes
    }
  }

  void tune_unknown(std::span<const TuningTask> tasks, Clock::time_point deadline) {
    std::vector<TuningTask> unknown;
    for (const TuningTask& task : tasks) {
      if (stopped() || !seen_.insert(task.key).second) continue;
      if (const Record* record = known(task))
        best_.emplace(task.key, *record);
      else
        unknown.push_back(task);
    }
    if (unknown.empty()) return;
    const TunedKernels tuned = tune_(unknown, deadline);
    for (const auto& [key, record] : tuned.records.records()) best_.insert_or_assign(key, record);
    out_of_budget_.insert(tuned.out_of_budget.begin(), tuned.out_of_budget.end());
    result_.kernels.override_with(tuned.records);
  }

  const Record* known(const TuningTask& task) const {
    if (!options_.known) return nullptr;
    const Found found = options_.known->find(query_of(*task.candidate));
    return found.tier == sched::Tier::exact ? found.record : nullptr;
  }

  // ---- times

  static int count(const Launches& launches) {
    int sum = 0;
    for (const auto& [key, times] : launches) sum += times;
    return sum;
  }

  double seconds(const Launches& launches) const {
    double sum = options_.launch_seconds * count(launches);
    for (const auto& [key, times] : launches) sum += times * best_.at(key).seconds;
    return sum;
  }

  double total_seconds(const Program& program) const {
    return program.failure.empty() ? seconds(program.launches) : 0;
  }

  // Only launches that differ between the two count. It compares the upper end of the interval of
  // launches that only `a` has with the lower end of those that only `b` has.
  bool clearly_faster(const Program& a, const Program& b) const {
    Launches more = a.launches;
    for (const auto& [key, times] : b.launches) more[key] -= times;
    double difference = options_.launch_seconds * count(more);
    for (const auto& [key, times] : more) {
      if (times == 0) continue;
      const Record& record = best_.at(key);
      const double bound = times > 0 ? record.high : record.low;
      difference += times * (bound > 0 ? bound : record.seconds);
    }
    return difference < 0;
  }

  // Launches that all alternatives have are left out.
  std::vector<PlanAlternative> alternatives(const sched::PlanSite& site,
                                            const std::vector<Program>& programs) const {
    const Launches common = common_launches(programs);
    std::vector<PlanAlternative> result;
    for (size_t i = 0; i < programs.size(); ++i) {
      const Launches own = launches_beside(programs[i], common);
      const bool measured = programs[i].failure.empty();
      result.push_back({site.alternatives[i], count(own), measured ? seconds(own) : 0,
                        programs[i].failure, programs[i].out_of_budget});
    }
    return result;
  }

  // ---- the result

  void finish(const SiteKey& key) {
    PlanComparison& comparison = comparisons_.at(key);
    if (comparison.is_decided) result_.plans.put(record_of(comparison));
    result_.comparisons.push_back(std::move(comparison));
  }

  PlanRecord record_of(const PlanComparison& comparison) const {
    PlanRecord record;
    record.key = {target_.id(), comparison.site.kind, comparison.site.key};
    record.description = comparison.site.description;
    record.choice = comparison.choice;
    record.default_choice = comparison.site.default_choice;
    for (const PlanAlternative& alternative : comparison.alternatives)
      if (alternative.failure.empty() && alternative.seconds > 0)
        record.seconds[alternative.choice] = alternative.seconds;
    record.measured_on = target_.device;
    record.driver = target_.driver;
    record.tcc = tcc_version();
    record.date = date_today();
    return record;
  }

  const ScheduleByPlan& schedule_;
  const TuneKernels& tune_;
  const ConfirmKernels& confirm_;
  const sched::Target& target_;
  const PlanSearchOptions& options_;
  Choices choices_;                    // other than what is in use, or confirmed
  std::map<RecordKey, Record> best_;   // of kernels that could be measured
  std::set<RecordKey> seen_;           // of all kernels that were asked for
  std::set<RecordKey> out_of_budget_;  // of those, kernels without time for tuning
  std::vector<SiteKey> order_;         // of comparisons
  std::map<SiteKey, PlanComparison> comparisons_;
  std::set<SiteKey> compared_;  // sites that need no more time
  PlanSearchResult result_;
};

}  // namespace

double launch_seconds(const sched::Target& target) { return target.is_cpu ? 5e-6 : 1e-6; }

PlanSearchResult search_plans(const ScheduleByPlan& schedule, const TuneKernels& tune,
                              const ConfirmKernels& confirm, const sched::Target& target,
                              const PlanSearchOptions& options) {
  return PlanSearch(schedule, tune, confirm, target, options).run();
}

}  // namespace tcc::autotune
