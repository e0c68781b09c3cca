// Measures kernels that compute the same thing. A BenchJob describes their inputs and outputs as
// plain data; a Bench runs them, in this process or in a worker.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autotune/search.h"
#include "executable/executable.h"
#include "ir/dtype.h"
#include "runtime/device.h"
#include "scheduler/region.h"

namespace tcc::autotune {

// One input buffer and how it is filled: floats uniform in [low, high), integers in
// [int_low, int_high), both from the job's seed and the input's number.
struct BenchInput {
  DType dtype = DType::f32;
  int64_t elements = 0;
  double low = -1, high = 1;
  int64_t int_low = 0, int_high = 100;
};

struct BenchOutput {
  DType dtype = DType::f32;
  int64_t elements = 0;
  // A type that values are cast to on their way, or summed about as coarsely as, where that is
  // coarser than `dtype`: it widens the gate's tolerance.
  std::optional<DType> rounded = {};
  // This is the RMSE that rounding noise gives its elements: large where sums cancel afterwards.
  double noise = 0;
};

// An element that the reference computed, in f64.
struct ReferenceSample {
  int output = 0;
  int64_t element = 0;  // in the buffer
  double value = 0;
  friend bool operator==(const ReferenceSample&, const ReferenceSample&) = default;
};

// A measurement needs nothing but this data: no region, template or pointer. Kernels' arguments are
// the inputs, then the outputs; workspaces are made with the kernels.
struct BenchJob {
  std::string name;
  std::vector<BenchInput> inputs;
  std::vector<BenchOutput> outputs;
  double combined = 1;  // see gate.h
  uint64_t seed = 0;
  // These are whole outputs where they are small, and seeded samples of large ones.
  std::vector<ReferenceSample> reference;
};

// Returns the elements of input `i`. Large buffers repeat a pattern whose length is a prime: no
// stride of a kernel is a multiple of it, so a wrong address gives a wrong value.
std::vector<std::byte> input_data(const BenchJob& job, size_t i);

// Makes the job of a region; its reference samples are computed here, on the CPU. Floats are drawn
// from [0.1, 1) where [-1, 1) gives the reference NaNs or infinities.
BenchJob bench_job(const sched::Region& region, uint64_t seed);

// Clocks at the end of a measurement, where the driver reports them; 0: unknown.
struct Clocks {
  double sm_mhz = 0, memory_mhz = 0;
  std::string throttle;    // "" or the driver's reasons, "power cap"
  double power_watts = 0;  // of the whole board
};

struct Measurement {
  enum class Status : uint8_t {
    measured,
    slow,     // far slower than the best so far: timed once
    wrong,    // another result than expected, or bytes outside an output were written
    refused,  // the compiler, the driver or the device did not take it
    hung,     // ran past its limit; the process was replaced
    crashed,  // the measuring process died, or the device was lost for it
  };
  Status status = Status::refused;
  double seconds = 0;           // median on the device; measured and slow
  double low = 0, high = 0;     // 95 % interval of the median, by bootstrap
  std::vector<double> samples;  // seconds, in the order in which they were taken
  double error = 0;             // RMSE against the expected outputs over its limit: at most 1
  Clocks clocks;
  std::string reason;  // of every status but `measured`
};
std::string_view name(Measurement::Status status);  // "measured", "slow", ...

// One job on one device.
class Bench {
 public:
  virtual ~Bench() = default;
  // Runs the default kernel, compares its outputs with the reference, keeps them (every candidate
  // is compared with them), and times it at full effort.
  virtual Measurement baseline(const exec::StandaloneSequence& kernel) = 0;
  // Runs `kernel` on poisoned outputs with guard bytes around them, compares, and times it unless
  // it is more than 10 times slower than `best_seconds` (infinity: none is known).
  virtual Measurement measure(const exec::StandaloneSequence& kernel, Effort effort,
                              double best_seconds) = 0;
  // Times two kernels that passed before, interleaved, so that drift hits both. They are not
  // compared again: `error` is 0.
  virtual std::pair<Measurement, Measurement> duel(const exec::StandaloneSequence& incumbent,
                                                   const exec::StandaloneSequence& challenger) = 0;
  // Keeps a device busy for a few milliseconds between measurements, if it lowers its clocks while
  // it waits and would take tenths of a second to raise them. Other devices do nothing.
  virtual void keep_awake() {}
};

// Measures in this process, which a kernel that hangs or crashes takes with it. Throws
// Error(device) when the buffers cannot be had.
std::unique_ptr<Bench> local_bench(std::shared_ptr<runtime::Device> device, BenchJob job);

struct WorkerOptions {
  double limit_seconds = 30;  // of one measurement, the worker's start apart
  // A worker whose resident memory candidates have made grow by more is replaced before the next
  // one.
  int64_t growth_bytes = int64_t{1} << 30;
  // "": TCC_WORKER, else tcc-worker beside the running program or the library.
  std::string program;
};

// A worker process that measures on one device, replaced when it crashes, hangs, loses the device
// or grows past bounds. The device is opened in the worker only. Its benches may be used from
// several threads: it does one thing at a time.
class WorkerPool {
 public:
  virtual ~WorkerPool() = default;
  virtual std::unique_ptr<Bench> bench(BenchJob job) = 0;  // outlived by the pool
  virtual int replaced() const = 0;                        // workers that were lost so far
};
// `device` as runtime::open_device takes it ("cuda:0"). Throws Error(no_device) where it is
// missing, Error(device) without a worker program.
std::unique_ptr<WorkerPool> make_worker_pool(const std::string& device,
                                             const WorkerOptions& options = {});

}  // namespace tcc::autotune
