// Regions of one convolution in small groups whose results have their channels as neighbours in
// memory, with what is computed of its elements.
#pragma once

#include <vector>

#include "scheduler/refusal.h"
#include "scheduler/region.h"
#include "scheduler/vectorize.h"

namespace tcc::sched {

// The convolution of such a region, of numbers as sizes.
OrRefusal<const ir::Node*> grouped_convolution(const Region& region);

// The index of an element of the image, the filter or the results. Images of one dim have no y.
std::vector<SymInt> image_index(const ir::Node& convolution, const SymInt& outer,
                                const SymInt& channel, const SymInt& y, const SymInt& x);

// Returns the values that the outputs store at the index of the convolution's element that is
// `sum`; nothing where they need other elements, too.
std::vector<Sink> convolution_results(const Region& region, const ir::Node& convolution,
                                      const std::vector<SymInt>& at, const Expr& sum);
// Whether they need no other elements.
bool has_own_results(const Region& region, const ir::Node& convolution);

}  // namespace tcc::sched
