#include "backends/compile/nvrtc.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include "backends/compile/failure.h"
#include "backends/compile/nvrtc_library.h"
#include "support/error.h"
#include "support/file.h"
#include "support/log.h"

namespace tcc::backends {
namespace {

// The value of --gpu-architecture: a real architecture gives a cubin, a virtual one gives PTX.
struct Architecture {
  std::string name;
  bool is_virtual = false;
};

// The 90 of "sm_90a".
std::optional<int> number_of(std::string_view arch) {
  if (!arch.starts_with("sm_")) return std::nullopt;
  int number = 0;
  const char* const end = arch.data() + arch.size();
  const auto [rest, error] = std::from_chars(arch.data() + 3, end, number);
  const std::string_view suffix(rest, static_cast<size_t>(end - rest));
  if (error != std::errc() || number <= 0 || (suffix != "" && suffix != "a" && suffix != "f"))
    return std::nullopt;
  return number;
}

Architecture choose_architecture(const Nvrtc& api, const std::string& arch) {
  // PTX where that is asked for: the compiler says what it does not know.
  if (arch.starts_with("compute_")) return {arch, true};
  const std::optional<int> number = number_of(arch);
  if (!number) fail_input("'", arch, "' is no CUDA architecture; expected sm_80, sm_90a, ...");
  if (std::binary_search(api.archs.begin(), api.archs.end(), *number)) return {arch, false};
  // A virtual architecture without suffix runs on every later GPU.
  const auto above = std::upper_bound(api.archs.begin(), api.archs.end(), *number);
  if (above == api.archs.begin())
    fail_device("NVRTC ", api.major, ".", api.minor, " (", api.path, ") cannot compile for ", arch,
                "; its oldest is sm_", api.archs.front());
  return {str("compute_", *(above - 1)), true};
}

class Program {
 public:
  Program(const Nvrtc& api, const std::string& source, const std::string& name) : api_(api) {
    check(api_.create_program(&program_, source.c_str(), source_file_name(name, ".cu").c_str(), 0,
                              nullptr, nullptr),
          "nvrtcCreateProgram");
  }
  ~Program() { api_.destroy_program(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int compile(const std::vector<const char*>& options) {
    return api_.compile_program(program_, static_cast<int>(options.size()), options.data());
  }
  std::string log() const {
    return read<std::string>(api_.get_program_log_size, api_.get_program_log, "nvrtcGetProgramLog");
  }
  std::vector<uint8_t> cubin() const {
    return read<std::vector<uint8_t>>(api_.get_cubin_size, api_.get_cubin, "nvrtcGetCUBIN");
  }
  std::vector<uint8_t> ptx() const {
    return read<std::vector<uint8_t>>(api_.get_ptx_size, api_.get_ptx, "nvrtcGetPTX");
  }

 private:
  void check(int result, const char* call) const {
    if (result != kNvrtcSuccess) fail_device(call, ": ", api_.get_error_string(result));
  }
  template <class Bytes>
  Bytes read(int (*size)(NvrtcProgram*, size_t*), int (*get)(NvrtcProgram*, char*),
             const char* call) const {
    size_t count = 0;
    check(size(program_, &count), call);
    Bytes bytes(count, 0);
    if (count > 0) check(get(program_, reinterpret_cast<char*>(bytes.data())), call);
    return bytes;
  }

  const Nvrtc& api_;
  NvrtcProgram* program_ = nullptr;
};

// Measured with NVRTC 13.0: a small kernel takes 20 ms; -minimal saves 5 %, a precompiled header or
// split compilation save nothing.
std::vector<const char*> fixed_options(const Nvrtc& api) {
  std::vector<const char*> options = {
      "--std=c++17", "-default-device",
      // Otherwise each compile changes the stack limit of the whole process, other threads' too.
      "--modify-stack-limit=false"};
  if (api.major >= 13)
    // tcc has a cache of its own; kernels use no textures and no device-side runtime.
    options.insert(options.end(), {"--minimal", "--no-cache"});
  return options;
}

// The assembler makes products of wgmma wait for each other where registers are short, which takes
// up to twice as long, and says so among remarks alone.
void log_serialized(const std::string& messages, const std::string& name) {
  const size_t at = messages.find("wgmma.mma_async instructions are serialized");
  if (at == std::string::npos) return;
  log_parts(LogLevel::info, LogChannel::compile, name, ": ",
            std::string_view(messages).substr(at, messages.find('\n', at) - at));
}

}  // namespace

std::vector<uint8_t> compile_cuda(const std::string& source, const std::string& name,
                                  const std::string& arch, const CudaOptions& options) {
  const Nvrtc& api = nvrtc();
  const Architecture architecture = choose_architecture(api, arch);
  const std::string arch_flag = "--gpu-architecture=" + architecture.name;
  std::vector<const char*> flags = fixed_options(api);
  flags.push_back(arch_flag.c_str());
  if (!options.fmad) flags.push_back("--fmad=false");

  Program program(api, source, name);
  const int result = program.compile(flags);
  if (result != kNvrtcSuccess) {
    std::string messages = program.log();
    if (result != kNvrtcErrorCompilation)
      messages = str(api.get_error_string(result), "\n", messages);
    fail_compile(source, name, ".cu", "for " + arch, options.dump_folder, messages);
  }
  log_serialized(program.log(), name);
  return architecture.is_virtual ? program.ptx() : program.cubin();
}

std::string nvrtc_missing() {
  try {
    nvrtc();
    return "";
  } catch (const Error& error) { return error.what(); }
}

std::string nvrtc_id() {
  try {
    const Nvrtc& api = nvrtc();
    // Builds of one version differ in their bug fixes, and say so in their size alone.
    std::error_code error;
    const auto bytes = std::filesystem::file_size(api.path, error);
    return str("nvrtc ", api.major, ".", api.minor, " build ", error ? 0 : bytes);
  } catch (const Error&) { return "none"; }
}

}  // namespace tcc::backends
