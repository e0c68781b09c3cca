// Sorting and top-k: runs that fit one workgroup are sorted in shared memory, several short ones
// side by side; sorted runs in memory are merged in pairs. Longer rows of open length take several
// kernels; those of a known one are refused, with the steps that sort them.
#include <algorithm>
#include <cmath>

#include "scheduler/cost.h"
#include "scheduler/split_sort.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/sort_lowering.h"
#include "scheduler/templates/sort_plan.h"
#include "scheduler/work.h"
#include "support/checked.h"

namespace tcc::sched::template_sort {
namespace {

// Places in rows of open length have 32 bits, as have those of a run behind another one.
constexpr int64_t kLongestRow = int64_t{1} << 30;

const std::vector<int64_t> kItems = {1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15};

// The longest run that one workgroup sorts by itself: elements of a thread that sorts the longest
// runs, and threads beyond which more do not pay.
int64_t longest_run(const SortPlan& plan, const Target& target) {
  constexpr int64_t kMostItems = 9, kMostThreads = 256;
  const int64_t fitting =
      target.static_shared_bytes() / ((sorted_key_bytes(plan.key) + 4) * kMostItems);
  const int64_t most = std::min({fitting, int64_t{target.max_workgroup_size}, kMostThreads});
  int64_t threads = 1;
  while (threads * 2 <= most) threads *= 2;
  return threads * kMostItems;
}

class Runs : public Candidate {
 public:
  // Several kernels where a row takes several steps.
  Runs(const Template& by, const Region& region, const Target& target, std::vector<SortPlan> steps)
      : Candidate(by, region, target), steps_(std::move(steps)) {}

  KernelSequence lower(const Config& config) const override {
    return lower_sort(region(), steps_, config, target());
  }

 private:
  ConfigSpace make_space() const override {
    const Target& target = this->target();
    const SortPlan& plan = steps_.front();
    ConfigSpace space;
    space.parameters = kernel_template().parameters();
    values_of(space.parameters, "threads") = workgroup_sizes(target);
    space.constraints = {
        {"a workgroup of this device has fewer threads",
         [max = target.max_workgroup_size](const Config& c) { return c["threads"] <= max; }},
        {"shared memory of this device is smaller",
         [bytes = plan.element_bytes(), max = target.static_shared_bytes()](const Config& c) {
           return c["threads"] * c["items"] * bytes <= max;
         }},
        {"a run is longer than a workgroup's elements",
         [run = plan.sorted > 0 ? 0 : plan.run](const Config& c) {
           return c["threads"] * c["items"] >= run;
         }}};
    return space;
  }

  // Nine elements of a thread: odd, so that threads' first elements are in different banks. Fewer
  // of a short run, of which a workgroup takes several.
  Config make_default_config() const override {
    const Target& target = this->target();
    const SortPlan& plan = steps_.front();
    constexpr int64_t few = 9;
    const int64_t fewest = fewest_threads(target);
    const int64_t most = std::min(target.max_workgroup_size, target.full_workgroup);
    const int64_t length = std::max<int64_t>(plan.sorted > 0 ? plan.keep : plan.run, 1);
    const int64_t enough = power_of_two_at_least(ceil_div(length, few));
    int64_t threads = std::clamp<int64_t>(enough, fewest, most);
    if (plan.sorted == 0 && threads * kItems.back() < plan.run)
      threads = std::min<int64_t>(enough, target.max_workgroup_size);
    auto items =
        std::lower_bound(kItems.begin(), kItems.end(),
                         std::min(ceil_div(length, std::min(threads, enough)), kItems.back()));
    if (plan.sorted > 0) items = std::find(kItems.begin(), kItems.end(), few);
    // Short runs: more of them side by side.
    while (plan.sorted == 0 && threads < std::min<int64_t>(most, 128)) threads *= 2;
    while (threads > fewest &&
           threads * *items * plan.element_bytes() > target.static_shared_bytes())
      threads /= 2;
    return {{"threads", threads}, {"items", *items}};
  }

