#include "support/bytes_text.h"

#include <cstdio>

#include "support/error.h"

namespace tcc {

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

}  // namespace tcc
