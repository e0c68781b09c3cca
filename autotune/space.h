// A template's legal configs, numbered.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/config.h"

namespace tcc::autotune {

// The legal configs of a space in lexicographic order, which is also the order of their numbers.
// The space is enumerated once; a config takes 8 bytes. Throws Error(bad_input) when the parameters
// have more than 2^62 combinations.
class ConfigList {
 public:
  explicit ConfigList(const sched::ConfigSpace& space);

  size_t size() const { return codes_.size(); }
  sched::Config at(size_t number) const;
  // Returns nothing for a config that is not legal.
  std::optional<size_t> find(const sched::Config& config) const;

  // Returns the index of each parameter's value; the first value has index 0.
  std::vector<int> positions(size_t number) const;
  // Returns nothing for positions that are not a legal config's.
  std::optional<size_t> find_positions(const std::vector<int>& positions) const;
  size_t parameters() const { return parameters_.size(); }
  int values(size_t parameter) const {
    return static_cast<int>(parameters_[parameter].values.size());
  }

  // Returns the configs that are `steps` (1 or 2) away: a step takes one parameter to its next
  // smaller or larger value. Ascending.
  std::vector<size_t> neighbours(size_t number, int steps) const;

 private:
  std::optional<size_t> find_code(uint64_t code) const;

  std::vector<sched::Parameter> parameters_;
  std::vector<uint64_t> weights_;  // of a parameter's position in a code
  std::vector<uint64_t> codes_;    // ascending
};

}  // namespace tcc::autotune
