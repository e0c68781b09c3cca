#include "runtime/device_checks.h"

#include <cstdlib>

namespace tcc::runtime {

void check_grid(const std::array<int64_t, 3>& most, std::string_view device,
                std::string_view kernel, const std::array<uint32_t, 3>& grid) {
  for (size_t i = 0; i < grid.size(); ++i)
    if (grid[i] > most[i])
      fail_device(device, ": kernel ", kernel, ": grid size ", grid[i], " in dimension ", i,
                  "; the device allows ", most[i]);
}

void Stream::give(const std::function<void(void* handle)>&) {
  TCC_CHECK(false, "a device that does not give its streams");
}

void check_words(const BoundStep& step) {
  if (const auto* copy = std::get_if<BoundCopy>(&step))
    TCC_CHECK(copy->bytes >= 0, "a copy of ", copy->bytes, " bytes");
  if (const auto* fill = std::get_if<BoundFill>(&step))
    TCC_CHECK(fill->bytes >= 0 && fill->bytes % 4 == 0 && fill->to % 4 == 0, "a fill of ",
              fill->bytes, " bytes at ", fill->to);
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
