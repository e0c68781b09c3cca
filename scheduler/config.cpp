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

}  // namespace

Config::Config(std::initializer_list<Value> values) {
  values_.reserve(values.size());
  for (const auto& [name, value] : values) set(name, value);
}

void Config::set(std::string_view key, int64_t value) {
  auto at = values_.begin();
  while (at != values_.end() && at->first < key) ++at;
  if (at != values_.end() && at->first == key)
    at->second = value;
  else
    values_.emplace(at, key, value);
}

const int64_t* Config::find(std::string_view key) const {
  for (const auto& [name, value] : values_)
    if (name == key) return &value;
  return nullptr;
}

int64_t Config::operator[](std::string_view key) const {
  const int64_t* found = find(key);
  TCC_CHECK(found, "no parameter '", key, "' in config ", to_string());
  return *found;
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

bool ConfigSpace::lists(const Config& config) const {
  return config.values().size() == parameters.size() &&
         std::ranges::all_of(parameters, [&](const Parameter& parameter) {
           const int64_t* value = config.find(parameter.name);
           return value && std::ranges::find(parameter.values, *value) != parameter.values.end();
         });
}

std::string ConfigSpace::violation(const Config& config) const {
  for (const Parameter& parameter : parameters) {
    const int64_t* value = config.find(parameter.name);
    if (!value) return "parameter '" + parameter.name + "' is missing";
    if (std::ranges::find(parameter.values, *value) == parameter.values.end())
      return str("parameter '", parameter.name, "' cannot be ", *value);
  }
  if (config.values().size() > parameters.size())  // all parameters are there, and another
    for (const auto& [name, value] : config.values())
      if (std::ranges::find(parameters, name, &Parameter::name) == parameters.end())
        return "unknown parameter '" + name + "'";
  for (const auto& constraint : constraints)
    if (std::string reason = constraint.against(config); !reason.empty()) return reason;
  return "";
}

bool ConfigSpace::satisfies(const Config& config) const {
  return std::ranges::all_of(constraints, [&](const Constraint& constraint) {
    return constraint.against(config).empty();
  });
}

void ConfigSpace::enumerate(const std::function<bool(const Config&)>& visit) const {
  Config config;
  const std::function<bool(size_t)> visit_from = [&](size_t depth) {
    if (depth == parameters.size()) return !satisfies(config) || visit(config);
    for (int64_t value : parameters[depth].values) {
      config.set(parameters[depth].name, value);
      if (!visit_from(depth + 1)) return false;
    }
    return true;
  };
  visit_from(0);
}

std::vector<Config> ConfigSpace::draw(const std::function<uint64_t()>& random, size_t count) const {
  constexpr int kTries = 4096;
  constexpr uint64_t kMost = uint64_t{1} << 20;
  std::vector<Config> drawn;
  Config config;
  std::vector<size_t> places(parameters.size());  // of the config's values
  const auto place = [&](size_t p, size_t at) {
    places[p] = at;
    config.set(parameters[p].name, parameters[p].values[at]);
  };
  const auto draw_one = [&] {
    for (size_t p = 0; p < parameters.size(); ++p) place(p, random() % parameters[p].values.size());
  };
  const auto is_new = [&] {
    return satisfies(config) && std::ranges::find(drawn, config) == drawn.end();
  };
  uint64_t combinations = 1;  // or more than kMost
  for (const Parameter& parameter : parameters)
    combinations = std::min<uint64_t>(combinations, kMost + 1) * parameter.values.size();
  if (combinations == 0) return {};
  for (int tries = 0; tries < kTries && drawn.size() < count; ++tries) {
    draw_one();
    if (is_new()) drawn.push_back(config);
  }
  if (drawn.size() == count) return drawn;

  // Legal ones are few, or all drawn: each of the others takes a place by the same chance.
  const size_t missing = count - drawn.size();
  std::vector<Config> others;
  uint64_t seen = 0;
  draw_one();
  for (uint64_t left = std::min(combinations, kMost); left > 0; --left) {
    if (is_new()) {
      const uint64_t at = seen < missing ? seen : random() % (seen + 1);
      if (at < others.size())
        others[at] = config;
      else if (seen < missing)
        others.push_back(config);
      ++seen;
    }
    for (size_t p = parameters.size(); p-- > 0;) {
      place(p, (places[p] + 1) % parameters[p].values.size());
      if (places[p] != 0) break;
    }
  }
  drawn.insert(drawn.end(), others.begin(), others.end());
  return drawn;
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
