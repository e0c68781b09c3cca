// Explains why a region has no kernel of another template.
#pragma once

#include <string>
#include <vector>

#include "scheduler/candidate.h"

namespace tcc::sched {

// Says for each template that the candidate's was compared with what both would take, by their
// estimates, and why those refused the region that would have got it, or been compared, and are for
// such regions: templates on matrix units of the target ("gemm_coopmat: ..."), all of depthwise
// convolutions, and all of composite ops, as the steps of a recurrent layer.
std::vector<std::string> passed_templates(const Candidate& candidate);

// Says why the templates for regions of its kind refuse a region that none takes, those with one
// reason together: "recurrent: ...; recurrent_grid, recurrent_steps: ...".
std::string refusals_of(const Region& region, const Target& target);

// "12.3 us", of an estimate.
std::string time_text(double seconds);

}  // namespace tcc::sched
