// A ConfigSource gives kernels their configurations.
#pragma once

#include <string>

#include "scheduler/candidate.h"

namespace tcc::sched {

// The tier says how close the record was that a config was taken from; docs/tuning.md explains the
// tiers.
enum class Tier : uint8_t { exact, stale, nearest, device, analytic };
std::string_view name(Tier tier);  // "exact", ..., "default" for analytic

struct ConfigChoice {
  Config config;
  Tier tier = Tier::analytic;
};

class ConfigSource {
 public:
  virtual ~ConfigSource() = default;
  // Returns a legal config of the candidate's space. Thread-safe.
  virtual ConfigChoice choose(const Candidate& candidate) const = 0;
};

// This source returns the candidates' own defaults.
const ConfigSource& analytic_configs();

// This source always returns the same config, for tuning and tests; the analytic default where it
// is not legal.
class FixedConfig : public ConfigSource {
 public:
  explicit FixedConfig(Config config) : config_(std::move(config)) {}
  ConfigChoice choose(const Candidate& candidate) const override;

 private:
  Config config_;
};

}  // namespace tcc::sched
