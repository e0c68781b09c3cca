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
  int workgroup = 1;         // threads
  int64_t shared_bytes = 0;  // dynamic shared memory (cuda)
  double flop_rate = 0;      // of the unit that does its operations, FLOP/s; 0: that of f32
  // Its workgroups wait for each other: a device runs all of them at once, or refuses the launch
  // (cuda: a cooperative launch).
  bool cooperative = false;
};

// Emitting the kernel's text decides these.
struct KernelText {
  std::string entry;  // entry point
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
  // The language's environment that the text is for, "vulkan1.3"; "": that of the back end.
  std::string environment;
  // The matrix units that it uses, as exec::to_string(MatrixUnit) has them: the device must have
  // them.
  std::vector<std::string> matrix_units;
  // The buffers' addresses must be multiples of these, in bytes; empty: of 16 each.
  std::vector<int> alignments;
};

// Reports and tuning records call the kernel by these.
struct KernelLabel {
  std::string template_name, region, config;
  int template_version = 0;
  std::string region_key;   // 32 digits: the hash of the region's signature, as in tuning records
  std::string tier;         // where the config came from: exact, stale, nearest, device, default
  int part = 1, parts = 1;  // it is this one of the region's kernels, which run one after another
};

struct KernelBinary : KernelTraits, KernelText, KernelLabel {
  double flops = 0, bytes = 0;                // at usual sizes, what it must do and move at least
  std::vector<uint8_t> code;                  // cubin or SPIR-V; empty for the null device
  std::array<uint32_t, 3> block = {0, 0, 0};  // threads (cuda); zeros: {workgroup, 1, 1}
};

// An integer that a kernel gets by value, in the lower bytes of 8.
struct Scalar {
  DType dtype = DType::i32;  // i32 or i64
  SymInt value = 0;
};

// A kernel with the launch that it is compiled for, the addresses apart.
struct StandaloneKernel : KernelBinary {
  Grid grid = {1, 1, 1};
  std::vector<Scalar> scalars;  // the arguments after the buffers
  SymInt loop_iterations = 0;   // as of KernelLaunch
  std::vector<TensorMap> maps;
};

// Scratch memory of a region's kernels. Nothing in it outlives the last of them.
struct Workspace {
  std::string name;  // for people: "partials"
  DType dtype = DType::f32;
  SymInt elements = 0;
  bool zeroed = false;  // each run fills it with zeros before the first of the kernels

  SymInt bytes() const;  // whole words, as fills have them
};

// The kernels of one region with one config, which run one after another, with their launches, the
// addresses apart: what a tuner measures.
struct StandaloneSequence {
  // A kernel, and the buffers that are its arguments before the scalars: those of the region's
  // inputs and outputs have the numbers from 0 on, and then come the workspaces.
  struct Launch {
    StandaloneKernel kernel;
    std::vector<int> buffers;
    SymInt times = 1;  // launches in a row; unless it is 1, the last scalar is each one's number
  };
  int arguments = 0;  // inputs and outputs
  std::vector<Launch> launches;
  std::vector<Workspace> workspaces;

  StandaloneSequence() = default;
  // One kernel, whose arguments are those of the region.
  StandaloneSequence(StandaloneKernel kernel);
};

}  // namespace tcc::exec
