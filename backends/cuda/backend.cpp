// CUDA C++ by NVRTC.
#include "backends/backend.h"
#include "backends/compile/cubin.h"
#include "backends/compile/nvrtc.h"
#include "backends/cuda/dialect.h"
#include "support/error.h"

namespace tcc::backends {
namespace {

CudaOptions options_of(const TextKind& kind) { return {.fmad = kind.origin == TextOrigin::user}; }

// NVRTC gives PTX for architectures that it does not know.
bool is_cubin(const std::vector<uint8_t>& code) {
  return code.size() > 4 && code[0] == 0x7f && code[1] == 'E';
}

class CudaBackend : public Backend {
 public:
  sched::Api api() const override { return sched::Api::cuda; }
  const Dialect& dialect() const override { return cuda_dialect(); }
  std::string compiler_missing() const override { return nvrtc_missing(); }
  std::string compiler_id() const override { return nvrtc_id(); }
  std::string flags(const sched::Target&, const TextKind& kind) const override {
    return options_of(kind).fmad ? "fmad" : "";
  }
  std::string instruction_set(const sched::Target& target) const override { return target.arch; }
  std::vector<uint8_t> compile(const std::string& source, const std::string& name,
                               const sched::Target& target, const TextKind& kind) const override {
    if (!kind.environment.empty())
      fail_device("kernel ", name, ": CUDA has no environment '", kind.environment, "'");
    return compile_cuda(source, name, target.arch, options_of(kind));
  }
  bool waits_first(const std::vector<uint8_t>& code) const override {
    return is_cubin(code) && backends::waits_first(code);
  }
  std::string code_ending(const std::vector<uint8_t>& code) const override {
    return is_cubin(code) ? ".cubin" : ".ptx";
  }
  std::string smallest_source() const override {
    return "extern \"C\" __global__ void warm(float* x) { *x = 1; }\n";
  }
};

const RegisterBackend<CudaBackend> registered_cuda;

}  // namespace
}  // namespace tcc::backends
