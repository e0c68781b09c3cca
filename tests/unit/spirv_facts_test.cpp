#include "executable/spirv_facts.h"

#include <gtest/gtest.h>

#include "support/error.h"
#include "tests/expect_error.h"

namespace tcc::exec {
namespace {

constexpr uint32_t op(uint32_t words, uint32_t number) { return words << 16 | number; }

// A header, capabilities Shader and Float64, entry points "main" (compute) and "draw" (vertex),
// and RoundingModeRTE of 32 bits.
std::vector<uint32_t> module() {
  std::vector<uint32_t> words = {0x07230203, 0x00010400, 0, 10, 0};
  words.insert(words.end(), {op(2, 17), 1, op(2, 17), 10});
  words.insert(words.end(), {op(5, 15), 5, 1, 0x6e69616d, 0});
  words.insert(words.end(), {op(5, 15), 0, 2, 0x77617264, 0});
  words.insert(words.end(), {op(4, 16), 1, 4462, 32});
  words.insert(words.end(), {op(5, 54), 3, 4, 0, 5, op(2, 17), 11});
  return words;
}

TEST(SpirvFacts, AreRead) {
  const SpirvFacts facts = spirv_facts(module());
  EXPECT_EQ(facts.entries, (std::set<std::string, std::less<>>{"main"}));
  EXPECT_EQ(facts.capabilities, (std::set<uint32_t>{1, 10})) << "what follows is a function";
  EXPECT_EQ(facts.float_controls.round_to_even, 32);
  EXPECT_EQ(facts.float_controls.keep_special, 0);
}

TEST(SpirvFacts, InstructionsFitInTheirModule) {
  std::vector<uint32_t> words = module();
  for (const uint32_t first : {op(0, 17), op(60, 17), op(0xffff, 15)}) {
    words[5] = first;
    EXPECT_ERROR_KIND(spirv_facts(words), ErrorKind::device, "the instruction at word 5");
  }
  // A name that no zero ends.
  words = module();
  words.resize(12);
  words[9] = op(3, 15);
  EXPECT_NO_THROW(spirv_facts(words));
}

// Two variables that a workgroup shares, of 6 floats and of a struct of a vector of 4 halves and a
// bool, and one that it does not.
TEST(SpirvFacts, CountSharedMemory) {
  std::vector<uint32_t> words = module();
  const std::vector<uint32_t> types = {
      op(3, 22), 10,        32, op(4, 21), 11,        32, 0,  op(4, 43), 11,        12, 6,
      op(4, 28), 13,        10, 12,        op(4, 32), 14, 4,  13,        op(4, 59), 14, 15,
      4,         op(3, 22), 16, 16,        op(4, 23), 17, 16, 4,         op(2, 20), 18, op(4, 30),
      19,        17,        18, op(4, 32), 20,        4,  19, op(4, 59), 20,        21, 4,
      op(4, 32), 22,        6,  13,        op(4, 59), 22, 23, 6};
  words.insert(words.begin() + 5, types.begin(), types.end());
  EXPECT_EQ(spirv_facts(words).shared_bytes, 6 * 4 + 4 * 2 + 4);
  EXPECT_EQ(spirv_facts(module()).shared_bytes, 0);
  // Sizes that no module means do not overflow.
  std::vector<uint32_t> huge = module();
  std::vector<uint32_t> nested = {op(3, 22), 10, 32, op(4, 43), 11, 12, 0xffffffff};
  for (uint32_t i = 0; i < 8; ++i) {
    const uint32_t array[] = {op(4, 28), 13 + i, i == 0 ? 10 : 12 + i, 12};
    nested.insert(nested.end(), std::begin(array), std::end(array));
  }
  nested.insert(nested.end(), {op(4, 32), 40, 4, 20, op(4, 59), 40, 41, 4});
  huge.insert(huge.begin() + 5, nested.begin(), nested.end());
  EXPECT_EQ(spirv_facts(huge).shared_bytes, int64_t{1} << 40);
}

TEST(SpirvFacts, SayWhatADeviceLacks) {
  const SpirvFacts facts = spirv_facts(module());
  Target target;
  target.float_controls.round_to_even = 16 | 32;
  EXPECT_EQ(lacking_feature(facts, {1, 10}, target), "");
  target.float_controls.round_to_even = 16;
  EXPECT_EQ(lacking_feature(facts, {1, 10}, target), "floats that round to even");
  EXPECT_EQ(lacking_feature(facts, {1, 9}, target), "64-bit floats (capability 10 of SPIR-V)");

  // Drivers have what quirk files switch off.
  target.float_controls.round_to_even = 32;
  target.switched_off = {{Part::feature, "int64", "a.quirks:2", "slow"},
                         {Part::feature, "float64", "a.quirks:3", "wrong"}};
  EXPECT_EQ(lacking_feature(facts, {1, 10}, target),
            "64-bit floats (capability 10 of SPIR-V; switched off by quirk a.quirks:3: wrong)");

  std::vector<uint32_t> words = module();
  words.insert(words.begin() + 5, {op(2, 17), 6022});
  target = Target();
  target.float_controls.round_to_even = 32;
  EXPECT_EQ(lacking_feature(spirv_facts(words), {1, 10}, target),
            "cooperative matrices (capability 6022 of SPIR-V)");
  EXPECT_EQ(lacking_feature(spirv_facts(words), {1, 10, 6022}, target), "");
  words[1] = 0x00010600;
  EXPECT_EQ(lacking_feature(spirv_facts(words), {1, 10, 6022}, target), "SPIR-V 1.6");
  target.spirv_minor = 6;
  EXPECT_EQ(lacking_feature(spirv_facts(words), {1, 10, 6022}, target), "");
}

// A target that no device stands behind lacks what its profile says.
TEST(SpirvFacts, SayWhatATargetLacks) {
  const SpirvFacts facts = spirv_facts(module());
  Target target;
  target.float64 = true;
  EXPECT_EQ(lacking_feature(facts, target), "");
  target.float64 = false;
  EXPECT_EQ(lacking_feature(facts, target), "64-bit floats");
  target.switched_off = {{Part::feature, "float64", "a.quirks:3", "wrong"}};
  EXPECT_EQ(lacking_feature(facts, target),
            "64-bit floats (switched off by quirk a.quirks:3: wrong)");
}

TEST(SpirvFacts, UnknownCapabilitiesAreRefusedByNumber) {
  std::vector<uint32_t> words = module();
  words.insert(words.begin() + 5, {op(2, 17), 999983});
  Target target;
  target.float_controls.round_to_even = 32;
  EXPECT_EQ(lacking_feature(spirv_facts(words), {1, 10}, target), "capability 999983 of SPIR-V");
}

}  // namespace
}  // namespace tcc::exec
