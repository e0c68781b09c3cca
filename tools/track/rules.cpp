#include "tools/track/rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "support/error.h"

namespace tcc::tools {
namespace {

using Verdict = Quantity::Verdict;
using Kind = Rule::Kind;

// Errors below it are rounding, whatever they are relative to each other.
constexpr double kRounding = 1e-7;

constexpr std::array kRules = {
    Rule{"time", "time", "s"},
    // Compilers, caches and other work on the machine: less than 10 % does not matter.
    Rule{"compile time", "compile_time", "s", Kind::noisy, 0.1},
    Rule{"launches", "launches", "", Kind::exact},
    Rule{"kernels", "kernels", "", Kind::exact},
    Rule{"arena bytes", "arena", "bytes", Kind::exact},
    Rule{"constant bytes", "constants", "bytes", Kind::exact},
    // The bytes of all kernels' text: any change of a generator changes it.
    Rule{"source bytes", "source", "bytes", Kind::factor, 0, 1.1},
    // Instructions of SPIR-V: their number depends on the version of the compiler.
    Rule{"instructions", "instructions", "", Kind::factor, 0, 1.1, false, true, true},
    Rule{"error", "error", "", Kind::factor, 0, 2},
};

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array kSeconds = {Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1},
                                 Unit{"min", 60}};
constexpr std::array kBytes = {Unit{"", 1},          Unit{"B", 1},         Unit{"KiB", 1024.0},
                               Unit{"MiB", 1048576}, Unit{"GiB", 1 << 30}, Unit{"kB", 1e3},
                               Unit{"MB", 1e6},      Unit{"GB", 1e9}};
constexpr std::array kPlain = {Unit{"", 1}, Unit{"%", 0.01}};

}  // namespace

std::span<const Rule> known_rules() { return kRules; }

Rule rule_of(std::string_view quantity, std::string_view counter) {
  for (const Rule& rule : kRules)
    if (rule.quantity == quantity) return rule;
  Rule rule{quantity, quantity, ""};
  if (quantity.starts_with(kKernelPrefix)) {
    rule.unit = "s";
    rule.gates = false;
  }
  if (counter == "exact") rule.kind = Kind::exact;
  rule.more_is_better = counter == "more";
  return rule;
}

Quantity::Verdict judged(const Rule& rule, double base, double head) {
  TCC_CHECK(rule.kind != Kind::noisy, rule.quantity, " is noisy");
  if (rule.kind == Kind::exact)
    return head == base ? Verdict::same : head > base ? Verdict::worse : Verdict::better;
  if (!std::isfinite(head)) return Verdict::worse;
  if (head > rule.factor * base + kRounding) return Verdict::worse;
  return base > rule.factor * head + kRounding ? Verdict::better : Verdict::same;
}

void hold_to(const std::map<std::string, double>& budget, Quantity& quantity) {
  const auto most = budget.find(quantity.name);
  if (most == budget.end() || !quantity.head) return;
  quantity.budget = most->second;
  quantity.over_budget = *quantity.head > most->second;
}

std::optional<double> parse_amount(const Rule& rule, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const std::span<const Unit> units = rule.unit == "s"       ? std::span<const Unit>(kSeconds)
                                      : rule.unit == "bytes" ? std::span<const Unit>(kBytes)
                                                             : std::span<const Unit>(kPlain);
  for (const Unit& one : units)
    if (one.name == unit) return value * one.factor;
  return std::nullopt;
}

}  // namespace tcc::tools
