// A compiled kernel. What a kernel has before and after it is text and code is declared once: a
// lowered kernel (sched::Kernel) has KernelTraits, the emitter returns KernelText, and a
// KernelBinary is made of both.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "executable/sizes.h"

namespace tcc::exec {

// Lowering decides these; a launch or a report needs them.
struct KernelTraits {
  int workgroup = 1;            // threads
  int64_t shared_bytes = 0;     // dynamic shared memory (cuda)
  double flops = 0, bytes = 0;  // what it must do and move at least: for the roofline
  double flop_rate = 0;         // of the unit that does them, FLOP/s; 0: that of f32
};

// Emitting the kernel's text decides these.
struct KernelText {
  std::string entry;      // entry point
  // The region, for people: comment lines to stand before the source. They hold names that a user
  // gave to values, so that no key may depend on them.
  std::string comment;
  std::string source;     // CUDA C++ or GLSL, a whole translation unit
  int subgroup_size = 0;  // required, 0: any (vulkan)
  bool waits = false;     // for the launch before it, which it may therefore overlap (cuda)
  // vulkan: the push constants hold the address of a table of the arguments, instead of them.
  bool argument_table = false;
  int num_arguments = 0;  // buffers, then scalars: 8 bytes each
  int num_maps = 0;       // tensor maps: parameters after the arguments (cuda)
  // The buffers' addresses must be multiples of these, in bytes; empty: of 16 each.
  std::vector<int> alignments;
};

// Reports and tuning records call the kernel by these.
struct KernelLabel {
  std::string template_name, region, config;
  int template_version = 0;
  std::string region_key;  // 32 digits: the hash of the region's signature, as in tuning records
  std::string tier;        // where the config came from: exact, stale, nearest, device, default
};

struct KernelBinary : KernelTraits, KernelText, KernelLabel {
  std::vector<uint8_t> code;                  // cubin or SPIR-V; empty for the null device
  std::array<uint32_t, 3> block = {0, 0, 0};  // threads (cuda); zeros: {workgroup, 1, 1}
};

// An integer that a kernel gets by value, in the lower bytes of 8.
struct Scalar {
  DType dtype = DType::i32;  // i32 or i64
  SymInt value = 0;
};

// A kernel with the launch that it is compiled for, the addresses apart: what a tuner measures.
struct StandaloneKernel : KernelBinary {
  Grid grid = {1, 1, 1};
  std::vector<Scalar> scalars;  // the arguments after the buffers
  SymInt loop_iterations = 0;   // as of KernelLaunch
  std::vector<TensorMap> maps;
};

}  // namespace tcc::exec
