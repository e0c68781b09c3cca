#include "scheduler/config.h"

#include <algorithm>

#include "support/error.h"

namespace tcc::sched {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdull;
  return hash ^ (hash >> 33);
}

uint64_t mix(uint64_t hash, std::string_view text) {
  for (char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return mix(hash, text.size());
}

bool visit_from(const ConfigSpace& space, size_t depth, Config& config,
                const std::function<bool(const Config&)>& visit) {
  if (depth == space.parameters.size()) {
    for (const auto& constraint : space.constraints)
      if (!constraint.against(config).empty()) return true;
    return visit(config);
  }
  for (int64_t value : space.parameters[depth].values) {
    config.set(space.parameters[depth].name, value);
    if (!visit_from(space, depth + 1, config, visit)) return false;
  }
  return true;
}

}  // namespace

int64_t Config::operator[](std::string_view key) const {
  auto found = values_.find(key);
  TCC_CHECK(found != values_.end(), "no parameter '", key, "' in config ", to_string());
  return found->second;
}

std::string Config::to_string() const {
  std::string text;
  for (const auto& [name, value] : values_)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return text;
}

uint64_t Config::hash() const {
  uint64_t hash = 0;
  for (const auto& [name, value] : values_)
    hash = mix(mix(hash, name), static_cast<uint64_t>(value));
  return hash;
}

ConfigSpace::Constraint::Constraint(std::string reason, std::function<bool(const Config&)> holds)
    : against([reason = std::move(reason), holds = std::move(holds)](const Config& config) {
        return holds(config) ? "" : reason;
      }) {}

std::string ConfigSpace::violation(const Config& config) const {
  for (const Parameter& parameter : parameters) {
    const auto found = config.values().find(parameter.name);
    if (found == config.values().end()) return "parameter '" + parameter.name + "' is missing";
    if (std::ranges::find(parameter.values, found->second) == parameter.values.end())
      return str("parameter '", parameter.name, "' cannot be ", found->second);
  }
  if (config.values().size() > parameters.size())  // all parameters are there, and another
    for (const auto& [name, value] : config.values())
      if (std::ranges::find(parameters, name, &Parameter::name) == parameters.end())
        return "unknown parameter '" + name + "'";
  for (const auto& constraint : constraints)
    if (std::string reason = constraint.against(config); !reason.empty()) return reason;
  return "";
}

void ConfigSpace::enumerate(const std::function<bool(const Config&)>& visit) const {
  Config config;
  visit_from(*this, 0, config, visit);
}

int64_t ConfigSpace::size() const {
  int64_t count = 0;
  enumerate([&](const Config&) {
    ++count;
    return true;
  });
  return count;
}

uint64_t ConfigSpace::hash() const {
  uint64_t hash = 0;
  for (const Parameter& parameter : parameters) {
    hash = mix(hash, parameter.name);
    for (int64_t value : parameter.values) hash = mix(hash, static_cast<uint64_t>(value));
  }
  return hash;
}

}  // namespace tcc::sched
