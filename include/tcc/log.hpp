// One hook receives everything that the library reports beside errors; docs/embedding.md describes
// it.
#pragma once

#if __cplusplus < 202002L
#error "tcc needs C++20: compile with -std=c++20 (or use the C interface, tcc/c_api.h)"
#else

#include <functional>
#include <string_view>

#pragma GCC visibility push(default)
namespace tcc {

enum class LogLevel : int {
  debug = 0,    // texts of many lines: kernels' sources, regions, memory plans
  info = 1,     // a line per kernel, file or compilation
  warning = 2,  // something was skipped or could not be used
  error = 3,    // a device or its validation layers report a fault
};

// Receives a message. `channel` is one of "cache", "compile", "device", "fusion", "memory",
// "output_code", "partition", "tuning". Both texts live as long as the call.
using LogHook =
    std::function<void(LogLevel level, std::string_view channel, std::string_view text)>;

// Installs `hook`, which replaces the one before. It gets every message of at least the level
// `least`, and every message of the channels that the environment variable TCC_LOGS names. An empty
// hook restores the default: warnings, errors and the channels of TCC_LOGS go to standard error.
//
// The hook is called from any thread, one call at a time. Exceptions that it throws are dropped. It
// may not call compile() or tune(). Once this function has returned, the previous hook is not
// called any more.
void set_log_hook(LogHook hook, LogLevel least = LogLevel::info);

}  // namespace tcc
#pragma GCC visibility pop
#endif
