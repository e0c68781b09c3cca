#include "executable/spirv_facts.h"

#include "executable/spirv_words.h"
#include "support/error.h"

namespace tcc::exec {
namespace {

using Words = std::span<const uint32_t>;

// SPIR-V's numbers.
constexpr uint32_t kOpEntryPoint = 15, kOpExecutionMode = 16, kOpCapability = 17, kOpFunction = 54;
constexpr uint32_t kGlCompute = 5;
constexpr uint32_t kDenormPreserve = 4459, kSignedZeroInfNanPreserve = 4461,
                   kRoundingModeRte = 4462;
constexpr uint32_t kFloat64 = 10, kInt64 = 11, kGroupNonUniformShuffle = 65,
                   kStorageBuffer16BitAccess = 4433, kStorageBuffer8BitAccess = 4448,
                   kCooperativeMatrix = 6022;

// Characters lie in words from the lowest byte on, up to a zero.
std::string literal(Words words) {
  std::string text;
  for (const uint32_t word : words)
    for (unsigned shift = 0; shift < 32; shift += 8) {
      const char c = static_cast<char>(word >> shift);
      if (c == '\0') return text;
      text += c;
    }
  return text;
}

void read(SpirvFacts& facts, uint32_t op, Words operands) {
  if (op == kOpCapability && !operands.empty()) facts.capabilities.insert(operands[0]);
  if (op == kOpEntryPoint && operands.size() >= 3 && operands[0] == kGlCompute)
    facts.entries.insert(literal(operands.subspan(2)));
  if (op != kOpExecutionMode || operands.size() < 3) return;
  const int width = static_cast<int>(operands[2] & (16 | 32 | 64));
  if (operands[1] == kSignedZeroInfNanPreserve) facts.float_controls.keep_special |= width;
  if (operands[1] == kDenormPreserve) facts.float_controls.keep_denormals |= width;
  if (operands[1] == kRoundingModeRte) facts.float_controls.round_to_even |= width;
}

}  // namespace

SpirvFacts spirv_facts(Words words) {
  SpirvFacts facts;
  if (words.size() > 1) facts.version_minor = static_cast<int>(words[1] >> 8 & 0xff);
  for (size_t at = kSpirvHeaderWords; at < words.size();) {
    const size_t count = words[at] >> 16;
    const uint32_t op = words[at] & 0xffff;
    if (count == 0 || count > words.size() - at)
      fail_device("SPIR-V module: the instruction at word ", at, " does not fit in it");
    if (op == kOpFunction) break;
    read(facts, op, words.subspan(at + 1, count - 1));
    at += count;
  }
  return facts;
}

std::string lacking_feature(const SpirvFacts& facts, const Target& target) {
  struct Feature {
    uint32_t capability;
    bool is_there;
    const char* text;
  };
  const Feature features[] = {
      {kInt64, target.int64, "64-bit integers"},
      {kFloat64, target.float64, "64-bit floats"},
      {kStorageBuffer16BitAccess, target.storage16, "buffers of 16-bit elements"},
      {kStorageBuffer8BitAccess, target.storage8, "buffers of 8-bit elements"},
      {kGroupNonUniformShuffle, target.subgroup_shuffle, "shuffles among a subgroup's lanes"},
      {kCooperativeMatrix, target.has_matrix_unit("coopmat"), "cooperative matrices"},
  };
  if (facts.version_minor > target.spirv_minor) return str("SPIR-V 1.", facts.version_minor);
  for (const Feature& feature : features)
    if (!feature.is_there && facts.capabilities.contains(feature.capability)) return feature.text;
  const FloatControls &needs = facts.float_controls, &has = target.float_controls;
  if (needs.keep_special & ~has.keep_special) return "floats that keep infinities and NaN";
  if (needs.keep_denormals & ~has.keep_denormals) return "floats that keep denormals";
  if (needs.round_to_even & ~has.round_to_even) return "floats that round to even";
  return "";
}

}  // namespace tcc::exec
