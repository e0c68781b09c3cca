// Explains why a region has no kernel of another template.
#pragma once

#include <string>
#include <vector>

#include "scheduler/candidate.h"

namespace tcc::sched {

// Says for each template that the candidate's was compared with what both would take, by their
// estimates, and for each template on matrix units of the target that comes before the candidate's,
// and is for such regions, why it refused the region: "gemm_coopmat: ...".
std::vector<std::string> passed_templates(const Candidate& candidate);

// "12.3 us", of an estimate.
std::string time_text(double seconds);

}  // namespace tcc::sched
