// Kernels that behave and misbehave, for tests of the measurement: y = 2 x over f32 buffers on a
// Vulkan device.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "autotune/bench.h"
#include "backends/compile/glsl.h"
#include "support/error.h"

namespace tcc::autotune::test {

inline constexpr int64_t kElements = 1 << 14;

enum class Behaviour : uint8_t {
  good,
  slower,
  wrong,
  outside,
  nothing,
  hang,
  fault,
  broken_code,
  bulky
};

inline std::string statements(Behaviour behaviour) {
  switch (behaviour) {
    case Behaviour::slower:
      return "float a = 0.0; for (int k = 0; k < 300; ++k) a = fma(a, 0.5, x.v[i]); "
             "y.v[i] = 2.0 * x.v[i] + (a == 12345.0 ? 1.0 : 0.0);";
    case Behaviour::wrong: return "y.v[i] = i == 77u ? 2.1 * x.v[i] : 2.0 * x.v[i];";
    case Behaviour::outside:
      return str("y.v[i] = 2.0 * x.v[i]; if (i == 0u) y.v[", kElements + 3, "] = 1.0;");
    case Behaviour::nothing: return "";
    // llvmpipe ends loops after 65535 rounds, on some systems those around them, too: a round is
    // long.
    case Behaviour::hang: {
      std::string text =
          "float a = x.v[i]; for (int k = 0; k < 60000; ++k) for (int m = 0; m < 60000; ++m) {";
      for (int n = 0; n < 1000; ++n) text += " a = fma(a, 0.5, x.v[i]);";
      return text + " } y.v[i] = a;";
    }
    case Behaviour::fault: return "Floats wild = Floats(uint64_t(64)); wild.v[i] = 1.0;";
    // llvmpipe's compiler takes megabytes for it, and keeps them.
    case Behaviour::bulky: {
      std::string text = "float a = x.v[i];";
      for (int k = 0; k < 150; ++k) text += str(" a = fma(a, 0.5, x.v[(i + ", k, "u) & 1023u]);");
      return text + " y.v[i] = 2.0 * x.v[i] + (a == 12345.0 ? 1.0 : 0.0);";
    }
    default: return "y.v[i] = 2.0 * x.v[i];";
  }
}

inline exec::StandaloneKernel kernel(Behaviour behaviour) {
  constexpr int kWorkgroup = 64;
  static std::map<Behaviour, exec::StandaloneKernel> compiled;
  exec::StandaloneKernel& binary = compiled[behaviour];
  if (!binary.code.empty()) return binary;
  binary.entry = "main";
  binary.workgroup = kWorkgroup;
  binary.grid = {kElements / kWorkgroup, 1, 1};
  binary.num_arguments = 2;
  binary.source = str(
      "#version 450\n"
      "#extension GL_EXT_buffer_reference : require\n"
      "#extension GL_EXT_scalar_block_layout : require\n"
      "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n"
      "layout(local_size_x = ",
      kWorkgroup,
      ") in;\n"
      "layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Floats { float v[]; };\n"
      "layout(push_constant, scalar) uniform Push { Floats x; Floats y; };\n"
      "void main() { uint i = gl_GlobalInvocationID.x; ",
      statements(behaviour), " }\n");
  binary.code = backends::compile_glsl(binary.source, "bench_kernel");
  if (behaviour == Behaviour::broken_code) std::fill_n(binary.code.begin(), 4, uint8_t{0});
  return binary;
}

inline BenchJob job() {
  BenchJob job;
  job.name = "twice";
  job.seed = 7;
  job.inputs = {{.dtype = DType::f32, .elements = kElements}};
  job.outputs = {{.dtype = DType::f32, .elements = kElements}};
  return job;
}

}  // namespace tcc::autotune::test
