// CUDA architectures by name, for compiling without a device.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executable/target.h"

namespace tcc::exec {

// "sm_80", "sm_90a": an architecture of compute capability 7.0 or later that CUDA has had, with or
// without the "a" of its own instructions where there is one. The analytic model gets the numbers
// of the architecture's best-known GPU; the compiler decides whether it knows the architecture.
// "compute_80" is PTX of the architecture, which drivers compile for the devices that come after
// it.
std::optional<Target> cuda_target(std::string_view arch);

// NVIDIA's matrix units, through every API, truncate their sums of floats. Partial sums of 16-bit
// products are exact enough for f32 results only over this much of k.
inline constexpr int kNvidiaExactSum = 256;

// The matrix units of an architecture (80 for "sm_80"), the fastest first; own: with the "a" of its
// own instructions. It lists the shapes that device sources use.
std::vector<MatrixUnit> cuda_matrix_units(int architecture, bool own);

// Sets the facts that all GPUs of an architecture have in common: lanes, instructions.
void cuda_unit_facts(Target& target, int architecture);

// Whether an architecture can wait in a kernel for the launch before it (griddepcontrol).
bool cuda_overlapping_launches(int architecture);
bool cuda_box_copies(int architecture, bool own);

// The workgroups of a cluster, at most; 1: there are no clusters.
int cuda_max_cluster(int architecture);

// How well code for one architecture serves a device of another, both by name; 0: it does not run
// there. Machine code of "sm_80" runs on later devices of the same major version, that of "sm_90a"
// on 9.0 alone, and PTX of "compute_80" on every later one. The greater of two is the nearer one.
int cuda_nearness(std::string_view code, std::string_view device);

std::vector<std::string> cuda_architectures();  // "sm_70", ..., in ascending order

}  // namespace tcc::exec
