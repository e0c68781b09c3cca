// A bench without a device: times by a formula, with the noise of a machine that others use.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autotune/bench.h"
#include "autotune/random_words.h"
#include "autotune/statistics.h"

namespace tcc::autotune {

// All benches of a test share this state.
struct SimulatedDevice {
  using Seconds = std::function<double(const std::string& config)>;
  Seconds seconds;   // a config's true time, by KernelBinary::config; 0: it does not work
  double noise = 0;  // each run is up to that much slower, at random
  // How much slower than alone the device is while the n-th measurement or duel is taken.
  std::function<double(size_t n)> load;
  std::function<void()> measured;  // called after each measurement of a candidate
  RandomWords random{7};
  size_t taken = 0, duels = 0, opened = 0;
  std::map<std::string, size_t> dueled;  // how often each config was in a duel
  std::vector<double> ratios;            // challenger over incumbent, of all pairs of duels
};

class SimulatedMeter : public Bench {
 public:
  explicit SimulatedMeter(SimulatedDevice& device) : device_(device) { ++device.opened; }

  Measurement baseline(const exec::StandaloneSequence& kernel) override {
    return summary(runs(kernel, kFull));
  }
  Measurement measure(const exec::StandaloneSequence& kernel, Effort effort, double) override {
    const Measurement result = summary(runs(kernel, effort == Effort::full ? kFull : kQuick));
    if (device_.measured) device_.measured();
    return result;
  }
  std::pair<Measurement, Measurement> duel(const exec::StandaloneSequence& incumbent,
                                           const exec::StandaloneSequence& challenger) override {
    ++device_.duels;
    ++device_.dueled[config_of(incumbent)];
    ++device_.dueled[config_of(challenger)];
    const std::vector<double> a = runs(incumbent, kPairs), b = runs(challenger, kPairs, false);
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) device_.ratios.push_back(b[i] / a[i]);
    return {summary(a), summary(b)};
  }

 private:
  static const std::string& config_of(const exec::StandaloneSequence& kernels) {
    return kernels.launches.at(0).kernel.config;
  }
  static constexpr size_t kQuick = 3, kFull = 12, kPairs = 8;

  std::vector<double> runs(const exec::StandaloneSequence& kernel, size_t count, bool next = true) {
    if (next) load_ = device_.load ? device_.load(device_.taken++) : 1;
    const double seconds = device_.seconds(config_of(kernel));
    std::vector<double> result;
    for (size_t i = 0; i < count && seconds > 0; ++i)
      result.push_back(seconds * load_ * (1 + device_.noise * device_.random.uniform(0, 1)));
    return result;
  }
  static Measurement summary(std::vector<double> samples) {
    Measurement m;
    if (samples.empty()) {
      m.status = Measurement::Status::wrong;
      m.reason = "element 0 is 1, not 2";
      return m;
    }
    m.status = Measurement::Status::measured;
    m.seconds = median(samples);
    const Interval interval = median_interval(samples);
    m.low = interval.low;
    m.high = interval.high;
    m.samples = std::move(samples);
    return m;
  }

  SimulatedDevice& device_;
  double load_ = 1;
};

}  // namespace tcc::autotune
