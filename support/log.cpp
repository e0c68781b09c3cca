#include "support/log.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <sstream>

namespace tcc {
namespace {

constexpr LogChannel kChannels[] = {
    LogChannel::cache,  LogChannel::compile,     LogChannel::device,    LogChannel::fusion,
    LogChannel::memory, LogChannel::output_code, LogChannel::partition, LogChannel::tuning};

// Messages go to this sink. It is never destroyed: destructors of static objects may log. The mutex
// is recursive, since a hook may replace itself.
struct Sink {
  std::recursive_mutex mutex;
  std::shared_ptr<const LogHook> hook;  // null: standard error
  std::atomic<LogLevel> least = LogLevel::warning;
};

Sink& sink() {
  static Sink* const instance = new Sink;
  return *instance;
}

uint32_t bit_of(LogChannel channel) { return uint32_t{1} << static_cast<int>(channel); }

// These are the channels that TCC_LOGS names.
uint32_t asked_channels() {
  static const uint32_t channels = [] {
    uint32_t bits = 0;
    for (const LogChannel channel : kChannels)
      if (asked_for_log(name(channel))) bits |= bit_of(channel);
    return bits;
  }();
  return channels;
}

}  // namespace

std::string_view name(LogChannel channel) {
  switch (channel) {
    case LogChannel::cache: return "cache";
    case LogChannel::compile: return "compile";
    case LogChannel::device: return "device";
    case LogChannel::fusion: return "fusion";
    case LogChannel::memory: return "memory";
    case LogChannel::output_code: return "output_code";
    case LogChannel::partition: return "partition";
    case LogChannel::tuning: return "tuning";
  }
  throw InternalError("a log channel without a name");
}

const std::vector<std::string>& known_logs() {
  static const std::vector<std::string> known = [] {
    std::vector<std::string> names = {"validate"};
    for (const LogChannel channel : kChannels) names.emplace_back(name(channel));
    std::sort(names.begin(), names.end());
    return names;
  }();
  return known;
}

const std::vector<std::string>& asked_logs() {
  static const std::vector<std::string> asked = [] {
    const char* value = std::getenv("TCC_LOGS");
    std::vector<std::string> names;
    std::istringstream list(value ? value : "");
    for (std::string name; std::getline(list, name, ',');)
      if (!name.empty()) names.push_back(name);
    return names;
  }();
  return asked;
}

bool asked_for_log(std::string_view word) {
  return std::find(asked_logs().begin(), asked_logs().end(), word) != asked_logs().end();
}

bool log_wanted(LogLevel level, LogChannel channel) {
  return level >= sink().least.load(std::memory_order_relaxed) ||
         (asked_channels() & bit_of(channel)) != 0;
}

std::string log_line(std::string_view program, LogLevel level, std::string_view channel,
                     std::string_view text) {
  if (level == LogLevel::debug) return str("// ---- ", channel, "\n", text, "\n");
  if (level == LogLevel::info) return str(channel, ": ", text, "\n");
  return str(program, level == LogLevel::warning ? ": warning: " : ": error: ", text, "\n");
}

void log_text(LogLevel level, LogChannel channel, std::string_view text) {
  const std::lock_guard lock(sink().mutex);
  if (!log_wanted(level, channel)) return;                  // by the hook that is there now
  const std::shared_ptr<const LogHook> hook = sink().hook;  // it may replace itself
  if (!hook) {
    std::fputs(log_line("tcc", level, name(channel), text).c_str(), stderr);
    return;
  }
  try {
    (*hook)(level, name(channel), text);
  } catch (...) {}  // a message is no reason to stop
}

void set_log_hook(LogHook hook, LogLevel least) {
  auto next = hook ? std::make_shared<const LogHook>(std::move(hook)) : nullptr;
  const std::lock_guard lock(sink().mutex);
  sink().least = next ? least : LogLevel::warning;
  sink().hook.swap(next);  // the one before ends after the lock, where its last message has ended
}

}  // namespace tcc
