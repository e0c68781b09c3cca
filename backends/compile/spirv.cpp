#include "backends/compile/spirv.h"

#if TCC_HAVE_SHADERC
#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>
#endif

#include <chrono>
#include <cstring>
#include <set>
#include <string_view>

#include "backends/compile/process.h"
#include "backends/compile/spirv_ops.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc::backends {
namespace {

using enum spirv::Op;
using spirv::kHeaderWords;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// SPIR-V 1.6 came with Vulkan 1.3.
bool is_of_vulkan13(const std::vector<uint32_t>& words) {
  return words.size() > 1 && (words[1] >> 8 & 0xff) >= 6;
}

std::string validate_with(const std::string& program, std::span<const uint8_t> code) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "module.spv").string();
  write_file_atomic(file, {reinterpret_cast<const char*>(code.data()), code.size()});
  const ProcessResult result = run_process(
      {program, "--target-env", is_of_vulkan13(spirv_words(code)) ? "vulkan1.3" : "vulkan1.2",
       "--scalar-block-layout", file},
      std::chrono::seconds(60));
  if (result.timed_out) fail_device(program, ": no answer after 60 s");
  if (result.exit_code == 0) return "";
  return result.output.empty() ? str(program, " ended with ", result.exit_code)
                               : first_line(result.output);
}

#if TCC_HAVE_SHADERC
// Keeps the first error that SPIRV-Tools reports.
spvtools::MessageConsumer keep_first(std::string& message) {
  return [&message](spv_message_level_t level, const char*, const spv_position_t& position,
                    const char* text) {
    if (level > SPV_MSG_ERROR || !message.empty()) return;
    message = str("word ", position.index, ": ", first_line(text));
  };
}

std::string validate_here(std::span<const uint8_t> code) {
  const std::vector<uint32_t> words = spirv_words(code);
  std::string message;
  spvtools::SpirvTools tools(is_of_vulkan13(words) ? SPV_ENV_VULKAN_1_3 : SPV_ENV_VULKAN_1_2);
  tools.SetMessageConsumer(keep_first(message));
  spvtools::ValidatorOptions options;
  options.SetScalarBlockLayout(true);
  if (tools.Validate(words.data(), words.size(), options)) return "";
  return message.empty() ? "invalid" : message;
}

// SPIRV-Tools' performance passes but for its loop unrolling: the copies that it makes lose
// NoContraction, and later passes then fold them (exp became 2^n). The passes here keep the
// decoration, and fold no float arithmetic that has it. Drivers unroll by the hint that stays.
void register_passes(spvtools::Optimizer& optimizer) {
  optimizer.RegisterPassesFromFlags({"--wrap-opkill",
                                     "--eliminate-dead-branches",
                                     "--merge-return",
                                     "--inline-entry-points-exhaustive",
                                     "--eliminate-dead-functions",
                                     "--eliminate-dead-code-aggressive",
                                     "--private-to-local",
                                     "--eliminate-local-single-block",
                                     "--eliminate-local-single-store",
                                     "--eliminate-dead-code-aggressive",
                                     "--scalar-replacement=100",
                                     "--convert-local-access-chains",
                                     "--eliminate-local-single-block",
                                     "--eliminate-local-single-store",
                                     "--eliminate-dead-code-aggressive",
                                     "--ssa-rewrite",
                                     "--eliminate-dead-code-aggressive",
                                     "--ccp",
                                     "--eliminate-dead-code-aggressive",
                                     "--eliminate-dead-branches",
                                     "--redundancy-elimination",
                                     "--combine-access-chains",
                                     "--simplify-instructions",
                                     "--vector-dce",
                                     "--eliminate-dead-inserts",
                                     "--eliminate-dead-branches",
                                     "--simplify-instructions",
                                     "--if-conversion",
                                     "--copy-propagate-arrays",
                                     "--reduce-load-size",
                                     "--eliminate-dead-code-aggressive",
                                     "--merge-blocks",
                                     "--redundancy-elimination",
                                     "--eliminate-dead-branches",
                                     "--merge-blocks",
                                     "--simplify-instructions"});
}

// Folding makes constants of 8 and 16 bits where a module only converted to such integers to store
// them: those need the capability of their arithmetic, which devices that store them have.
std::vector<uint32_t> with_narrow_integers(std::vector<uint32_t> words) {
  constexpr uint32_t kInt16 = 22, kInt8 = 39;
  std::set<uint32_t> has, needs;
  for (size_t at = kHeaderWords; at < words.size();) {
    const uint32_t op = words[at] & 0xffff, length = words[at] >> 16;
    if (length == 0 || length > words.size() - at)
      return words;  // the validator says what is wrong
    if (op == kCapability && length > 1) has.insert(words[at + 1]);
    if (op == kTypeInt && length > 2 && words[at + 2] == 16) needs.insert(kInt16);
    if (op == kTypeInt && length > 2 && words[at + 2] == 8) needs.insert(kInt8);
    at += length;
  }
  for (const uint32_t capability : needs)
    if (!has.contains(capability))
      words.insert(words.begin() + kHeaderWords, {2u << 16 | kCapability, capability});
  return words;
}

std::vector<uint8_t> optimize_here(std::span<const uint8_t> code) {
  const std::vector<uint32_t> words = spirv_words(code);
  std::string message;
  spvtools::Optimizer optimizer(SPV_ENV_VULKAN_1_2);
  optimizer.SetMessageConsumer(keep_first(message));
  register_passes(optimizer);
  spvtools::OptimizerOptions options;
  options.set_run_validator(false);  // validate_spirv is its own step
  std::vector<uint32_t> optimised;
  if (!optimizer.Run(words.data(), words.size(), &optimised, options))
    fail_device("spirv-opt: ", message);
  return spirv_bytes(with_narrow_integers(std::move(optimised)));
}
#else
std::string validate_here(std::span<const uint8_t>) {
  fail_device(
      "no SPIR-V validator: tcc was built without SPIRV-Tools, and TCC_SPIRV_VAL names none");
}
std::vector<uint8_t> optimize_here(std::span<const uint8_t>) {
  fail_device("no SPIR-V optimiser: tcc was built without SPIRV-Tools");
}
#endif

}  // namespace

std::string validate_spirv(std::span<const uint8_t> code) {
  const std::string program = environment("TCC_SPIRV_VAL");
  return program.empty() ? validate_here(code) : validate_with(program, code);
}

std::vector<uint8_t> optimize_spirv(std::span<const uint8_t> code) { return optimize_here(code); }

int64_t spirv_instructions(std::span<const uint8_t> code) {
  const std::vector<uint32_t> words = spirv_words(code);
  int64_t count = 0;
  bool in_function = false;
  for (size_t at = kHeaderWords; at < words.size();) {
    const uint32_t length = words[at] >> 16, op = words[at] & 0xffff;
    if (length == 0 || length > words.size() - at)
      fail_device("not a SPIR-V module: the instruction at word ", at, " has ", length, " words");
    if (op == kFunctionEnd) in_function = false;
    count += in_function;
    if (op == kFunction) in_function = true;
    at += length;
  }
  return count;
}

}  // namespace tcc::backends
