// A back end spells and compiles the kernels of one API. docs/add-a-backend.md says what else a new
// one needs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/emit/dialect.h"
#include "scheduler/target.h"

namespace tcc::backends {

// The origin of a kernel's text. Floats of the first two are computed as written
// (docs/decisions/016-float-semantics.md), those of the third by the rules of its language.
enum class TextOrigin {
  generated,      // printed from kernel IR
  device_source,  // a file of backends/device, with generated hooks: unrolled as far as it pays
  user,           // a user's own kernel
};

// How a text is to be compiled.
struct TextKind {
  TextOrigin origin;
  std::string environment;  // as exec::KernelText has it

  TextKind(TextOrigin of, std::string in = {}) : origin(of), environment(std::move(in)) {}
};

// The things that a user's kernel gets otherwise than by the arguments of this project's kernels:
// it was written for another program.
struct KernelResources {
  std::vector<int> bindings;               // the argument of each binding of descriptor set 0
  std::vector<uint32_t> push_constants;    // words
  std::map<uint32_t, uint32_t> constants;  // of specialization, by their ids
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual sched::Api api() const = 0;
  virtual const Dialect& dialect() const = 0;
  // Returns the names of the device sources that templates may use: the files of the dialect's
  // folder with its ending.
  virtual std::vector<std::string> device_sources() const;

  // Returns the name under which the device finds a kernel in its code.
  virtual std::string entry_of(const std::string& kernel) const { return kernel; }
  // Returns whether users' kernels may name another entry.
  virtual bool has_named_entries() const { return true; }

  // Returns "" when kernels can be compiled here, else the reason why not.
  virtual std::string compiler_missing() const = 0;
  // Returns the compiler's name and version, which are part of every cache key and tuning record.
  virtual std::string compiler_id() const = 0;
  // Returns everything else that the code depends on beside the text: options, and the instruction
  // set.
  virtual std::string flags(const sched::Target& target, const TextKind& kind) const = 0;
  virtual std::string instruction_set(const sched::Target& target) const = 0;
  // Compiles a text to code, for the kind's environment or its own; Error(device) where it does not
  // know that. Empty code means that kernels have none. Throws Error(device) with the
  // compiler's first lines.
  virtual std::vector<uint8_t> compile(const std::string& source, const std::string& name,
                                       const sched::Target& target, const TextKind& kind) const = 0;
  // Returns what is wrong with the code, or "". Called where code is validated.
  virtual std::string violation(const std::vector<uint8_t>&) const { return ""; }
  // Returns whether the kernels of the code wait for the launch before them ahead of all their
  // accesses to memory; others do not overlap that launch. Asked where the dialect has `wait`.
  virtual bool waits_first(const std::vector<uint8_t>&) const { return false; }
  // Returns the instructions of the code, where its language counts the same on every machine.
  virtual std::optional<int64_t> instructions(const std::vector<uint8_t>&) const {
    return std::nullopt;
  }
  // Returns the ending of files of code that tools write: ".cubin".
  virtual std::string code_ending(const std::vector<uint8_t>& code) const = 0;

  // Returns the text of a user's kernel after `defines`, which are placed where the language wants
  // them. Throws Error(bad_input) that names `file`.
  virtual std::string with_defines(const std::string& text, const std::string& defines,
                                   const std::string& file) const;
  // Returns whether users' kernels may have resources.
  virtual bool has_resources() const { return false; }
  // Returns the code with them, a kernel that gets its arguments as others do. Throws
  // Error(bad_input) where they are not those of the code.
  virtual std::vector<uint8_t> with_resources(const std::vector<uint8_t>& code,
                                              const KernelResources& resources,
                                              int arguments) const;
  // Returns whether code states its workgroup and the sizes of its shared arrays; else each launch
  // does.
  virtual bool sizes_are_in_code() const { return false; }
  // Returns the workgroup that the code states, if it does.
  virtual std::optional<std::array<uint32_t, 3>> workgroup_of(const std::vector<uint8_t>&) const {
    return std::nullopt;
  }
  // Returns a small text that compiles, for the compiler's first use, which is slow.
  virtual std::string smallest_source() const = 0;
};

// Makes a back end known, from a file of its folder:
//   const RegisterBackend<CudaBackend> registered;
void register_backend(const Backend& backend);
template <class T>
class RegisterBackend {
 public:
  RegisterBackend() { register_backend(instance_); }

 private:
  T instance_;
};

// Returns all back ends, by name.
std::span<const Backend* const> backends();
// Throws InternalError for an API without a back end.
const Backend& backend_for(sched::Api api);

}  // namespace tcc::backends
