// Matrix units are described by what they multiply: there is one entry for each shape and types of
// operands that an instruction of theirs has.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"

namespace tcc::exec {

// Threads compute D = A B + C together: A is m x k, B is k x n, C and D are m x n.
struct MatrixUnit {
  enum class Scope : uint8_t { subgroup, subgroups4, workgroup };  // the threads that do

  std::string kind;  // the instruction, as the back end calls it: "wgmma", "mma", "coopmat"
  int m = 0, n = 0, k = 0;
  int n_step = 0;                        // not 0: n may be any multiple of it, up to `n`
  DType a = DType::f16, b = DType::f16;  // f32: read as tf32
  DType c = DType::f32, d = DType::f32;
  Scope scope = Scope::subgroup;
  bool saturating = false;     // integer sums stop at the ends of their range
  bool lines_along_k = false;  // operands are read from lines along k alone
  // Not 0: the unit truncates its sums, which are exact enough for f32 results over so much of k.
  int exact_sum = 0;

  friend bool operator==(const MatrixUnit&, const MatrixUnit&) = default;
};

// The kind of Vulkan's units "coopmat" of which a thread holds what it holds of a fragment of
// mma.sync (PTX ISA, "Matrix Fragments for mma.m16n8k16"): device sources load such matrices'
// elements from memory straight into registers. They are listed as units of "coopmat", too.
inline constexpr std::string_view kFragmentUnit = "coopmat_mma";

// "coopmat 16x16x16 f16 f16 f32 f32", where need be with " subgroups4" or " workgroup", " step 8",
// " saturating", " along-k" and " exact 256" after it: kind, m x n x k, types of a, b, c and d.
std::string to_string(const MatrixUnit& unit);
// Reads such a text; nothing for another one.
std::optional<MatrixUnit> parse_matrix_unit(std::string_view text);

// The kinds of the units, each once, in their order.
std::vector<std::string> kinds_of(const std::vector<MatrixUnit>& units);
// The units of these kinds, in their order.
std::vector<MatrixUnit> units_of_kinds(std::vector<MatrixUnit> units,
                                       const std::set<std::string, std::less<>>& kinds);

// Makes kinds known that $TCC_MATRIX_UNITS may name: const RegisterMatrixUnits registered({"mma"});
struct RegisterMatrixUnits {
  RegisterMatrixUnits(std::initializer_list<const char*> kinds);
};

// Returns those of `units` whose kinds $TCC_MATRIX_UNITS names, a list with commas; all when it is
// not set. It serves to compare kernels and to test those of older devices: "mma", or "" for none.
std::vector<MatrixUnit> allowed_matrix_units(std::vector<MatrixUnit> units);

}  // namespace tcc::exec
