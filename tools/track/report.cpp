#include "tools/track/report.h"

#include <algorithm>

namespace tcc::tools {

std::string_view name(Quantity::Verdict verdict) {
  switch (verdict) {
    case Quantity::Verdict::same: return "same";
    case Quantity::Verdict::better: return "better";
    case Quantity::Verdict::worse: return "worse";
    case Quantity::Verdict::unmeasurable: return "unmeasurable";
    case Quantity::Verdict::failed: return "failed";
    case Quantity::Verdict::not_judged: return "not judged";
  }
  return "failed";
}

bool is_breach(const Quantity& quantity) {
  return quantity.gates && (quantity.over_budget || quantity.verdict == Quantity::Verdict::worse ||
                            quantity.verdict == Quantity::Verdict::failed);
}

bool TrackReport::passes() const {
  return std::none_of(cases.begin(), cases.end(), [](const ReportedCase& one) {
    return std::any_of(one.quantities.begin(), one.quantities.end(), is_breach);
  });
}

}  // namespace tcc::tools
