#include "autotune/search.h"

#include <utility>

#include "autotune/space.h"

namespace tcc::autotune {
namespace {

class RandomSearch : public Searcher {
 public:
  explicit RandomSearch(std::vector<sched::Config> configs) : configs_(std::move(configs)) {}

  std::vector<sched::Config> next_batch() override { return std::exchange(configs_, {}); }
  // What was found does not change what is tried.
  void report(const sched::Config&, std::optional<double>) override {}

 private:
  std::vector<sched::Config> configs_;
};

}  // namespace

std::unique_ptr<Searcher> random_search(const sched::ConfigSpace& space, const sched::Config& known,
                                        size_t trials, uint64_t seed) {
  std::vector<sched::Config> configs = sample_configs(space, trials + 1, seed);
  std::erase(configs, known);
  if (configs.size() > trials) configs.resize(trials);
  return std::make_unique<RandomSearch>(std::move(configs));
}

}  // namespace tcc::autotune
