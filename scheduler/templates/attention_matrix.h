// The templates of attention on matrix units share these parts.
#pragma once

#include <array>
#include <bit>
#include <numbers>
#include <utility>

#include "backends/device/common/matrix.h"
#include "scheduler/templates/attention_plan.h"
#include "scheduler/templates/kernel_parameters.h"

namespace tcc::sched {

// Analyses a region as plan_attention does. Refuses all but f16 and bf16, weights that are changed,
// and attention of no queries or keys.
OrRefusal<AttentionPlan> plan_matrix_attention(const Region& region);

// The operands with their names in messages.
inline std::array<std::pair<const AttentionPlan::Operand*, const char*>, 3> named_operands(
    const AttentionPlan& plan) {
  return {{{&plan.q, "queries"}, {&plan.k, "keys"}, {&plan.v, "values"}}};
}

// Sets the parameters that say what is computed, whatever the config.
template <class Parameters>
void set_plan(Parameters& a, const AttentionPlan& plan) {
  a.batches = plan.batches();
  a.queries = plan.queries;
  a.keys = plan.keys;
  a.depth = plan.q.depths;
  a.depth_v = plan.v.depths;
  a.element = element_of(plan.q.dtype);
  a.scale_bits = std::bit_cast<int32_t>(static_cast<float>(plan.scale * std::numbers::log2e));
  a.plain = plan.is_scaled;
  a.safe = plan.safe;
  a.sums = !plan.sums.empty();
}

}  // namespace tcc::sched
