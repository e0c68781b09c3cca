#include "scheduler/passed_templates.h"

#include "scheduler/template.h"
#include "support/error.h"

namespace tcc::sched {

std::vector<std::string> passed_templates(const Candidate& candidate) {
  std::vector<std::string> reasons;
  for (const Template* one : templates()) {
    if (one == &candidate.kernel_template()) break;
    if (!candidate.target().has_matrix_unit(one->unit())) continue;
    const Match match = one->match(candidate.region(), candidate.target());
    if (!match && !match.refusal().other_kind)
      reasons.push_back(str(one->name(), ": ", match.refusal().reason));
  }
  return reasons;
}

}  // namespace tcc::sched
