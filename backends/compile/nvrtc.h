// Compiles CUDA C++ text to a cubin with NVRTC, which is opened at run time: neither building nor
// running tcc needs a CUDA SDK.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tcc::backends {

struct CudaOptions {
  bool fmad = true;  // a * b + c may become one fma; division, sqrt and denormals are always exact
  // The source of a kernel that does not compile is written here as NAME.cu; "" writes nothing.
  std::filesystem::path dump_folder = {};
};

// Compiles `source`, which includes no header, for the architecture `arch` ("sm_80", "sm_90a");
// `name` stands for its file in messages. Returns a cubin, or, when this NVRTC is older than the
// architecture, PTX (NUL-terminated) of the newest one below it that it knows, which the driver
// translates when the kernel is loaded. Throws Error(device) with the compiler's first lines when
// the source does not compile, or when there is no compiler; Error(bad_input) when `arch` is no
// architecture. Thread-safe, and several threads compile at once.
std::vector<uint8_t> compile_cuda(const std::string& source, const std::string& name,
                                  const std::string& arch, const CudaOptions& options = {});

// Returns "" when compile_cuda can work here; otherwise the reason why it cannot. The library is
// TCC_NVRTC (its file or folder) where that is set, else the first one found on the linker's path,
// in CUDA_HOME, CUDA_PATH and /usr/local/cuda*, and in the Python packages of the environments
// known to VIRTUAL_ENV, CONDA_PREFIX, /opt and the system.
std::string nvrtc_missing();

// Returns the compiler and its version, for cache keys: equal ids give equal code.
std::string nvrtc_id();

}  // namespace tcc::backends
