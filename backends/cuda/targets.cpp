// CUDA's targets: its architectures, "cuda:sm_80".
#include "executable/cuda_targets.h"
#include "scheduler/target.h"

namespace tcc::backends {
namespace {

std::optional<sched::Target> find_cuda(std::string_view name) {
  std::optional<sched::Target> target = exec::cuda_target(name);
  if (target) target->matrix_units = exec::allowed_matrix_units(std::move(target->matrix_units));
  return target;
}

const sched::RegisterTargets registered_cuda_targets({"cuda", find_cuda, exec::cuda_architectures});

}  // namespace
}  // namespace tcc::backends
