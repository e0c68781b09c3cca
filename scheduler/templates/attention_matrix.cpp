#include "scheduler/templates/attention_matrix.h"

#include "support/error.h"

namespace tcc::sched {

OrRefusal<AttentionPlan> plan_matrix_attention(const Region& region) {
  OrRefusal<AttentionPlan> plan = plan_attention(region);
  if (!plan) return plan.refusal();
  for (const auto& [operand, name] : named_operands(*plan))
    if (operand->dtype != plan->q.dtype ||
        (operand->dtype != DType::bf16 && operand->dtype != DType::f16))
      return Refusal{str(name, " of ", tcc::name(operand->dtype))};
  if (plan->batches() * plan->queries == 0 || plan->keys == 0)
    return Refusal{"no queries, or no keys"};
  return plan;
}

}  // namespace tcc::sched
