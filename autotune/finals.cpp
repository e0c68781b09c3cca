#include "autotune/finals.h"

#include <algorithm>
#include <ctime>
#include <map>

#include "autotune/record_file.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

constexpr size_t kMostFinalists = 4;
constexpr double kClose = 1.03;  // of the fastest: close enough for the finals
constexpr double kTie = 1.01;    // beyond it, overlapping intervals are mere noise

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

}  // namespace

std::vector<sched::Config> finalists(const std::vector<LoggedTrial>& trials,
                                     const sched::Config& incumbent) {
  std::vector<const LoggedTrial*> ranked = ranking(trials);
  std::erase_if(ranked, [&](const LoggedTrial* trial) { return trial->config == incumbent; });
  std::vector<sched::Config> result;
  for (const LoggedTrial* trial : ranked) {
    const Measurement &fastest = ranked.front()->result, &one = trial->result;
    if (result.size() == kMostFinalists) break;
    if (one.seconds <= fastest.seconds * kClose || one.low <= fastest.high)
      result.push_back(trial->config);
  }
  return result;
}

FinalResult play_finals(
    Bench& bench, const std::vector<sched::Config>& finalists, const sched::Config& incumbent,
    const std::function<exec::StandaloneSequence(const sched::Config&)>& compile,
    const std::function<bool()>& hurry) {
  TCC_CHECK(!finalists.empty(), "a final without finalists");
  const auto at_once = [] { return true; };  // among finalists, one round is enough
  sched::Config fastest = finalists.front(), winner = fastest;
  for (size_t i = 1; i < finalists.size() && !(hurry && hurry()); ++i) {
    const sched::Config& other = finalists[i];
    const DuelResult meeting = duel(bench, compile(fastest), compile(other), at_once);
    if (!meeting.valid) continue;
    if (meeting.won())
      fastest = winner = other;
    else if (meeting.interval.low <= 1 && meeting.ratio <= kTie && other.hash() < winner.hash())
      winner = other;
  }
  return {winner, duel(bench, compile(incumbent), compile(winner), hurry)};
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
