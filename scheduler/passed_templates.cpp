#include "scheduler/passed_templates.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "ir/op.h"
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

std::string refusals_of(const Region& region, const Target& target) {
  std::vector<std::pair<std::string, std::string>> told;  // names of templates, and their reason
  for (const Template* one : templates()) {
    if (!is_asked(*one, region, target)) continue;
    const Match match = one->match(region, target);
    if (!match && match.refusal().other_kind) continue;
    const std::string reason = match ? why_off(**match) : match.refusal().reason;
    const auto same = std::ranges::find(told, reason, &std::pair<std::string, std::string>::second);
    if (same == told.end())
      told.emplace_back(one->name(), reason);
    else
      same->first += str(", ", one->name());
  }
  std::string text;
  for (const auto& [names, reason] : told)
    text += str(text.empty() ? "" : "; ", names, ": ", reason);
  return text;
}

std::vector<std::string> passed_templates(const Candidate& candidate) {
  std::vector<std::string> reasons = slower_templates(candidate);
  const Template& chosen = candidate.kernel_template();
  const Target& target = candidate.target();
  const auto has = [&](ir::OpKind kind) {
    return std::ranges::any_of(candidate.region().nodes,
                               [&](const ir::Node* node) { return node->op->kind == kind; });
  };
  const bool is_composite = has(ir::OpKind::composite);
  const bool is_convolution_of_elements =
      has(ir::OpKind::contraction) && !candidate.region().anchor;  // as depthwise ones
  const bool is_product_on_fma =
      chosen.unit().empty() && candidate.region().anchor &&
      std::ranges::count(candidate.region().nodes, ir::OpKind::contraction,
                         [](const ir::Node* node) { return node->op->kind; }) == 1;
  // Returns whether it would have got such a region before the candidate's, or been compared.
  const auto is_told = [&](const Template& one) {
    if (is_composite) return true;
    const bool is_compared = one.is_compared(candidate.region());
    if (one.specificity() < chosen.specificity() && !is_compared) return false;
    if (!one.unit().empty()) return target.has_matrix_unit(one.unit());
    return is_compared || is_convolution_of_elements || is_product_on_fma;
  };
  for (const Template* one : templates()) {
    if (one == &chosen) continue;
    std::string reason;
    if (!is_asked(*one, candidate.region(), target)) continue;
    if (!target.switched_off.empty()) reason = quirk_against(*one, candidate.region(), target);
    if (reason.empty() && is_told(*one)) {
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
