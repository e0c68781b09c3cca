#pragma once

#include <string>

#include "executable/kernel_binary.h"

namespace tcc::exec {

// Returns the name of a kernel in messages.
inline const std::string& label_of(const KernelBinary& binary) {
  return binary.template_name.empty() ? binary.entry : binary.template_name;
}

}  // namespace tcc::exec
