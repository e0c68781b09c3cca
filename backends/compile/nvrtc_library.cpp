#include "backends/compile/nvrtc_library.h"

#include <dlfcn.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "backends/compile/process.h"
#include "support/error.h"

namespace tcc::backends {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> glob_files(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> files;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return files;
}

// The library opens its builtins by name while it compiles, and they need not be on the linker's
// path when it was opened by its own: opening them first makes the name known.
void open_builtins(const std::string& library) {
  const std::string folder = fs::path(library).parent_path().string();
  for (const std::string& file : glob_files(folder + "/libnvrtc-builtins.so.*"))
    if (::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return;
}

template <class Function>
void look_up(void* library, const char* symbol, Function& function, const std::string& file) {
  function = reinterpret_cast<Function>(::dlsym(library, symbol));
  if (!function) fail_device(file, ": no function ", symbol, "; tcc needs NVRTC 11.2 or newer");
}

void look_up_all(void* library, Nvrtc& api, const std::string& file) {
  look_up(library, "nvrtcGetErrorString", api.get_error_string, file);
  look_up(library, "nvrtcVersion", api.version, file);
  look_up(library, "nvrtcGetNumSupportedArchs", api.get_num_supported_archs, file);
  look_up(library, "nvrtcGetSupportedArchs", api.get_supported_archs, file);
  look_up(library, "nvrtcCreateProgram", api.create_program, file);
  look_up(library, "nvrtcDestroyProgram", api.destroy_program, file);
  look_up(library, "nvrtcCompileProgram", api.compile_program, file);
  look_up(library, "nvrtcGetProgramLogSize", api.get_program_log_size, file);
  look_up(library, "nvrtcGetProgramLog", api.get_program_log, file);
  look_up(library, "nvrtcGetCUBINSize", api.get_cubin_size, file);
  look_up(library, "nvrtcGetCUBIN", api.get_cubin, file);
  look_up(library, "nvrtcGetPTXSize", api.get_ptx_size, file);
  look_up(library, "nvrtcGetPTX", api.get_ptx, file);
}

std::string path_of(const void* function, const std::string& fallback) {
  Dl_info info;
  if (!::dladdr(function, &info) || !info.dli_fname) return fallback;
  std::error_code error;
  const fs::path path = fs::canonical(info.dli_fname, error);
  return error ? fallback : path.string();
}

Nvrtc open_named(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return open_nvrtc(path);
  const std::vector<std::string> files = nvrtc_files_in(path);
  if (files.empty()) fail_device("TCC_NVRTC: no libnvrtc.so in ", path);
  return open_nvrtc(files.front());
}

Nvrtc open_first() {
  if (const std::string path = environment("TCC_NVRTC"); !path.empty()) return open_named(path);
  std::string reason = "libnvrtc.so not found; TCC_NVRTC may name it";
  for (const std::string& candidate : nvrtc_candidates()) {
    try {
      return open_nvrtc(candidate);
    } catch (const Error& error) {
      // A file that is there and does not open says more than a name that is not found.
      if (candidate.find('/') != std::string::npos) reason = error.what();
    }
  }
  fail_device(reason);
}

// Keeps what opening gave, for all calls.
struct Opened {
  std::unique_ptr<Nvrtc> api;
  std::string reason;

  Opened() {
    try {
      api = std::make_unique<Nvrtc>(open_first());
    } catch (const Error& error) { reason = error.what(); }
  }
};

}  // namespace

std::vector<std::string> nvrtc_files_in(const std::string& folder_pattern) {
  std::vector<std::string> files = glob_files(folder_pattern + "/libnvrtc.so*");
  std::reverse(files.begin(), files.end());  // .so.13 before .so.12 before .so
  return files;
}

std::vector<std::string> nvrtc_candidates() {
  std::vector<std::string> candidates = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string home = environment(variable); !home.empty())
      folders.push_back(home + "/lib64");
  folders.insert(folders.end(), {"/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64"});

  std::vector<std::string> environments;
  if (const std::string python = environment("VIRTUAL_ENV"); !python.empty())
    environments.push_back(python);
  if (const std::string conda = environment("CONDA_PREFIX"); !conda.empty()) {
    environments.push_back(conda);
    folders.push_back(conda + "/lib");
  }
  environments.insert(environments.end(),
                      {"/opt/*/.venv", "/opt/*", "/opt/*/envs/*", "/usr/local", "/usr"});
  if (const std::string home = environment("HOME"); !home.empty())
    environments.push_back(home + "/.local");
  for (const std::string& prefix : environments)
    for (const char* packages : {"site-packages", "dist-packages"})
      folders.push_back(str(prefix, "/lib/python3*/", packages, "/nvidia/*/lib"));

  for (const std::string& folder : folders)
    for (std::string& file : nvrtc_files_in(folder)) candidates.push_back(std::move(file));
  return candidates;
}

Nvrtc open_nvrtc(const std::string& file) {
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = ::dlerror();
    fail_device("NVRTC: ", reason ? reason : file + ": cannot be opened");
  }
  Nvrtc api;
  look_up_all(library, api, file);
  api.path = path_of(reinterpret_cast<const void*>(api.compile_program), file);
  open_builtins(api.path);

  int count = 0;
  if (api.version(&api.major, &api.minor) != kNvrtcSuccess ||
      api.get_num_supported_archs(&count) != kNvrtcSuccess || count <= 0)
    fail_device("NVRTC: ", api.path, " does not tell its version");
  api.archs.resize(static_cast<size_t>(count));
  if (api.get_supported_archs(api.archs.data()) != kNvrtcSuccess)
    fail_device("NVRTC: ", api.path, " does not tell its architectures");
  std::sort(api.archs.begin(), api.archs.end());
  return api;
}

const Nvrtc& nvrtc() {
  static const Opened opened;
  if (!opened.api) fail_device(opened.reason);
  return *opened.api;
}

}  // namespace tcc::backends
