// Samples a kernel's time: warm-up until the times are stable, then as many samples as the effort
// asks for.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "autotune/search.h"

namespace tcc::autotune {

// Runs a kernel `count` times; the device's seconds of each run.
using SampleFn = std::function<std::vector<double>(size_t count)>;

// Returns the samples, in order. `about_seconds` is the time of an earlier run. quick: 3 to 5;
// full: until the 95 % interval of the median is within 1 %, at most 50 or what fits into 0.2 s, at
// least 3. Runs of 10 ms and more need no warm-up, since the run that gave `about_seconds` was one.
std::vector<double> take_samples(const SampleFn& run, Effort effort, double about_seconds);

// Runs two kernels `count` times each, interleaved; the seconds of each run, by kernel.
using SamplePairs = std::pair<std::vector<double>, std::vector<double>>;
using SamplePairsFn = std::function<SamplePairs(size_t count)>;

// Takes pairs until both intervals are as narrow as take_samples() wants them at full effort, for
// at most twice its time. It takes at least 6 pairs, or 3 where a run takes a second or more.
SamplePairs take_pairs(const SamplePairsFn& run, double about_seconds);

}  // namespace tcc::autotune
