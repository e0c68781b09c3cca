// One hook receives everything that the library reports beside errors. docs/embedding.md.
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

// `channel` is one of "cache", "compile", "device", "fusion", "memory", "output_code", "partition",
// "tuning".
using LogHook =
    std::function<void(LogLevel level, std::string_view channel, std::string_view text)>;

// From now on `hook` gets every message of at least the level `least`, and those of the channels
// that the environment variable TCC_LOGS names, whatever their level. An empty hook restores the
// beginning: warnings, errors and the channels of TCC_LOGS go to standard error.
//
// The hook is called from any thread, one call at a time; what it throws is dropped. It may not
// call compile() or tune(). Once this function has returned, the hook before is not called any
// more.
void set_log_hook(LogHook hook, LogLevel least = LogLevel::info);

}  // namespace tcc
#pragma GCC visibility pop
#endif
