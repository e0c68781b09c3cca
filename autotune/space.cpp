#include "autotune/space.h"

#include "autotune/random_words.h"

namespace tcc::autotune {

std::vector<sched::Config> sample_configs(const sched::ConfigSpace& space, size_t count,
                                          uint64_t seed) {
  std::vector<sched::Config> chosen;
  if (count == 0) return chosen;
  RandomWords random(seed);
  // A reservoir: after n configs, each of them is in it with probability count / n.
  uint64_t seen = 0;
  space.enumerate([&](const sched::Config& config) {
    ++seen;
    if (chosen.size() < count) {
      chosen.push_back(config);
    } else if (uint64_t place = random.below(seen); place < count) {
      chosen[place] = config;
    }
    return true;
  });
  if (seen <= count) return chosen;
  // The first places hold early configs more often: a sweep that is cut short must not.
  for (size_t i = chosen.size(); i > 1; --i) std::swap(chosen[i - 1], chosen[random.below(i)]);
  return chosen;
}

}  // namespace tcc::autotune
