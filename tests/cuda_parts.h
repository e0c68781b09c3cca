// Compiles a kernel that a test makes of the parts of CUDA's device sources.
#pragma once

#include <string>
#include <vector>

#include "backends/compile/nvrtc.h"
#include "backends/device_source.h"

namespace tcc::test {

// The prelude and `source` with its includes, paths of which are those of backends/device/cuda.
inline std::string parts_source(const std::string& source) {
  return backends::device_source("common/prelude_cuda.inc") +
         backends::resolve_device_includes(source, "cuda/");
}

inline std::vector<uint8_t> compile_parts(const std::string& source, const std::string& arch) {
  return backends::compile_cuda(parts_source(source), "parts", arch, {.fmad = false});
}

// A name that is not defined is 0 in #if: here it is an error.
inline std::string with_all_names_defined(const std::string& source) {
  return "#pragma nv_diag_error 193\n" + source;
}

}  // namespace tcc::test
