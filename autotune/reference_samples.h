// The expected outputs of a region are computed on the CPU: small outputs as a whole, large ones at
// seeded samples.
#pragma once

#include <span>
#include <vector>

#include "autotune/bench.h"
#include "scheduler/region.h"

namespace tcc::autotune {

struct ReferenceSamples {
  std::vector<ReferenceSample> samples;  // by output, then by element
  bool finite = true;                    // all floats, in f64 and rounded step by step
  // For each output: the coarsest float type that a value passes through, if it is coarser than the
  // compute type. f16 stands for tf32, where matrix units may read that.
  std::vector<std::optional<DType>> rounded;
  // For each output: BenchOutput::noise.
  std::vector<double> noise;
};

// Up to 512 elements of each output, else about 200: the first, the last, some on every border and
// some anywhere; fewer where each costs much (an element of a long reduction), but at least one.
// Computed from the region's loop expressions in f64, with the inputs of `job`; places[i] is the
// place among them of the region's input i, and without places the order is the same. Where
// rounding decides (the index of a maximum among nearly equal ones, the floor of a number just
// below the next) a sample says nothing and is left out; where sums cancel, noise says how far
// results may differ.
ReferenceSamples reference_samples(const sched::Region& region, const BenchJob& job,
                                   std::span<const size_t> places = {});

}  // namespace tcc::autotune
