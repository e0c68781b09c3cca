// Delivers messages of every level to the hook of tcc/log.hpp, or to standard error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"

#include "tcc/log.hpp"

namespace tcc {

enum class LogChannel : uint8_t {
  cache,
  compile,
  device,
  fusion,
  memory,
  output_code,
  partition,
  tuning,
};
std::string_view name(LogChannel channel);

// Returns whether anyone gets such a message; called before a long text is made.
bool log_wanted(LogLevel level, LogChannel channel);

// Delivers a message. Must not be called while a lock is held that a hook could need.
void log_text(LogLevel level, LogChannel channel, std::string_view text);

// Does the same for parts, joined as by str(), if anyone gets the message.
template <class... Parts>
void log_parts(LogLevel level, LogChannel channel, const Parts&... parts) {
  if (log_wanted(level, channel)) log_text(level, channel, str(parts...));
}
template <class... Parts>
void log_warning(LogChannel channel, const Parts&... parts) {
  log_parts(LogLevel::warning, channel, parts...);
}

// Returns the line for standard error, with the newline: "tcc-run: warning: TEXT", "tuning: TEXT".
std::string log_line(std::string_view program, LogLevel level, std::string_view channel,
                     std::string_view text);

// TCC_LOGS: a list with commas, read once. `validate` is no channel, but has every SPIR-V module
// checked.
const std::vector<std::string>& asked_logs();
bool asked_for_log(std::string_view word);
// The words that TCC_LOGS may have, sorted.
const std::vector<std::string>& known_logs();

}  // namespace tcc
