// A kind of device, described by data alone: what kernels are generated for, and what an executable
// says of the device that it was compiled for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executable/matrix_unit.h"
#include "executable/switched_off.h"

namespace tcc::exec {

enum class Api : uint8_t { null, cuda, vulkan };
std::string_view name(Api api);
// The API of that name, one of these or a back end's of its own: the same one for the same name.
// Throws Error(bad_input) for more than 200 names.
Api api_of(std::string_view name);
// The same where there is one: for names that others give.
std::optional<Api> find_api(std::string_view name);
// All names, in the order of their numbers.
std::vector<std::string> api_names();

// Execution modes of SPIR-V that a Vulkan device may have, each a set of widths of floats: a sum of
// 16, 32 and 64.
struct FloatControls {
  int keep_special =
      0;  // zeros keep their signs, infinities and NaN stay (SignedZeroInfNanPreserve)
  int keep_denormals = 0;  // (DenormPreserve)
  int round_to_even = 0;   // (RoundingModeRTE)
  friend bool operator==(const FloatControls&, const FloatControls&) = default;
};

struct Target {
  Api api = Api::null;
  std::string vendor;  // "nvidia", "mesa", "amd", "intel", "arm", "qualcomm", "apple"
  std::string device;  // as the driver names it; "" for a profile
  std::string
      arch;  // cuda: "sm_90a"; vulkan: the profile's name or the driver's ("llvmpipe", "nvidia")
  std::string driver;  // name and version, for tuning files

  int subgroup_size = 32;  // what kernels are compiled for; one of [min, max], a power of two
  int subgroup_size_min = 32, subgroup_size_max = 32;
  int max_workgroup_size = 1024;  // invocations
  std::array<int64_t, 3> max_grid = {2147483647, 65535, 65535};
  int64_t shared_bytes = 48 * 1024;             // per workgroup, at most
  int64_t max_buffer_bytes = int64_t{1} << 40;  // one allocation
  int64_t push_constant_bytes = 4096;           // vulkan: at least 128; cuda: kernel parameters
  int max_cluster = 1;  // workgroups that can read each other's shared memory, at most
  // Analytic model.
  int compute_units = 1;  // SMs, CUs
  // Clusters of 2, 4 and 8 workgroups that run at once when each workgroup takes a unit: a cluster
  // stays within a group of units, whose sizes differ from chip to chip. 0: not known.
  std::array<int, 3> clusters = {};
  // Sizes of the groups of neighbouring units that share their way to the last-level cache,
  // smallest first.
  std::vector<int64_t> unit_groups;
  int registers_per_unit = 65536;  // 32-bit
  int fma_lanes = 128;             // multiply-adds of f32 that a unit issues in a cycle
  int max_threads_per_unit = 2048;
  int64_t l2_bytes = 4 << 20;
  double bandwidth = 20e9;  // bytes/s
  double flops_f32 = 50e9;  // FLOP/s
  double flops_matrix = 0;  // FLOP/s of the matrix units on 16-bit operands; half of it on tf32

  // Features. f16/bf16 storage needs storage16 alone: arithmetic is in f32.
  bool storage16 = true, storage8 = true;
  bool int64 = true, float64 = true;
  bool subgroup_shuffle = true;
  bool native_exp2 =
      false;  // the shading language's exp2 is within 2^-22 for arguments up to 0.5, or zero for a
              // subnormal result
  bool native_f16 =
      false;  // the shading language's conversions of f16 round to even and keep subnormals and NaN
  FloatControls float_controls;
  int spirv_minor = 5;          // vulkan: SPIR-V 1.x that it takes; 5 is that of Vulkan 1.2
  bool unified_memory = false;  // host memory is device memory
  // A kernel may begin while the launch before it ends, and waits for that itself.
  bool overlapping_launches = false;
  // Workgroups of one launch may wait for each other: such a launch begins when all of them run at
  // once. At most one of them on each unit can be counted on.
  bool cooperative_launches = false;
  // One instruction copies a box of a tensor into shared memory, for several workgroups at once,
  // and barriers count its bytes (TMA).
  bool box_copies = false;
  // The products that matrix units compute, those that templates should rather use first.
  std::vector<MatrixUnit> matrix_units;
  // Bytes that the matrix units' asynchronous copies move at once: rows that they read are padded
  // to a multiple of it where that is free or pays. 0: rows stay as they are.
  int64_t matrix_row_bytes = 0;

  // Sums of matrix units become operands of theirs without a way through memory.
  bool matrix_conversions = false;
  bool byte_products = false;  // one instruction sums the products of four pairs of bytes
  // Registers are memory (a software device): an array of a thread may be indexed, and a load that
  // is issued early hides no latency.
  bool indexed_registers = false;
  // One core runs the threads of a workgroup in turn (a software device): a barrier costs more than
  // the work that it divides, and more threads make no unit busier.
  bool serial_workgroups = false;
  // Registers that its compiler keeps for the place of each load that is on its way, where places
  // are computed one by one: it issues all loads of an unrolled loop together.
  int load_registers = 0;
  bool wide_accesses = true;  // an access of several neighbouring elements by one thread pays
  // Invocations of a workgroup that does not exchange: more wait for each other to begin and end.
  int full_workgroup = 256;
  int busy_threads = 512;  // that keep a unit busy, each with a vector

  // How often one thread may run loop bodies in one launch, all its loops together; 0: no limit.
  // llvmpipe stops every loop silently beyond it.
  int64_t max_loop_iterations = 0;
  // Shared memory of arrays that a kernel declares, at most: what is beyond must be asked for at
  // launch. 0: all of it may be declared.
  int64_t declared_shared_bytes = 0;
  int64_t static_shared_bytes() const;
  // Clusters of `size` workgroups, 1, 2, 4 or 8, that run at once when each workgroup takes a unit.
  int64_t concurrent_clusters(int64_t size) const;
  bool has_matrix_unit(std::string_view kind) const;
  // Returns whether units of the kind multiply these types and sum up in that one.
  bool multiplies(std::string_view kind, DType a, DType b, DType sum) const;
  // Over how much of k their sums are exact enough for f32 results; 0: over all of it.
  int64_t exact_sum(std::string_view kind, DType a, DType b, DType sum) const;
  double clock() const;                             // of its units, in Hz, by their rate of f32
  bool multiplies_f8(std::string_view kind) const;  // others read it as f16
  // The roofline: seconds that moving `bytes` and doing `flops` take at least, at `flop_rate` or,
  // 0, that of f32.
  double least_seconds(double bytes, double flops, double flop_rate) const;

  // Quirk files took this from it (executable/quirks.h): the fields above are without it.
  std::vector<SwitchedOff> switched_off;
  // Why a template is not used on it, "switched off by quirk FILE:LINE: REASON"; "": it is.
  std::string why_off(std::string_view template_name) const;

  bool is_cpu = false;  // a software device: compile and measure alternate
  // Kernels are compiled for one size of subgroups, which id() names.
  bool fixed_subgroups = false;
  // Names what compiled code depends on, "cuda:sm_90a" or "vulkan:llvmpipe:sg8". It is a part of
  // every cache key.
  std::string id() const;

  friend bool operator==(const Target&, const Target&) = default;
};

// Sets the facts of a software device: is_cpu, and how its one core per unit runs kernels.
void set_software(Target& target);

}  // namespace tcc::exec
