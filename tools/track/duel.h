// The cases of a suite, base against head: how a block of paired measurements is taken.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tcc/track.hpp"
#include "tools/track/contestant.h"

namespace tcc::tools {

class Duels {
 public:
  // Compiles every case with both libraries; a case that one of them refuses keeps the reason.
  // `compiled` is told after each.
  Duels(const Library& base, const Library& head, const std::vector<TrackCase>& cases,
        const TrackCompile& options, const std::function<void(size_t)>& compiled = {});

  // One block: both contexts are made anew, the head's first in every other block; then pairs, in
  // the order base, head, head, base. Throws the reason of a case that could not be compiled, and
  // Error(device) where the results differ.
  track::Block block(size_t number);

  struct Side {
    std::unique_ptr<Contestant> contestant;
    std::string failure;
    double seconds = 0;  // median of the last block
  };
  struct Case {
    Side base, head;
    double difference = -1;  // of the results, see relative_difference; -1: never run
    size_t blocks = 0;
  };
  const Case& at(size_t number) const { return cases_[number]; }

 private:
  std::vector<Case> cases_;
};

}  // namespace tcc::tools
