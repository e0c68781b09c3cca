#include "backends/vulkan/local_size.h"

#include <map>
#include <optional>
#include <vector>

#include "backends/compile/spirv.h"
#include "backends/compile/spirv_ops.h"
#include "support/error.h"

namespace tcc::backends {
namespace {

using Extents = std::array<uint32_t, 3>;
using Words = std::span<const uint32_t>;

using enum spirv::Op;
using spirv::kHeaderWords;

// SPIR-V's numbers.
constexpr uint32_t kGlCompute = 5, kLocalSize = 17, kLocalSizeId = 38;
constexpr uint32_t kBuiltIn = 11, kWorkgroupSize = 25;

// Reads what the instructions before the first function say.
class Module {
 public:
  explicit Module(Words words) {
    for (size_t at = kHeaderWords; at < words.size();) {
      const size_t count = words[at] >> 16;
      const uint32_t op = words[at] & 0xffff;
      if (count == 0 || count > words.size() - at)
        fail_device("SPIR-V module: the instruction at word ", at, " does not fit in it");
      if (op == kFunction) break;
      read(op, words.subspan(at + 1, count - 1));
      at += count;
    }
  }

  std::optional<Extents> workgroup() const {
    if (workgroup_id_) return composite(*workgroup_id_);
    if (!entry_) return std::nullopt;
    if (const auto ids = size_ids_.find(*entry_); ids != size_ids_.end())
      return values(ids->second);
    if (const auto sizes = sizes_.find(*entry_); sizes != sizes_.end()) return sizes->second;
    return std::nullopt;
  }

 private:
  void read(uint32_t op, Words operands) {
    const auto has = [&](size_t count) { return operands.size() >= count; };
    switch (op) {
      case kEntryPoint:
        if (has(2) && operands[0] == kGlCompute && !entry_) entry_ = operands[1];
        break;
      case kExecutionMode:
        if (has(5) && operands[1] == kLocalSize) sizes_[operands[0]] = three(operands.subspan(2));
        break;
      case kExecutionModeId:
        if (has(5) && operands[1] == kLocalSizeId)
          size_ids_[operands[0]] = three(operands.subspan(2));
        break;
      case kDecorate:
        if (has(3) && operands[1] == kBuiltIn && operands[2] == kWorkgroupSize)
          workgroup_id_ = operands[0];
        break;
      case kConstant:
      case kSpecConstant:
        if (operands.size() == 3) constants_[operands[1]] = operands[2];  // of 32 bits
        break;
      case kConstantComposite:
      case kSpecConstantComposite:
        if (operands.size() == 5) composites_[operands[1]] = three(operands.subspan(2));
        break;
      default: break;
    }
  }

  static Extents three(Words words) { return {words[0], words[1], words[2]}; }

  std::optional<Extents> composite(uint32_t id) const {
    const auto found = composites_.find(id);
    return found == composites_.end() ? std::nullopt : values(found->second);
  }

  std::optional<Extents> values(const Extents& ids) const {
    Extents result{};
    for (size_t i = 0; i < 3; ++i) {
      const auto found = constants_.find(ids[i]);
      if (found == constants_.end()) return std::nullopt;
      result[i] = found->second;
    }
    return result;
  }

  std::optional<uint32_t> entry_, workgroup_id_;
  std::map<uint32_t, Extents> sizes_, size_ids_;  // by entry point
  std::map<uint32_t, uint32_t> constants_;
  std::map<uint32_t, Extents> composites_;  // their parts' ids
};

}  // namespace

std::array<uint32_t, 3> local_size(std::span<const uint8_t> code) {
  const std::vector<uint32_t> words = backends::spirv_words(code);
  const auto size = Module(words).workgroup();
  if (!size) fail_device("SPIR-V module: its workgroup has no constant size");
  return *size;
}

}  // namespace tcc::backends
