// One region on one device: its buffers, filled with random data, and what its kernels do with
// them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "scheduler/region.h"

namespace tcc::autotune {

struct Measurement {
  enum class Status : uint8_t {
    measured,
    slow,    // far slower than the best so far: timed once
    wrong,   // another result than expected, or bytes outside an output were written
    failed,  // the device refused it
  };
  Status status = Status::failed;
  double seconds = 0;  // median on the device; measured and slow
  int64_t samples = 0;
  double error = 0;    // RMSE against the expected outputs over its limit: at most 1
  std::string reason;  // wrong and failed
};

class RegionBench {
 public:
  // Allocates the region's buffers: inputs, and outputs with guard bytes on both sides; several
  // sets that are used in turn where they fit, so that a GPU's L2 cache is cold. Throws
  // Error(device) when memory is out.
  RegionBench(std::shared_ptr<runtime::Device> device, const sched::Region& region, uint64_t seed);
  ~RegionBench();

  // Draws the inputs, runs `kernel` and keeps what it writes as the expected outputs. The draw is
  // repeated with positive numbers when an output has NaNs or infinities. Throws Error(device) when
  // the device fails, or when the kernel writes beside its outputs.
  void set_expected(const runtime::LoadedKernel& kernel);

  // Runs `kernel` on poisoned outputs, compares, and times it unless it is more than 10 times
  // slower than `best_seconds` (infinity: none is known). Never throws Error(device): that is
  // status failed.
  Measurement measure(const runtime::LoadedKernel& kernel, double best_seconds);

 private:
  struct Output;

  void fill_inputs(double low, double high);
  void poison_outputs();
  void read_outputs();
  // "" or which output's surroundings were written.
  std::string guard_damage();
  bool expected_is_finite() const;
  std::vector<runtime::BoundLaunch> launches(const runtime::LoadedKernel& kernel,
                                             size_t count) const;
  double time_once(const runtime::LoadedKernel& kernel);
  std::vector<double> time_many(const runtime::LoadedKernel& kernel, double about_seconds);
  Measurement measure_or_throw(const runtime::LoadedKernel& kernel, double best_seconds);

  std::shared_ptr<runtime::Device> device_;
  const sched::Region& region_;
  uint64_t seed_;
  double combined_;
  std::unique_ptr<runtime::Stream> stream_;
  // One set after the other, each the region's inputs, then its outputs.
  std::vector<std::unique_ptr<runtime::Buffer>> buffers_;
  std::vector<Output> outputs_;
  size_t sets_ = 1;
};

}  // namespace tcc::autotune
