#include "executable/executable.h"

#include <algorithm>

#include "support/error.h"

namespace tcc::exec {

std::vector<const KernelLaunch*> launches(const Executable& executable) {
  std::vector<const KernelLaunch*> result;
  for (const Step& step : executable.steps)
    if (const auto* launch = std::get_if<KernelLaunch>(&step)) result.push_back(launch);
  return result;
}

StandaloneKernel standalone(const Executable& executable, size_t i) {
  const KernelLaunch& launch = *launches(executable).at(i);
  StandaloneKernel kernel;
  static_cast<KernelBinary&>(kernel) = executable.kernels[static_cast<size_t>(launch.kernel)];
  kernel.grid = launch.grid;
  kernel.maps = launch.maps;
  kernel.loop_iterations = launch.loop_iterations;
  for (const Argument& argument : launch.arguments) {
    if (const auto* scalar = std::get_if<Scalar>(&argument)) kernel.scalars.push_back(*scalar);
    if (const auto* address = std::get_if<Address>(&argument))
      TCC_CHECK(address->offset.is(0), "a place within a buffer");
  }
  return kernel;
}

int owner_of(const Executable& executable, int buffer) {
  int owner = buffer;
  while (executable.buffers[static_cast<size_t>(owner)].alias >= 0)
    owner = executable.buffers[static_cast<size_t>(owner)].alias;
  return owner;
}

int64_t assumed_alignment(const Executable& executable, int buffer) {
  constexpr int kUnknown = 16;
  int most = 1;
  for (const KernelLaunch* launch : launches(executable)) {
    const auto& assumed = executable.kernels[static_cast<size_t>(launch->kernel)].alignments;
    for (size_t i = 0; i < launch->arguments.size(); ++i)
      if (const auto* address = std::get_if<Address>(&launch->arguments[i]))
        if (owner_of(executable, address->buffer) == buffer)
          most = std::max(most, i < assumed.size() ? assumed[i] : kUnknown);
  }
  return most;
}

}  // namespace tcc::exec