  CostModel make_cost_model() const override {
    const double bytes = region_bytes(region()), prologue = region_slots(region());
    return [bytes, prologue, target = target(), steps = steps_](const Config& c) {
      double seconds = 0;
      for (const SortPlan& step : steps) {
        if (step.needed.usual() == 0) continue;
        const double moved = steps.size() == 1 ? bytes : static_cast<double>(step.bytes().usual());
        seconds += step_seconds(step, c, moved, step.step == 0 ? prologue : 0, target);
      }
      return seconds;
    };
  }

  static double step_seconds(const SortPlan& plan, const Config& c, double bytes, double prologue,
                             const Target& target) {
    LaunchCost cost;
    const auto items = static_cast<double>(c["items"]), threads = static_cast<double>(c["threads"]);
    const double tile = items * threads;
    const auto run = static_cast<double>(std::max<int64_t>(plan.run, 1));
    const double lines = static_cast<double>(plan.rows.usual() * plan.runs.usual());
    const bool merges = plan.sorted > 0;
    double row_threads = 1;
    while (row_threads * items < run) row_threads *= 2;
    const double rounds = merges ? 1 : std::ceil(std::log2(std::max(run / items, 1.0)));
    cost.threads = threads;
    cost.workgroups =
        std::max(1.0, merges ? lines * std::ceil(static_cast<double>(plan.keep) / tile)
                             : std::ceil(lines / std::max(1.0, threads / row_threads)));
    const double sorted = cost.workgroups * tile;  // elements, padding included
    const double kept = static_cast<double>(plan.keep) / run;
    // After the first round that yields as many as are kept, only a part of the threads runs.
    const double whole = std::max(0.0, rounds + std::log2(std::max(kept, 1e-9)));
    const double merged = merges ? 1 : std::min(rounds, whole + 2);
    const double bisection = 8 * std::log2(tile) / items;
    cost.arithmetic = prologue + sorted * (10 + 4 * items + merged * (14 + bisection));
    cost.accesses = sorted * (6 + merged * (6 + 2 * std::log2(tile) / items));
    cost.bank_cycles = sorted / 32 * merged * (static_cast<int64_t>(items) % 2 == 0 ? items : 2);
    cost.elements = sorted * (4 + merged * 4);
    cost.memory_bytes = bytes;
    cost.cache_bytes = bytes;
    cost.registers = 32 + 3 * items;
    cost.shared_bytes = tile * static_cast<double>(plan.element_bytes());
    cost.bytes_in_flight = 4 * items;
    cost.round_trips = merges ? 2 + 2 * std::log2(static_cast<double>(plan.sorted) + 1) : 1;
    cost.barriers = 2 + 2 * rounds;
    cost.parallelism = 2;
    return predicted_seconds(cost, target);
  }

  std::vector<SortPlan> steps_;
};

class Sort : public Template {
 public:
  std::string_view name() const override { return "sort"; }
  int version() const override { return 1; }
  int specificity() const override { return 0; }
  std::vector<Parameter> parameters() const override {
    return {{"threads", {}, "threads of a workgroup"}, {"items", kItems, "elements of a thread"}};
  }
  int least_workgroup() const override { return 1; }
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    OrRefusal<SortPlan> plan = plan_sort(region);
    if (!plan) return plan.refusal();
    const int64_t run = plan->run, longest = longest_run(*plan, target);
    const bool is_long = plan->node->attr<int64_t>("run") == 0 && run > longest;
    if (is_long && plan->extent.is_const()) {
      Alternative split;
      split.kind = "split_sort";
      split.choices = {longest};
      split.none = 0;
      split.rewrite = split_sort;
      return Refusal{str("rows of ", run, " elements, of which a workgroup sorts ", longest),
                     false,
                     false,
                     {std::move(split)}};
    }
    if (is_long && run > kLongestRow)
      return Refusal{str("rows may have ", run, " elements, and no more than ", kLongestRow,
                         " are sorted: their length needs a range up to there")};
    std::vector<SortPlan> steps =
        is_long ? sort_steps(*plan, longest) : std::vector<SortPlan>{*std::move(plan)};
    auto runs = std::make_shared<const Runs>(*this, region, target, std::move(steps));
    const std::string reason = runs->space().violation(runs->default_config());
    if (!reason.empty()) return Refusal{str("a run of ", run, " elements: ", reason)};
    return runs;
  }
};

const RegisterTemplate<Sort> registered;

}  // namespace

}  // namespace tcc::sched::template_sort
