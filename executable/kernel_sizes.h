// The sizes that a program's kernels are for, in the words of its user: by dims.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "executable/executable.h"

namespace tcc::exec {

// Inclusive bounds on the size of a dim or of a product of dims: "B*S".
struct DimBounds {
  std::string size;
  int64_t least = 0, most = 0;
};

// The bounds of a choice, which is taken where all of one list hold; none of the last one of its
// table, which is taken where no other one is.
std::vector<std::vector<DimBounds>> bounds_of(const Executable& executable, const Chosen& chosen);
// "B*S in 1..64, T in 1..8 or B*S in 80..96"; "else" of the last choice; "" of a step that always
// runs.
std::string sizes_text(const Executable& executable, const Chosen& chosen);

// The choices, in order, of which some launch has the kernel; none where one of its launches runs
// at all sizes.
std::vector<Chosen> choices_of(const Executable& executable, size_t kernel);
// The layers of the launches of the kernel that one run may have: of a table those of the first
// choice that has it.
std::vector<std::string> layers_of(const Executable& executable, size_t kernel);
// How often a run launches each kernel that runs each step so often.
std::vector<int> launch_counts(const Executable& executable, std::span<const int> step_counts);
// How often a run launches the kernel at the sizes where it does so most often; launches in a row
// count as at usual sizes.
int most_launches(const Executable& executable, size_t kernel);

}  // namespace tcc::exec
