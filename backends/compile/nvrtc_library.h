// NVRTC's entry points, declared here and looked up in the library at run time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tcc::backends {

struct NvrtcProgram;  // opaque

// The values of nvrtcResult that tcc distinguishes.
inline constexpr int kNvrtcSuccess = 0;
inline constexpr int kNvrtcErrorCompilation = 6;

// The signatures of nvrtc.h; `int` stands for nvrtcResult.
struct Nvrtc {
  const char* (*get_error_string)(int result) = nullptr;
  int (*version)(int* major, int* minor) = nullptr;
  int (*get_num_supported_archs)(int* count) = nullptr;
  int (*get_supported_archs)(int* archs) = nullptr;
  int (*create_program)(NvrtcProgram** program, const char* source, const char* name,
                        int num_headers, const char* const* headers,
                        const char* const* include_names) = nullptr;
  int (*destroy_program)(NvrtcProgram** program) = nullptr;
  int (*compile_program)(NvrtcProgram* program, int num_options,
                         const char* const* options) = nullptr;
  int (*get_program_log_size)(NvrtcProgram* program, size_t* bytes) = nullptr;
  int (*get_program_log)(NvrtcProgram* program, char* log) = nullptr;
  int (*get_cubin_size)(NvrtcProgram* program, size_t* bytes) = nullptr;
  int (*get_cubin)(NvrtcProgram* program, char* cubin) = nullptr;
  int (*get_ptx_size)(NvrtcProgram* program, size_t* bytes) = nullptr;
  int (*get_ptx)(NvrtcProgram* program, char* ptx) = nullptr;

  std::string path;  // the file
  int major = 0, minor = 0;
  std::vector<int> archs;  // 75, 80, 90, ...: ascending
};

// Returns the library of this process, which is opened at the first call and never closed;
// thread-safe. Throws Error(device) with the reason when there is none.
const Nvrtc& nvrtc();

// Opens one file or, given a bare name, searches the linker's path. Throws Error(device).
Nvrtc open_nvrtc(const std::string& file);

// Returns the libraries that nvrtc() tries, in this order, when TCC_NVRTC is not set.
std::vector<std::string> nvrtc_candidates();

// Returns the libraries of a folder, newest version first.
std::vector<std::string> nvrtc_files_in(const std::string& folder_pattern);

}  // namespace tcc::backends
