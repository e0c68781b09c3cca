// tcc-tune verify: whether records are still right on this machine.
#pragma once

#include <optional>
#include <string>

#include "autotune/bench.h"

namespace tcc::tools {

// What was measured anew of one record. Each rival was timed interleaved with the incumbent, whose
// measurement beside it comes first.
struct Verified {
  using Pair = std::pair<autotune::Measurement, autotune::Measurement>;
  autotune::Measurement incumbent;  // by itself: whether it runs and is right
  std::optional<Pair> against_default, against_runner_up;
};

// Why the record should not be kept: its config fails, or a rival is faster by more than
// `threshold` (0.05: 5 %) and beyond the intervals. "" when there is no reason.
std::string regression(const Verified& verified, double threshold);

}  // namespace tcc::tools
