// Elements of the outputs of a region whose op a template takes whole, or that suppresses,
// computed on the CPU: no loop expression has them.
#pragma once

#include <span>
#include <vector>

#include "autotune/sort_samples.h"

namespace tcc::autotune {

class WholeOpSamples {
 public:
  // Interprets the region on inputs that `buffers` repeat, all of it: such regions are small.
  WholeOpSamples(const sched::Region& region, std::span<const ExprBuffer> buffers);

  // Returns the samples of an output of that number.
  std::vector<SampledElement> at(size_t output,
                                 std::span<const std::vector<int64_t>> elements) const;

 private:
  std::vector<ir::RefTensor> ideal_, rounded_, noisy_;
};

// The region alone, as a graph of its own, with its inputs, constants and outputs in their order.
ir::Graph graph_of(const sched::Region& region);

// Whether the region has such an op.
bool has_whole_op(const sched::Region& region);

}  // namespace tcc::autotune
