// Element-wise kernels compute outputs of as many elements each, every element an expression of its
// own. A kernel has one such part, or several side by side.
#pragma once

#include <functional>
#include <vector>

#include "scheduler/cost.h"
#include "scheduler/inline.h"
#include "scheduler/kernel.h"
#include "scheduler/vectorize.h"
#include "scheduler/work.h"

namespace tcc::sched {

class ElementsPart {
 public:
  // The region must outlive it; `outputs` are some of the region's.
  ElementsPart(const Region& region, std::vector<const ir::Value*> outputs)
      : region_(region), outputs_(std::move(outputs)) {}

  // Elements of each output; of what is appended to a state, those of the rows.
  SymInt elements() const;
  Config default_config(const Target& target) const;
  // The launch of a config, which moves so many bytes of memory. The result owns what it needs.
  std::function<LaunchCost(const Config&)> cost(double bytes) const;
  // The stores of element `linear` in the memory order of the first output.
  std::vector<Sink> sinks(Inliner& inliner, const SymInt& linear) const;
  // The statements of a workgroup's threads. `block_of` gets the number of workgroups, and gives an
  // axis for the workgroup's own number.
  Block body(const Config& config, const std::function<SymInt(const SymInt& grid)>& block_of) const;

  static std::vector<Parameter> parameters();
  static ConfigSpace space(const Target& target);

 private:
  ElementWork work() const;
  // Loads whose neighbours lie next to each other within vectors, beside those that are so
  // everywhere: of a vector that all rows share.
  double along_vectors(int64_t vector) const;
  // Vectors of elements share the loads of a serial reduction, as of a window over channels that
  // are neighbours.
  bool reduces_vectors(int64_t vector) const;

  const Region& region_;
  std::vector<const ir::Value*> outputs_;
};

}  // namespace tcc::sched
