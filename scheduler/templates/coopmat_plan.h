// A contraction as a product on the cooperative matrices of Vulkan: which units multiply it, and
// how the device source brings its operands.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/templates/conv_view.h"
#include "scheduler/templates/gemm.h"

namespace tcc::sched {

struct CoopmatGemm : Gemm {
  std::optional<ConvView> image;        // of the operand whose load is im2col
  bool gathers = false;                 // a convolution's image is computed, element by element
  int64_t subgroup = 32;                // threads
  std::vector<exec::MatrixUnit> units;  // that multiply the plan's A by its B
  // The unit of whose fragments threads hold elements (fragment_unit()), where operands have 16
  // bits.
  std::optional<exec::MatrixUnit> fragments;

  // The unit of these sizes, on the sides of a kernel; null: there is none.
  const exec::MatrixUnit* unit(bool swapped, int64_t m, int64_t n, int64_t k) const;
  // Extensions of GLSL that its device source needs.
  std::set<std::string> extensions() const;
};

// Returns whether a unit is a subgroup's, with sums as device sources on cooperative matrices keep
// them: f32 of 16-bit operands, 32 bits of bytes.
bool is_served_coopmat(const exec::MatrixUnit& unit);
// Extensions of GLSL that device sources need for cooperative matrices of these operands.
std::set<std::string> coopmat_extensions(const std::set<DType>& operands);

// Returns whether matrices are loaded from lines across k as fast as along k (ldmatrix.trans).
// AMD's compiler loads each of their elements into a register of its own.
bool turns_matrices(const Target& target);

// Returns the unit of the dtype of which threads hold the elements of mma.sync's fragments, which
// device sources load directly (gemm_coopmat.comp). Null: the device has none.
const exec::MatrixUnit* fragment_unit(const Target& target, DType dtype);

// Returns whether half a line of the first cache takes as long as a whole one.
bool loads_whole_lines(const Target& target);
// Bytes that the workgroups of a unit share. NVIDIA's driver gives all of them what one may have:
// measured on an H200, two of 24 KiB run at once, two of 26 do not.
int64_t shared_bytes_of_unit(const Target& target);

// Does what plan_gemm does, for operands of 16 bits with sums in f32, and bytes.
OrRefusal<CoopmatGemm> plan_coopmat(const Region& region, const Target& target);

}  // namespace tcc::sched
