// Packages are made of executables for several targets: what tcc::write_package() and tcc-compile
// share.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "executable/executable.h"
#include "scheduler/target.h"

#include "tcc/package.hpp"

namespace tcc {

// The targets of these names, in that order, and PTX for the CUDA devices that come after them: of
// each architecture without instructions of its own or, where all have them, of the oldest one.
// Throws Error(bad_input) for none, an unknown target and one that is given twice.
std::vector<sched::Target> package_targets(std::vector<std::string> names);

// The contents of a package, but for what `compile` makes of each target.
struct PackageParts {
  std::string name;  // of the model
  std::vector<sched::Target> targets;
  std::vector<std::filesystem::path>
      weights;  // .safetensors files in the package's folder or below
  std::function<exec::Executable(const sched::Target&)> compile;
  std::function<void()> written;  // called before the file is written; may be empty
};
// Throws Error(bad_input) before anything is compiled where the file cannot be written, and for
// weights that are wrong.
PackageReport write_parts(const PackageParts& parts, const std::filesystem::path& file);

}  // namespace tcc
