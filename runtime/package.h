// Takes from a package what a device runs.
#pragma once

#include "executable/package.h"
#include "runtime/device.h"

namespace tcc::runtime {

// The part of a package that serves a device best.
struct ChosenPart {
  size_t part = 0;
  exec::Executable executable;
};
// Returns, among the parts that the device can run, the one with the nearest target
// (exec::nearness), the first one of several. Throws Error(device) where there is none: one line
// with the parts and with what the device lacks for each; Error(bad_input) for a package that is
// damaged.
ChosenPart choose_part(const exec::Package& package, const Device& device);

}  // namespace tcc::runtime
