// A compiled graph: immutable plain data for one kind of device, with no pointer back into the
// compiler.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/tensor.h"
#include "scheduler/config.h"
#include "scheduler/target.h"
#include "scheduler/tensor_map.h"

namespace tcc::sched {

// One kernel, compiled for a target.
struct KernelBinary {
  std::string entry;                          // entry point
  std::string source;                         // CUDA C++ or GLSL
  std::vector<uint8_t> code;                  // cubin or SPIR-V; empty for the null device
  int workgroup = 1;                          // threads
  std::array<uint32_t, 3> block = {0, 0, 0};  // their shape (cuda); zeros: {workgroup, 1, 1}
  std::array<uint32_t, 3> grid = {1, 1, 1};
  int64_t shared_bytes = 0;  // dynamic shared memory (cuda)
  bool waits = false;        // for the launch before it, which it may therefore overlap (cuda)
  int num_arguments = 0;     // buffers
  // What their addresses must be multiples of, in bytes; empty: 16 each.
  std::vector<int> alignments;
  std::vector<TensorMap> maps;  // parameters after the buffers (cuda)
  int subgroup_size = 0;        // required, 0: any (vulkan)
  // vulkan: the push constants hold the address of a table of the arguments' addresses, instead of
  // them.
  bool argument_table = false;
  // For people.
  std::string comment;  // lines that may stand before the source: the region, by its values' names
  std::string template_name, region, config;
  int template_version = 0;
  std::string region_key;  // 32 digits: the hash of the region's signature, as in tuning records
  std::string tier;        // where the config came from: exact, stale, nearest, device, default
  double flops = 0, bytes = 0, flop_rate = 0;  // Target::least_seconds
};

struct BufferInfo {
  enum class Kind : uint8_t { input, output, constant, arena };
  Kind kind = Kind::arena;
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // inputs and outputs are row-major
  int64_t bytes = 0;
  int64_t offset = 0;  // arena: within it; input, output, constant: its number in its list
};

// A constant in its physical layout, made on first use.
struct ConstantBuffer {
  std::string name;
  int64_t bytes = 0;
  std::shared_ptr<const std::function<std::vector<std::byte>()>> make;
};

struct Launch {
  int kernel = 0;                        // index into kernels
  std::vector<int> buffers;              // argument -> index into buffers
  std::vector<std::string> layers = {};  // the layers of the user's graph that it computes
};

struct Executable {
  std::string name;
  Target target;
  std::vector<KernelBinary> kernels;  // distinct ones
  std::vector<Launch> launches;       // in order; each waits for the ones before it
  std::vector<BufferInfo> buffers;
  std::vector<int> inputs, outputs;  // buffer indices, in the graph's order
  std::vector<ConstantBuffer> constants;
  int64_t arena_bytes = 0;
  int64_t live_bytes_peak =
      0;  // the largest sum of live arena buffers: a lower bound of arena_bytes
};

// What the address of a buffer must be a multiple of for all kernels that get it, in bytes: a fact
// that the runtime sees to for inputs and outputs.
int64_t assumed_alignment(const Executable& executable, int buffer);

}  // namespace tcc::sched
