#include "executable/spirv_facts.h"

#include <algorithm>
#include <map>

#include "executable/quirks.h"
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

// The capabilities whose absence users may meet, with the features of quirk files that they are.
struct Feature {
  uint32_t capability;
  const char* text;
  std::string_view name = "";
};
constexpr Feature kFeatures[] = {
    {9, "16-bit floats"},
    {10, "64-bit floats", "float64"},
    {11, "64-bit integers", "int64"},
    {22, "16-bit integers"},
    {39, "8-bit integers"},
    {65, "shuffles among a subgroup's lanes", "subgroup_shuffle"},
    {4433, "buffers of 16-bit elements", "storage16"},
    {4448, "buffers of 8-bit elements", "storage8"},
    {5116, "bf16 as a type"},
    {5118, "cooperative matrices of bf16"},
    {5345, "Vulkan's memory model"},
    {5431, "sums of cooperative matrices as operands", "matrix_conversions"},
    {5433, "loads of cooperative matrices from tensors"},
    {5439, "tensors"},
    {6018, "products of packed bytes", "byte_products"},
    {6019, "dot products of integers", "byte_products"},
    {6022, "cooperative matrices", "matrix_units"},
};

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

// Sizes of types, by id, as far as variables in shared memory have them.
struct Types {
  struct Pointer {
    uint32_t storage, type;
  };
  std::map<uint32_t, int64_t> bytes, numbers;  // of types; of constants
  std::map<uint32_t, Pointer> pointers;

  int64_t of(uint32_t type) const {
    const auto found = bytes.find(type);
    return found == bytes.end() ? 0 : found->second;
  }
};

constexpr int64_t kMostShared = int64_t{1} << 40;

int64_t bounded_product(int64_t a, int64_t b) {
  return a > 0 && b > kMostShared / a ? kMostShared : a * b;
}

// Reads declarations of types, constants and variables.
void read_type(SpirvFacts& facts, Types& types, uint32_t op, Words operands) {
  constexpr uint32_t kBool = 20, kInt = 21, kFloat = 22, kVector = 23, kArray = 28, kStruct = 30,
                     kPointer = 32, kConstant = 43, kVariable = 59, kWorkgroup = 4;
  constexpr int64_t kBoolBytes = 4;
  const auto at = [&](size_t i) { return i < operands.size() ? operands[i] : 0; };
  if (op == kBool) types.bytes[at(0)] = kBoolBytes;
  if (op == kInt || op == kFloat) types.bytes[at(0)] = at(1) / 8;
  if (op == kVector) types.bytes[at(0)] = bounded_product(types.of(at(1)), at(2));
  if (op == kConstant) types.numbers[at(1)] = at(2);
  if (op == kArray) {
    const auto count = types.numbers.find(at(2));
    types.bytes[at(0)] =
        bounded_product(types.of(at(1)), count == types.numbers.end() ? 0 : count->second);
  }
  if (op == kStruct) {
    int64_t sum = 0;
    for (size_t i = 1; i < operands.size(); ++i)
      sum = std::min(sum + types.of(operands[i]), kMostShared);
    types.bytes[at(0)] = sum;
  }
  if (op == kPointer) types.pointers[at(0)] = {at(1), at(2)};
  if (op == kVariable && at(2) == kWorkgroup)
    if (const auto type = types.pointers.find(at(0)); type != types.pointers.end())
      facts.shared_bytes = std::min(facts.shared_bytes + types.of(type->second.type), kMostShared);
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
  Types types;
  if (words.size() > 1) facts.version_minor = static_cast<int>(words[1] >> 8 & 0xff);
  for (size_t at = kSpirvHeaderWords; at < words.size();) {
    const size_t count = words[at] >> 16;
    const uint32_t op = words[at] & 0xffff;
    if (count == 0 || count > words.size() - at)
      fail_device("SPIR-V module: the instruction at word ", at, " does not fit in it");
    if (op == kOpFunction) break;
    read(facts, op, words.subspan(at + 1, count - 1));
    read_type(facts, types, op, words.subspan(at + 1, count - 1));
    at += count;
  }
  return facts;
}

std::string lacking_feature(const SpirvFacts& facts, const std::set<uint32_t>& capabilities,
                            const Target& target) {
  if (facts.version_minor > target.spirv_minor) return str("SPIR-V 1.", facts.version_minor);
  for (const uint32_t capability : facts.capabilities) {
    const auto* known = std::ranges::find(kFeatures, capability, &Feature::capability);
    const bool is_known = known != std::end(kFeatures);
    // A driver has what a quirk file switched off.
    const std::string off = is_known ? why_feature_off(target, known->name) : "";
    if (capabilities.contains(capability) && off.empty()) continue;
    const std::string number = str("capability ", capability, " of SPIR-V");
    if (!is_known) return number;
    return str(known->text, " (", number, off.empty() ? "" : "; ", off, ")");
  }
  const FloatControls &needs = facts.float_controls, &has = target.float_controls;
  if (needs.keep_special & ~has.keep_special) return "floats that keep infinities and NaN";
  if (needs.keep_denormals & ~has.keep_denormals) return "floats that keep denormals";
  if (needs.round_to_even & ~has.round_to_even) return "floats that round to even";
  return "";
}

std::string lacking_feature(const SpirvFacts& facts, const Target& target) {
  for (const Feature& feature : kFeatures) {
    if (feature.name.empty() || !facts.capabilities.contains(feature.capability) ||
        has_feature(target, feature.name))
      continue;
    const std::string off = why_feature_off(target, feature.name);
    return off.empty() ? feature.text : str(feature.text, " (", off, ")");
  }
  return "";
}

}  // namespace tcc::exec
