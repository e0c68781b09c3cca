#include "scheduler/templates/unit_facts.h"

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

}  // namespace tcc::sched
