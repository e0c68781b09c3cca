#include "scheduler/passed_templates.h"

#include <cstdio>

#include "scheduler/template.h"
#include "support/error.h"

namespace tcc::sched {

std::string time_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g us", seconds * 1e6);
  return text;
}

namespace {

// Why a template does not take the region, where only what quirks took from the target is missing;
// "" otherwise.
std::string quirk_against(const Template& one, const Region& region, const Target& target) {
  if (const Match match = one.match(region, target)) {
    const std::string reason = why_off(**match);
    return reason.empty() ? "" : str(one.name(), ": ", reason);
  }
  Target whole = target;
  std::string reasons;
  for (const exec::SwitchedOff& off : target.switched_off) {
    if (off.part != exec::Part::unit) continue;
    const auto unit = exec::parse_matrix_unit(off.what);
    if (!unit || unit->kind != one.unit()) continue;
    whole.matrix_units.push_back(*unit);
    reasons += str(reasons.empty() ? "" : "; ", off.what, " is ", off.text());
  }
  if (reasons.empty() || !one.match(region, whole)) return "";
  return str(one.name(), ": ", reasons);
}

std::vector<std::string> slower_templates(const Candidate& candidate) {
  const auto name = [](const Candidate& one) { return one.kernel_template().name(); };
  std::vector<std::string> lines;
  for (const CandidatePtr& other : compared_candidates(candidate.region(), candidate.target()))
    if (name(*other) != name(candidate))
      lines.push_back(str(name(*other), ": it would take ", time_text(other->default_seconds()),
                          " by its estimate, ", name(candidate), " ",
                          time_text(candidate.default_seconds())));
  return lines;
}

}  // namespace

std::vector<std::string> passed_templates(const Candidate& candidate) {
  std::vector<std::string> reasons = slower_templates(candidate);
  const Template& chosen = candidate.kernel_template();
  const Target& target = candidate.target();
  bool is_before = true;  // in the order in which they are asked
  for (const Template* one : templates()) {
    if (one == &chosen) {
      is_before = false;
      continue;
    }
    std::string reason;
    if (!is_asked(*one, candidate.region(), target)) continue;
    if (!target.switched_off.empty()) reason = quirk_against(*one, candidate.region(), target);
    if (reason.empty() && is_before && target.has_matrix_unit(one->unit())) {
      const Match match = one->match(candidate.region(), target);
      if (!match && !match.refusal().other_kind)
        reason = str(one->name(), ": ", match.refusal().reason);
    }
    if (!reason.empty()) reasons.push_back(std::move(reason));
  }
  for (const exec::SwitchedOff& off : target.switched_off)
    if (off.part == exec::Part::config && off.template_name == chosen.name())
      reasons.push_back(
          str("configs ", off.what.substr(off.template_name.size() + 1), ": ", off.text()));
  return reasons;
}

}  // namespace tcc::sched
