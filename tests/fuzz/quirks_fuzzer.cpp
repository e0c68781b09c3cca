// libFuzzer target for the reader of quirk files: what it takes is the same when it is written and
// read again, and applies to a target.
#include <cstdlib>

#include "executable/cuda_targets.h"
#include "executable/quirks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text =
      "tcc_quirks: 1\n" + std::string(reinterpret_cast<const char*>(data), size);
  const tcc::exec::QuirkFile file = tcc::exec::parse_quirks(text, "fuzzed.quirks");
  const std::string written = tcc::exec::quirk_file_text(file.quirks);
  const tcc::exec::QuirkFile again = tcc::exec::parse_quirks(written, "fuzzed.quirks");
  if (!again.problems.empty() || tcc::exec::quirk_file_text(again.quirks) != written) std::abort();
  auto target = tcc::exec::cuda_target("sm_90a");
  tcc::exec::apply_quirks(*target, file.quirks);
  return 0;
}
