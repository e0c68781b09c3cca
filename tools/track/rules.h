// This table alone says which quantities are tracked, and when one of them became worse.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tools/track/report.h"

namespace tcc::tools {

struct Rule {
  enum class Kind : uint8_t {
    noisy,   // by statistics: `ignored` is the largest relative change that does not count
    exact,   // the same in every run of one program; more is worse, by how little
    factor,  // more than `factor` times as much is worse
  };
  std::string_view quantity;  // "arena bytes"
  std::string_view key;       // in a suite's budget: "arena"
  std::string_view unit;      // "s", "bytes", or "" for counts and ratios
  Kind kind = Kind::noisy;
  double ignored = -1;  // negative: half of the smallest change that is to be seen
  double factor = 1;
  bool more_is_better = false;
  bool gates = true;         // a worse one makes the exit code 1
  bool by_compiler = false;  // what different compilers give is not comparable
};

// Returns the quantities that have names of their own; "time" is first.
std::span<const Rule> known_rules();
// Returns the rule of a known quantity, or of a kernel's time, "kernel NAME", which does not gate.
// For a counter of a command, `counter` is "more", "less" or "exact", as the suite says. Anything
// else is noisy, and less is better. `quantity` must outlive the rule.
Rule rule_of(std::string_view quantity, std::string_view counter = {});
inline constexpr std::string_view kKernelPrefix = "kernel ";

// Judges by an exact rule or one of a factor; TCC_CHECKs that it is one.
Quantity::Verdict judged(const Rule& rule, double base, double head);

// Sets `budget` and `over_budget` where the budget, by quantity, has the quantity and it is known.
void hold_to(const std::map<std::string, double>& budget, Quantity& quantity);

// Parses "120us", "2s", "64MiB" or "1e-3" to the rule's unit. Returns nothing for text of another
// form.
std::optional<double> parse_amount(const Rule& rule, std::string_view text);

}  // namespace tcc::tools
