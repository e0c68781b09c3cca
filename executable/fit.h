// Which of several executables serves a device best, by what the device can do.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "executable/executable.h"

namespace tcc::exec {

// Throws Error(device), whose words complete "... does not run: ", where a device of the target
// lacks what the executable needs, as far as the target tells; Device::check says the rest. Quirk
// files that switch off a template, a config or a feature are heeded: `device` has them.
void check_fit(const Executable& executable, const Target& device);

// How well code for one architecture serves a device of another, both by name; 0: it does not run
// there. The greater of two is the nearer one.
using ArchitectureRule = int (*)(std::string_view code, std::string_view device);
// Makes an API's rule known. Code of APIs without one runs on all of their devices, and is nearer
// to those of its own architecture:
//   const RegisterArchitectures registered_architectures({Api::cuda, cuda_nearness});
struct Architectures {
  Api api;
  ArchitectureRule nearness;
};
class RegisterArchitectures {
 public:
  explicit RegisterArchitectures(const Architectures& architectures);
};

// How near the target of an executable that fits is to a device: the greater one is to be taken.
struct Nearness {
  int architecture = 0;        // by the API's rule, or whether it is the same one
  bool vendor = false;         // the same one
  bool kind = false;           // both are software, or none is
  bool matrix_units = false;   // its kernels use some, which the device then has
  bool subgroup_size = false;  // that the device compiles for
  auto operator<=>(const Nearness&) const = default;
};
Nearness nearness(const Executable& executable, const Target& device);

}  // namespace tcc::exec
