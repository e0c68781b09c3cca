// The null device's kernels: the text of CUDA, and no code.
#include "backends/backend.h"
#include "backends/cuda/dialect.h"

namespace tcc::backends {
namespace {

class NullBackend : public Backend {
 public:
  sched::Api api() const override { return sched::Api::null; }
  const Dialect& dialect() const override { return cuda_dialect(); }
  // The least that a back end for products has: plans are those of a device with nothing special.
  std::vector<std::string> device_sources() const override { return {"contraction"}; }
  std::string compiler_missing() const override { return ""; }
  std::string compiler_id() const override { return ""; }
  std::string flags(const sched::Target&, const TextKind&) const override { return ""; }
  std::string instruction_set(const sched::Target&) const override { return ""; }
  std::vector<uint8_t> compile(const std::string&, const std::string&, const sched::Target&,
                               const TextKind&) const override {
    return {};
  }
  std::string code_ending(const std::vector<uint8_t>&) const override { return ".ptx"; }
  std::string smallest_source() const override { return ""; }
};

const RegisterBackend<NullBackend> registered_null;

}  // namespace
}  // namespace tcc::backends
