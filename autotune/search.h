// A search decides which configs of a space are tried, in what order, and with what effort each is
// measured.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "scheduler/config.h"

namespace tcc::autotune {

// The effort of a measurement: a few samples, to drop configs that are clearly worse, or all of
// them.
enum class Effort : uint8_t { quick, full };

struct Trial {
  sched::Config config;
  Effort effort = Effort::full;
};

class Searcher {
 public:
  virtual ~Searcher() = default;
  // Returns the trials to measure next; none of these pairs (config, effort) was proposed before.
  // The search is over when it is empty. It is called when all trials of the batch before were
  // reported.
  virtual std::vector<Trial> next_batch() = 0;
  // Reports the outcome of one trial: its median seconds, or nothing when it failed or was wrong.
  virtual void report(const Trial& trial, std::optional<double> seconds) = 0;
};

enum class SearchKind : uint8_t {
  automatic,     // exhaustive where the space has at most `trials` configs, else `staged`
  exhaustive,    // every config, in lexicographic order
  random,        // a seeded uniform sample
  staged,        // analytic ranking, successive halving, then local search around the best
  evolutionary,  // seeded populations, crossed and mutated
};
std::optional<SearchKind> search_kind(std::string_view name);  // "auto", "exhaustive", ...
std::string_view name(SearchKind kind);

inline constexpr double kNearBound = 1.02;

// A config that was measured already, at full effort.
struct KnownConfig {
  sched::Config config;
  double seconds = 0;  // its median; 0: it failed
};

// A searcher is given this problem before it starts.
struct SearchProblem {
  const sched::ConfigSpace* space = nullptr;  // outlives the searcher
  std::vector<KnownConfig> known;             // the default config, and what is in use today
  size_t trials = 64;        // measurements at most, quick ones counted in parts by `quick_cost`
  double quick_cost = 0.25;  // of a quick trial, in full ones
  uint64_t seed = 0;
  // Predicted seconds of a legal config, for ranking; empty: nothing is known.
  std::function<double(const sched::Config&)> estimate;
  // No config can be faster: the roofline bound. The search ends when the best is as near to it as
  // kNearBound.
  double bound_seconds = 0;
};

// Deterministic: the same problem and the same reports give the same trials on every machine.
std::unique_ptr<Searcher> make_searcher(SearchKind kind, const SearchProblem& problem);

}  // namespace tcc::autotune
