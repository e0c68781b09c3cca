#include "runtime/device_checks.h"

#include <cstdlib>

namespace tcc::runtime {

double device_timeout_seconds() {
  constexpr double kDefault = 120;
  const char* text = std::getenv("TCC_DEVICE_TIMEOUT");
  if (!text || !*text) return kDefault;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end != '\0' || !(seconds > 0 && seconds < 1e6))
    fail_input("TCC_DEVICE_TIMEOUT: '", text, "' is not a number of seconds");
  return seconds;
}

}  // namespace tcc::runtime
