// A loaded kernel and the grid that it was compiled for.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/device.h"

namespace tcc::runtime {

struct RunnableKernel {
  std::unique_ptr<LoadedKernel> loaded;
  std::array<uint32_t, 3> grid = {};
  BoundStep on(std::vector<uint64_t> arguments) const {
    return BoundLaunch{loaded.get(), std::move(arguments), grid};
  }
  LoadedKernel* operator->() const { return loaded.get(); }
};

inline RunnableKernel load_kernel(Device& device, const exec::StandaloneKernel& kernel) {
  return {device.load(kernel), exec::Sizes().of(kernel.grid)};
}

}  // namespace tcc::runtime
