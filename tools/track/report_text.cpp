#include "tools/track/report_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "support/error.h"
#include "support/utf8.h"
#include "tools/program.h"

namespace tcc::tools {
namespace {

using Verdict = Quantity::Verdict;
std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string percent(double share) {
  return formatted(share < 0.1 ? "%.2g %%" : "%.3g %%", 100 * share);
}

}  // namespace

std::string_view name(Standing standing) {
  switch (standing) {
    case Standing::failed: return "failed";
    case Standing::over_budget: return "over budget";
    case Standing::worse: return "worse";
    case Standing::better: return "better";
    case Standing::unmeasurable: return "unmeasurable";
    case Standing::same: return "same";
    case Standing::not_judged: return "not judged";
  }
  return "failed";
}

Standing standing(const Quantity& quantity) {
  if (quantity.verdict == Verdict::failed) return Standing::failed;
  if (quantity.over_budget) return Standing::over_budget;
  switch (quantity.verdict) {
    case Verdict::worse: return Standing::worse;
    case Verdict::better: return Standing::better;
    case Verdict::unmeasurable: return Standing::unmeasurable;
    case Verdict::not_judged: return Standing::not_judged;
    default: return Standing::same;
  }
}

Standing standing(const ReportedCase& one) {
  const bool any_gates = std::any_of(one.quantities.begin(), one.quantities.end(),
                                     [](const Quantity& quantity) { return quantity.gates; });
  Standing first = one.quantities.empty() ? Standing::same : Standing::not_judged;
  for (const Quantity& quantity : one.quantities)
    if (quantity.gates || !any_gates) first = std::min(first, standing(quantity));
  return first;
}

bool judges(const TrackReport& report) {
  const auto is_judged = [](const Quantity& quantity) {
    const Standing found = standing(quantity);
    return quantity.gates &&
           (quantity.budget || (found != Standing::not_judged && found != Standing::unmeasurable));
  };
  return std::any_of(report.cases.begin(), report.cases.end(), [&](const ReportedCase& one) {
    return std::any_of(one.quantities.begin(), one.quantities.end(), is_judged);
  });
}

std::string value_text(std::optional<double> value, const std::string& unit) {
  if (!value || !std::isfinite(*value)) return "-";
  if (unit == "s") return format_seconds(*value);
  if (unit == "bytes") return format_bytes(*value);
  const std::string number = formatted(std::abs(*value) < 1e15 ? "%.10g" : "%.6g", *value);
  return unit.empty() ? number : number + " " + unit;
}

std::string change_text(double ratio) {
  if (!std::isfinite(ratio)) return "-";
  return formatted(std::abs(ratio - 1) < 0.1 ? "%+.2f %%" : "%+.1f %%", 100 * (ratio - 1));
}

std::string interval_text(const track::Effect& effect) {
  if (effect.blocks < 2 || !std::isfinite(effect.low) || !std::isfinite(effect.high)) return "-";
  std::string low = change_text(effect.low);

  return low + " .. " + change_text(effect.high);
}

double ratio(const Quantity& quantity) {
  if (quantity.effect) return quantity.effect->ratio;
  if (!quantity.base || !quantity.head) return std::numeric_limits<double>::quiet_NaN();
  return *quantity.base == *quantity.head ? 1 : *quantity.head / *quantity.base;
}

std::string size_text(const TrackedHistory& history, const track::Change& change) {
  if (std::isfinite(change.ratio)) return change_text(change.ratio);
  const double before = history.points.at(change.first > 0 ? change.first - 1 : 0).value;
  return value_text(before, history.unit) + " to " +
         value_text(history.points.at(change.last).value, history.unit);
}

std::string summary(const TrackReport& report) {
  const auto count = [&](Standing wanted) {
    return std::count_if(report.cases.begin(), report.cases.end(),
                         [&](const ReportedCase& one) { return standing(one) == wanted; });
  };
  if (report.cases.empty()) return "no case was measured";
  const std::string all = str(report.cases.size(), report.cases.size() == 1 ? " case" : " cases");
  std::string text;
  const auto add = [&](auto number, const std::string& words) {
    if (number > 0) text += str(text.empty() ? "" : ", ", number, " ", words);
  };
  add(count(Standing::failed), "failed");
  add(count(Standing::over_budget), "over budget");
  add(count(Standing::worse), "worse");
  add(count(Standing::better), "better");
  add(count(Standing::unmeasurable), "not measurable");
  add(count(Standing::same), "same");
  add(count(Standing::not_judged), "not judged");
  return all + ": " + text;
}

std::string title(const TrackReport& report) {
  std::string text = report.head.label.empty() ? "run" : report.head.label;
  if (!report.base.label.empty()) text += " against " + report.base.label;
  if (!report.description.empty())
    text += " on " + report.description;
  else if (!report.device.empty())
    text += " on " + report.device;
  return text;
}

std::string method(const TrackReport& report) {
  double visible = 0;
  bool compares = false, pairs = false, judged = false;
  for (const ReportedCase& one : report.cases)
    for (const Quantity& quantity : one.quantities) {
      compares |= quantity.effect.has_value();
      pairs |= !quantity.base_samples.empty();
      judged |= quantity.verdict != Quantity::Verdict::not_judged;
      if (quantity.visible && std::isfinite(*quantity.visible) &&
          quantity.verdict == Quantity::Verdict::same)
        visible = std::max(visible, *quantity.visible);
    }
  if (!judged) return "No quantity was compared with anything.";
  std::string text = str("A run without any change reports one with a probability of at most ",
                         percent(report.false_alarms), ", over all cases together.");
  if (compares)
    text += str(" Asked for: changes of ", percent(report.smallest), " are seen with ",
                percent(report.power), ".");
  if (visible > 0)
    text += str(" Of what is called the same, a change of ", percent(visible),
                " or more would have been seen.");
  if (pairs)
    text +=
        " A change is the median ratio of pairs; base and head are medians of their own, whose "
        "ratio may differ from it.";
  return text;
}

std::string clean_text(std::string_view text, size_t most) {
  std::string clean;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (clean.size() + std::max<size_t>(length, 3) > most) return clean + "...";
    if (length == 0)
      clean += "\xef\xbf\xbd";
    else
      clean += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return clean;
}

}  // namespace tcc::tools
