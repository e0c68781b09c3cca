#include "runtime/device_checks.h"

#include <cstdio>
#include <cstdlib>

namespace tcc::runtime {

std::string bytes_text(int64_t bytes) {
  static constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return str(bytes, " bytes");
  auto amount = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; amount >= 1024 && unit < 3; ++unit) amount /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", amount, units[unit]);
  return text;
}

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
