// Regions of one convolution in small groups whose results have their channels, or the pixels of a
// row, as neighbours in memory, with what is computed of its elements.
#pragma once

#include <vector>

#include "scheduler/refusal.h"
#include "scheduler/region.h"
#include "scheduler/vectorize.h"

namespace tcc::sched {

// The dim of the results that is innermost in memory.
enum class Innermost { channels, pixels };

// The convolution of such a region, of numbers as sizes.
OrRefusal<const ir::Node*> grouped_convolution(const Region& region, Innermost innermost);

// A place in an image, a filter or the results. Those of one dim have x alone, of two y and x.
struct Pixel {
  SymInt z = 0, y = 0, x = 0;
};
std::vector<SymInt> image_index(const ir::Node& convolution, const SymInt& outer,
                                const SymInt& channel, const Pixel& at);

// Returns the values that the outputs store at the index of the convolution's element that is
// `sum`; nothing where they need other elements, too.
std::vector<Sink> convolution_results(const Region& region, const ir::Node& convolution,
                                      const std::vector<SymInt>& at, const Expr& sum);
// Whether they need no other elements.
bool has_own_results(const Region& region, const ir::Node& convolution);

}  // namespace tcc::sched
