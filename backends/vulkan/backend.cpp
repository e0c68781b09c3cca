// GLSL to SPIR-V.
#include <algorithm>

#include "backends/backend.h"
#include "backends/compile/glsl.h"
#include "backends/compile/spirv.h"
#include "backends/vulkan/dialect.h"
#include "backends/vulkan/local_size.h"
#include "backends/vulkan/resources.h"
#include "executable/spirv_facts.h"
#include "executable/spirv_words.h"
#include "scheduler/source_compiler.h"
#include "support/error.h"

namespace tcc::backends {
namespace {

GlslOptions options_of(const TextKind& kind, const sched::Target& target) {
  GlslOptions options;
  // SPIRV-Tools would take a second for what the driver does to a device source in a tenth of one.
  options.optimize = kind.origin != TextOrigin::device_source;
  if (kind.origin != TextOrigin::user) options.exact_floats = target.float_controls;
  options.environment = kind.environment;
  return options;
}

// Returns where the text continues after its #version line; 0: there is none. Comments may stand
// before it.
size_t after_version(const std::string& text) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    size_t at = begin;
    while (at < end && (text[at] == ' ' || text[at] == '\t')) ++at;
    if (text.compare(at, 8, "#version") == 0) return end;
    begin = end;
  }
  return 0;
}

class VulkanBackend : public Backend {
 public:
  sched::Api api() const override { return sched::Api::vulkan; }
  const Dialect& dialect() const override { return glsl_dialect(); }
  std::string entry_of(const std::string&) const override { return "main"; }
  bool has_named_entries() const override { return false; }
  std::string compiler_missing() const override { return glsl_compiler_missing(); }
  std::string compiler_id() const override { return glsl_compiler_id(); }
  std::string flags(const sched::Target& target, const TextKind& kind) const override {
    const GlslOptions options = options_of(kind, target);
    std::string text = options.optimize ? "optimized, loops kept" : "";
    if (const auto& controls = options.exact_floats)
      text += str(" exact floats ", controls->keep_special, " ", controls->keep_denormals, " ",
                  controls->round_to_even);
    if (!options.environment.empty()) text += " for " + options.environment;
    if (kind.origin == TextOrigin::device_source)
      if (const std::string newer = glsl_newer_compiler(); !newer.empty())
        text += " newer compiler " + newer;
    return text;
  }
  std::string instruction_set(const sched::Target&) const override { return "spirv"; }
  std::vector<uint8_t> compile(const std::string& source, const std::string& name,
                               const sched::Target& target, const TextKind& kind) const override {
    std::vector<uint8_t> code = compile_glsl(source, name, options_of(kind, target));
    // Users' kernels may use what a profile does not promise: the device decides when it loads
    // them.
    if (kind.origin == TextOrigin::user) return code;
    const std::string lacking =
        exec::lacking_feature(exec::spirv_facts(exec::spirv_words(code)), target);
    if (!lacking.empty()) fail_device(name, ": ", target.id(), " has no ", lacking);
    return code;
  }
  std::string violation(const std::vector<uint8_t>& code) const override {
    const std::string reason = validate_spirv(code);
    return reason.empty() ? "" : "invalid SPIR-V: " + reason;
  }
  std::optional<int64_t> instructions(const std::vector<uint8_t>& code) const override {
    return spirv_instructions(code);
  }
  std::string code_ending(const std::vector<uint8_t>&) const override { return ".spv"; }
  std::string with_defines(const std::string& text, const std::string& defines,
                           const std::string& file) const override {
    const size_t at = after_version(text);
    if (at == 0) fail_input(file, ": has no #version line, which GLSL needs");
    const auto lines = std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
    return text.substr(0, at) + defines + "#line " + std::to_string(lines + 1) + "\n" +
           text.substr(at);
  }
  bool has_resources() const override { return true; }
  std::vector<uint8_t> with_resources(const std::vector<uint8_t>& code,
                                      const KernelResources& resources,
                                      int arguments) const override {
    return bind_resources(code, resources, arguments);
  }
  bool sizes_are_in_code() const override { return true; }
  std::optional<std::array<uint32_t, 3>> workgroup_of(
      const std::vector<uint8_t>& code) const override {
    return local_size(code);
  }
  std::string smallest_source() const override {
    return "#version 450\nlayout(local_size_x = 1) in;\nvoid main() {}\n";
  }
};

const RegisterBackend<VulkanBackend> registered_vulkan;
const sched::RegisterSourceCompiler registered_compiler({sched::Api::vulkan, glsl_lacking});

}  // namespace
}  // namespace tcc::backends
