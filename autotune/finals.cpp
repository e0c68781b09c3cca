#include "autotune/finals.h"

#include <algorithm>
#include <ctime>
#include <map>

#include "autotune/record_file.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

constexpr size_t kMostFinalists = 4;
constexpr double kClose = 1.03;            // of the fastest: close enough for the finals
constexpr double kTie = 1.01;              // beyond it, overlapping intervals are mere noise
constexpr double kSignificantGain = 1.01;  // over the default, at least

// Fastest first; each config once, with its last full measurement, else with its last quick one.
std::vector<const LoggedTrial*> ranking(const std::vector<LoggedTrial>& trials) {
  std::map<sched::Config, const LoggedTrial*> last;
  for (const LoggedTrial& trial : trials) {
    if (trial.result.status != Measurement::Status::measured) continue;
    const LoggedTrial*& known = last[trial.config];
    if (!known || known->effort != Effort::full || trial.effort == Effort::full) known = &trial;
  }
  std::vector<const LoggedTrial*> ranked;
  for (const auto& [config, trial] : last) ranked.push_back(trial);
  std::sort(ranked.begin(), ranked.end(), [](const LoggedTrial* a, const LoggedTrial* b) {
    return std::pair(a->result.seconds, a->config.hash()) <
           std::pair(b->result.seconds, b->config.hash());
  });
  return ranked;
}

bool passed(const Measurement& m) { return m.status == Measurement::Status::measured; }

}  // namespace

std::vector<sched::Config> finalists(const std::vector<LoggedTrial>& trials) {
  std::vector<sched::Config> result;
  const std::vector<const LoggedTrial*> ranked = ranking(trials);
  for (const LoggedTrial* trial : ranked) {
    const double fastest = ranked.front()->result.seconds;
    if (result.size() == kMostFinalists || trial->result.seconds > fastest * kClose) break;
    result.push_back(trial->config);
  }
  return result;
}

FinalResult play_finals(Bench& bench, const std::vector<sched::Config>& finalists,
                        const sched::Config& default_config,
                        const std::function<sched::KernelBinary(const sched::Config&)>& compile) {
  TCC_CHECK(!finalists.empty(), "a sweep's best is a finalist");
  FinalResult winner{finalists.front(), {}, 0};
  sched::KernelBinary winner_binary = compile(winner.config);
  const sched::KernelBinary fastest = winner_binary;
  for (size_t i = 1; i < finalists.size(); ++i) {
    const sched::KernelBinary binary = compile(finalists[i]);
    const auto [first, other] = bench.duel(fastest, binary);
    if (!passed(first) || !passed(other)) continue;
    const bool tied = other.low <= first.high && other.seconds <= first.seconds * kTie;
    if (!tied || finalists[i].hash() >= winner.config.hash()) continue;
    winner.config = finalists[i];
    winner_binary = binary;
  }
  const sched::KernelBinary default_binary = compile(default_config);
  const auto [incumbent, challenger] = bench.duel(default_binary, winner_binary);
  if (!passed(incumbent)) fail_device("the default config: ", incumbent.reason);
  winner.default_seconds = incumbent.seconds;
  winner.measured = challenger;
  const bool gains = winner.config != default_config && passed(challenger) &&
                     challenger.high < incumbent.low &&
                     challenger.seconds * kSignificantGain <= incumbent.seconds;
  if (gains) return winner;
  return {default_config, incumbent, incumbent.seconds};
}

std::vector<RunnerUp> runners_up(const std::vector<LoggedTrial>& trials,
                                 const sched::Config& best) {
  std::vector<RunnerUp> result;
  for (const LoggedTrial* trial : ranking(trials)) {
    if (trial->config == best || trial->effort != Effort::full) continue;
    if (result.size() == kMaxRunnersUp) break;
    result.push_back({trial->config, trial->result.seconds, trial->result.low, trial->result.high});
  }
  return result;
}

std::string date_today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

}  // namespace tcc::autotune
