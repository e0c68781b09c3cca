#include "backends/compile/exact_floats.h"

#include <functional>
#include <set>
#include <string_view>

#include "backends/compile/spirv_ops.h"
#include "support/error.h"

namespace tcc::backends {
namespace {

using enum spirv::Op;
using spirv::kHeaderWords;

constexpr uint32_t kVersion14 = 0x00010400;
constexpr uint32_t kNoContraction = 42;

struct Mode {
  uint32_t capability, mode;
  int sched::FloatControls::*widths;
};
constexpr Mode kModes[] = {{4464, 4459, &sched::FloatControls::keep_denormals},
                           {4466, 4461, &sched::FloatControls::keep_special},
                           {4467, 4462, &sched::FloatControls::round_to_even}};

struct Instruction {
  uint32_t op;
  std::span<const uint32_t> words;  // the first holds op and count
};

uint32_t first_word(size_t count, uint32_t op) { return static_cast<uint32_t>(count << 16) | op; }

void append(std::vector<uint32_t>& words, uint32_t op, std::initializer_list<uint32_t> operands) {
  words.push_back(first_word(operands.size() + 1, op));
  words.insert(words.end(), operands);
}

// These stand before the annotations, in SPIR-V's order of sections.
bool is_before_annotations(uint32_t op) {
  return (op >= kSourceContinued && op <= kString) || (op >= kExtension && op <= kExtInstImport) ||
         (op >= kMemoryModel && op <= kCapability) || op == kModuleProcessed ||
         op == kExecutionModeId;
}

// Its result is a float, or what two floats compare to. A conversion is in it: Mesa 25 takes a
// number that is converted to f32 and back for itself.
bool is_float_arithmetic(uint32_t op) {
  return op == kFConvert || op == kFNegate || op == kFAdd || op == kFSub || op == kFMul ||
         op == kFDiv || (op >= kFRem && op <= kDot) ||
         (op >= kFOrdEqual && op <= kFUnordGreaterThanEqual);
}

std::string_view text_of(std::span<const uint32_t> words) {
  const auto* text = reinterpret_cast<const char*>(words.data());
  const std::string_view all(text, words.size_bytes());
  return all.substr(0, all.find('\0'));
}

class Rewriter {
 public:
  Rewriter(std::span<const uint32_t> module, const sched::FloatControls& controls)
      : module_(module), controls_(controls) {
    if (module.size() < kHeaderWords || module[1] < kVersion14)
      fail_device("not a SPIR-V module of version 1.4 or later");
  }

  std::vector<uint32_t> run() {
    each([&](const Instruction& i) { look_at(i); });
    if (entry_points_ != 1) fail_device("a SPIR-V module with ", entry_points_, " entry points");
    std::vector<uint32_t> result(module_.begin(), module_.begin() + kHeaderWords);
    result.reserve(module_.size() + 3 * results_.size() + 64);
    for (const Mode& mode : kModes)
      if (controls_.*mode.widths != 0) append(result, kCapability, {mode.capability});
    bool decorated = false;
    each([&](const Instruction& i) {
      if (!decorated && !is_before_annotations(i.op)) {
        decorate(result);
        decorated = true;
      }
      result.insert(result.end(), i.words.begin(), i.words.end());
      if (i.op == kEntryPoint) set_modes(result);
    });
    return result;
  }

 private:
  void each(const std::function<void(const Instruction&)>& see) const {
    for (size_t at = kHeaderWords; at < module_.size();) {
      const size_t count = module_[at] >> 16;
      if (count == 0 || count > module_.size() - at)
        fail_device("a SPIR-V module with an instruction of ", count, " words at word ", at);
      see({module_[at] & 0xffffu, module_.subspan(at, count)});
      at += count;
    }
  }

  void look_at(const Instruction& i) {
    if (i.words.size() < 2) return;
    switch (i.op) {
      case kExtInstImport:
        if (text_of(i.words.subspan(2)) == "GLSL.std.450") glsl_ = i.words[1];
        return;
      case kEntryPoint:
        ++entry_points_;
        entry_point_ = i.words.size() > 2 ? i.words[2] : 0;
        return;
      case kTypeFloat: float_types_.insert(i.words[1]); return;
      case kTypeVector:
        if (i.words.size() > 2 && float_types_.count(i.words[2])) float_types_.insert(i.words[1]);
        return;
      case kDecorate:
        if (i.words.size() > 2 && i.words[2] == kNoContraction) decorated_.insert(i.words[1]);
        return;
      default: break;
    }
    const bool calls_glsl = i.op == kExtInst && i.words.size() > 4 && i.words[3] == glsl_ &&
                            float_types_.count(i.words[1]);
    if (i.words.size() > 2 && (calls_glsl || is_float_arithmetic(i.op)) &&
        !decorated_.count(i.words[2]))
      results_.push_back(i.words[2]);
  }

  void decorate(std::vector<uint32_t>& result) const {
    for (const uint32_t id : results_) append(result, kDecorate, {id, kNoContraction});
  }

  void set_modes(std::vector<uint32_t>& result) const {
    for (const Mode& mode : kModes)
      for (const uint32_t width : {16u, 32u, 64u})
        if (controls_.*mode.widths & static_cast<int>(width))
          append(result, kExecutionMode, {entry_point_, mode.mode, width});
  }

  std::span<const uint32_t> module_;
  const sched::FloatControls& controls_;
  uint32_t glsl_ = 0, entry_point_ = 0;
  int entry_points_ = 0;
  std::set<uint32_t> float_types_, decorated_;
  std::vector<uint32_t> results_;
};

}  // namespace

std::vector<uint32_t> exact_floats(std::span<const uint32_t> module,
                                   const sched::FloatControls& controls) {
  return Rewriter(module, controls).run();
}

}  // namespace tcc::backends
