#include "autotune/space.h"

#include <algorithm>

#include "support/checked.h"
#include "support/error.h"

namespace tcc::autotune {

ConfigList::ConfigList(const sched::ConfigSpace& space) : parameters_(space.parameters) {
  int64_t combinations = 1;
  weights_.resize(parameters_.size());
  for (size_t p = parameters_.size(); p-- > 0;) {
    weights_[p] = static_cast<uint64_t>(combinations);
    auto more = checked_mul(combinations, static_cast<int64_t>(parameters_[p].values.size()));
    if (!more || *more > int64_t{1} << 62)
      fail_input("the parameters of a config space have more than 2^62 combinations");
    combinations = *more;
  }
  space.enumerate([&](const sched::Config& config) {
    uint64_t code = 0;
    for (size_t p = 0; p < parameters_.size(); ++p) {
      const auto& values = parameters_[p].values;
      const auto place = std::find(values.begin(), values.end(), config[parameters_[p].name]);
      code += weights_[p] * static_cast<uint64_t>(place - values.begin());
    }
    codes_.push_back(code);
    return true;
  });
}

sched::Config ConfigList::at(size_t number) const {
  sched::Config config;
  const std::vector<int> where = positions(number);
  for (size_t p = 0; p < parameters_.size(); ++p)
    config.set(parameters_[p].name, parameters_[p].values[static_cast<size_t>(where[p])]);
  return config;
}

std::optional<size_t> ConfigList::find(const sched::Config& config) const {
  std::vector<int> where;
  for (const sched::Parameter& parameter : parameters_) {
    if (!config.has(parameter.name)) return std::nullopt;
    const auto place =
        std::find(parameter.values.begin(), parameter.values.end(), config[parameter.name]);
    where.push_back(static_cast<int>(place - parameter.values.begin()));
  }
  if (config.values().size() != parameters_.size()) return std::nullopt;
  return find_positions(where);
}

std::vector<int> ConfigList::positions(size_t number) const {
  std::vector<int> where;
  uint64_t rest = codes_[number];
  for (uint64_t weight : weights_) {
    where.push_back(static_cast<int>(rest / weight));
    rest %= weight;
  }
  return where;
}

std::optional<size_t> ConfigList::find_positions(const std::vector<int>& positions) const {
  uint64_t code = 0;
  for (size_t p = 0; p < parameters_.size(); ++p) {
    if (positions[p] < 0 || positions[p] >= values(p)) return std::nullopt;
    code += weights_[p] * static_cast<uint64_t>(positions[p]);
  }
  return find_code(code);
}

std::optional<size_t> ConfigList::find_code(uint64_t code) const {
  const auto place = std::lower_bound(codes_.begin(), codes_.end(), code);
  if (place == codes_.end() || *place != code) return std::nullopt;
  return static_cast<size_t>(place - codes_.begin());
}

std::vector<size_t> ConfigList::neighbours(size_t number, int steps) const {
  TCC_CHECK(steps == 1 || steps == 2, steps, " steps to a neighbour");
  std::vector<size_t> found;
  std::vector<int> where = positions(number);
  auto look = [&] {
    if (auto neighbour = find_positions(where)) found.push_back(*neighbour);
  };
  for (size_t p = 0; p < where.size(); ++p)
    for (int step : {-1, 1}) {
      where[p] += step;
      if (steps == 1) look();
      if (steps == 2) {
        where[p] += step;
        look();
        where[p] -= step;
        for (size_t other = p + 1; other < where.size(); ++other)
          for (int second : {-1, 1}) {
            where[other] += second;
            look();
            where[other] -= second;
          }
      }
      where[p] -= step;
    }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace tcc::autotune
