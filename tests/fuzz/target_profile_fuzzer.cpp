// libFuzzer target for the reader of target profiles: a text is a consistent target or refused with
// Error(bad_input).
#include <cstdlib>

#include "scheduler/target_profile.h"
#include "support/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto target = tcc::sched::parse_profile(text, "/nowhere/profile.yaml", "fuzzed");
    if (target.subgroup_size < target.subgroup_size_min || target.max_workgroup_size < 1)
      std::abort();
  } catch (const tcc::Error& error) {
    if (error.kind() != tcc::ErrorKind::bad_input) std::abort();
  }
  return 0;
}
