#include "scheduler/templates/unit_facts.h"

#include "support/error.h"

namespace tcc::sched {

UnitFacts unit_facts(const Target& target) {
  UnitFacts facts;
  // An NVIDIA SM shares its way to the cache with the other one of its TPC, and with the others of
  // its GPC, about 16.
  if (target.vendor == "nvidia") facts.groups = {2, 16};
  return facts;
}

double clock_of(const Target& target) {
  return target.flops_f32 /
         (2 * unit_facts(target).f32_lanes * static_cast<double>(target.compute_units));
}

int64_t exact_sum(std::string_view matrix_unit) {
  if (matrix_unit == "wgmma" || matrix_unit == "mma") return 256;
  throw InternalError(str("how exact sums of the matrix unit ", matrix_unit, " are is not known"));
}

}  // namespace tcc::sched
