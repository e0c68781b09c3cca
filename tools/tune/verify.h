// tcc-tune verify checks whether records are still right on this machine.
#pragma once

#include <optional>
#include <string>

#include "autotune/duel.h"

namespace tcc::tools {

// The new measurements of one record: each rival is its challenger in a duel.
struct Verified {
  autotune::Measurement incumbent;  // by itself: whether it runs and is right
  // The config of look-up without the record's file and those that take precedence over it; none
  // where that is the record's config, or the default.
  std::optional<autotune::DuelResult> against_shadowed;
  std::optional<autotune::DuelResult> against_default, against_runner_up;
};

// Returns the reason why the record should not be kept: its config fails, or a rival is faster by
// more than `threshold` (0.05: 5 %) beyond the interval. "" when there is no reason.
std::string regression(const Verified& verified, double threshold);

}  // namespace tcc::tools
