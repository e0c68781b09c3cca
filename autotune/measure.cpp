// local_bench: one job on one device in this process. Its buffers, filled with random data, and
// what kernels do with them.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "autotune/bench.h"
#include "autotune/clocks.h"
#include "autotune/gate.h"
#include "autotune/sampling.h"
#include "autotune/statistics.h"
#include "support/checked.h"
#include "support/error.h"
#include "support/hash.h"

namespace tcc::autotune {
namespace {

using exec::StandaloneSequence;
using runtime::BoundLaunch;
using runtime::BoundStep;
using runtime::LoadedKernel;

constexpr double kAwake = 0.85;  // of the highest clock
constexpr double kWakeSeconds = 0.3, kWakeStep = 0.005;
constexpr double kBreath = 0.002;     // seconds of work of a device that waits
constexpr int64_t kGuardBytes = 256;  // keeps the alignment of the output
constexpr std::byte kPoison{0xff};    // NaN in every float type
constexpr size_t kMostSets = 32;
constexpr double kSlow = 10;         // times the best
constexpr double kTimerTick = 1e-9;  // no kernel takes no time
constexpr size_t kDuelists = 3;

// Inside a handler.
Measurement refused(const Error& error) {
  // A bug of tcc's is no verdict on a kernel.
  if (error.kind() == ErrorKind::internal) throw;
  Measurement result;
  result.reason = error.what();
  return result;
}

void summarize(Measurement& result, std::vector<double> samples) {
  result.status = Measurement::Status::measured;
  for (double& sample : samples) sample = std::max(sample, kTimerTick);
  result.seconds = median(samples);
  const Interval interval = median_interval(samples);
  result.low = interval.low;
  result.high = interval.high;
  result.samples = std::move(samples);
}

class LocalBench final : public Bench {
 public:
  LocalBench(std::shared_ptr<runtime::Device> device, BenchJob job);

  Measurement baseline(const StandaloneSequence& kernel) override;
  Measurement measure(const StandaloneSequence& kernel, Effort effort,
                      double best_seconds) override;
  std::pair<Measurement, Measurement> duel(const StandaloneSequence& incumbent,
                                           const StandaloneSequence& challenger) override;

 private:
  // The expected bytes and those of the last run, guards included.
  struct Output {
    int64_t bytes = 0;
    std::vector<std::byte> expected, got;
    std::span<const std::byte> inner(const std::vector<std::byte>& all) const {
      return std::span(all).subspan(kGuardBytes, static_cast<size_t>(bytes));
    }
  };

  void allocate();
  void fill_inputs();
  struct Loaded {
    struct Launch {
      std::shared_ptr<LoadedKernel> kernel;
      BoundLaunch launch;        // all but the buffers' addresses
      std::vector<int> buffers;  // as StandaloneSequence::Launch has them
      std::vector<uint64_t> scalars;
    };
    std::vector<Launch> launches;
    std::vector<std::unique_ptr<runtime::Buffer>> workspaces;  // with guards
    std::vector<BoundStep> fills;                              // of workspaces

    size_t steps() const { return fills.size() + launches.size(); }
  };
  // A run of kernels on one of the sets of buffers.
  struct Run {
    const Loaded* kernels;
    size_t set;
  };
  Loaded load(const StandaloneSequence& kernel) const;
  // One that stays loaded for the next duels: a software device translates a kernel, for seconds,
  // whenever it is loaded anew.
  const Loaded& duelist(const StandaloneSequence& kernel);
  std::vector<BoundStep> steps_of(std::span<const Run> runs) const;
  // Device seconds of each of the runs, one after the other: of all its steps together.
  std::vector<double> time_runs(std::span<const Run> runs);
  double time_once(const Loaded& kernel);
  double time_awake(const Loaded& kernel);
  void keep_awake() override;
  // Runs the kernel once on poisoned outputs and reads them. Its time says little: a software
  // device translates a kernel at its first launch.
  void run_poisoned(const Loaded& kernel);
  // Guards, the expected outputs and the reference: into status, error and reason.
  bool check(Measurement& result, const Loaded& kernel) const;
  void time(Measurement& result, const Loaded& kernel, Effort effort, double about_seconds);

  const std::shared_ptr<runtime::Device> device_;
  const BenchJob job_;
  const std::unique_ptr<runtime::Stream> stream_;
  // One set after the other, each the job's inputs, then its outputs.
  std::vector<std::unique_ptr<runtime::Buffer>> buffers_;
  std::vector<Output> outputs_;
  size_t sets_ = 1, per_set_ = 0, next_set_ = 0;
  bool has_expected_ = false;
  // Kernels by hash, in the order of their last use. Each stays at its address while others are
  // added and removed.
  std::vector<std::pair<uint64_t, std::unique_ptr<Loaded>>> duelists_;
  std::optional<Loaded> baseline_;  // keeps a device's clocks up
  double baseline_seconds_ = 0;
};

LocalBench::LocalBench(std::shared_ptr<runtime::Device> device, BenchJob job)
    : device_(std::move(device)), job_(std::move(job)), stream_(device_->create_stream()) {
  allocate();
  fill_inputs();
}

int64_t bytes_of(DType dtype, int64_t elements) {
  const auto bytes = checked_mul(elements, size_bytes(dtype));
  if (!bytes || *bytes < 0) fail_input("a buffer of ", elements, " ", name(dtype), "s");
  return *bytes;
}

void LocalBench::allocate() {
  double total = 1;
  for (const BenchInput& input : job_.inputs)
    total += static_cast<double>(bytes_of(input.dtype, input.elements));
  for (const BenchOutput& output : job_.outputs) {
    outputs_.push_back({bytes_of(output.dtype, output.elements), {}, {}});
    total += static_cast<double>(outputs_.back().bytes);
  }
  // More than twice the cache between two uses of one buffer; at most a quarter of the memory.
  const sched::Target& target = device_->target();
  if (!target.is_cpu) {
    const double wanted = std::ceil(2 * static_cast<double>(target.l2_bytes) / total) + 1;
    const double fitting = static_cast<double>(device_->memory_bytes()) / 4 / total;
    sets_ = static_cast<size_t>(std::clamp(std::min(wanted, fitting), 1.0, double{kMostSets}));
  }
  per_set_ = job_.inputs.size() + job_.outputs.size();
  for (size_t set = 0; set < sets_; ++set) {
    for (const BenchInput& input : job_.inputs)
      buffers_.push_back(
          device_->allocate(std::max<int64_t>(bytes_of(input.dtype, input.elements), 1)));
    for (const Output& output : outputs_)
      buffers_.push_back(device_->allocate(output.bytes + 2 * kGuardBytes));
  }
}

void LocalBench::fill_inputs() {
  for (size_t i = 0; i < job_.inputs.size(); ++i) {
    const std::vector<std::byte> data = input_data(job_, i);
    for (size_t set = 0; set < sets_; ++set)
      if (!data.empty()) stream_->copy_to_device(*buffers_[set * per_set_ + i], 0, data);
  }
}

LocalBench::Loaded LocalBench::load(const StandaloneSequence& sequence) const {
  if (static_cast<size_t>(std::max(sequence.arguments, 0)) != per_set_)
    fail_input("a kernel of ", sequence.arguments, " arguments where '", job_.name, "' has ",
               per_set_);
  Loaded loaded;
  const exec::Sizes numbers;
  for (const exec::Workspace& workspace : sequence.workspaces) {
    const int64_t bytes = numbers.of(workspace.bytes());
    const auto& buffer = loaded.workspaces.emplace_back(device_->allocate(bytes + 2 * kGuardBytes));
    if (workspace.zeroed && bytes > 0)
      loaded.fills.emplace_back(runtime::BoundFill{buffer->address() + kGuardBytes, bytes, 0});
  }
  for (const auto& [kernel, buffers, times] : sequence.launches) {
    Loaded::Launch launch;
    launch.kernel = device_->load(kernel);
    launch.launch.kernel = launch.kernel.get();
    launch.launch.grid = numbers.of(kernel.grid);
    for (const exec::TensorMap& map : kernel.maps) launch.launch.maps.push_back(numbers.of(map));
    launch.buffers = buffers;
    for (const exec::Scalar& scalar : kernel.scalars)
      launch.scalars.push_back(static_cast<uint64_t>(numbers.of(scalar.value)));
    for (int64_t n = 0, count = numbers.of(times); n < count; ++n) {
      if (!times.is(1)) launch.scalars.back() = static_cast<uint64_t>(n);
      loaded.launches.push_back(launch);
    }
  }
  return loaded;
}

std::vector<BoundStep> LocalBench::steps_of(std::span<const Run> runs) const {
  std::vector<BoundStep> steps;
  for (const auto& [kernels, set] : runs) {
    steps.insert(steps.end(), kernels->fills.begin(), kernels->fills.end());
    for (const Loaded::Launch& launch : kernels->launches) {
      BoundLaunch bound = launch.launch;
      for (const int number : launch.buffers) {
        const auto i = static_cast<size_t>(number);
        const bool is_workspace = i >= per_set_;
        const runtime::Buffer& buffer =
            is_workspace ? *kernels->workspaces[i - per_set_] : *buffers_[set * per_set_ + i];
        const uint64_t inner = i < job_.inputs.size() ? 0 : kGuardBytes;
        bound.arguments.push_back(buffer.address() + inner);
      }
      bound.arguments.insert(bound.arguments.end(), launch.scalars.begin(), launch.scalars.end());
      steps.emplace_back(std::move(bound));
    }
  }
  return steps;
}

std::vector<double> LocalBench::time_runs(std::span<const Run> runs) {
  const std::vector<double> each = stream_->time_each(steps_of(runs));
  std::vector<double> seconds;
  auto step = each.begin();
  for (const Run& run : runs) {
    const auto end = step + static_cast<ptrdiff_t>(run.kernels->steps());
    seconds.push_back(std::accumulate(step, end, 0.0));
    step = end;
  }
  return seconds;
}

double LocalBench::time_once(const Loaded& kernel) {
  const Run once = {&kernel, 0};
  return time_runs({&once, 1}).at(0);
}

// A GPU that waited for a compiler has lowered its clocks, and takes milliseconds of work to raise
// them again. Returns the seconds of one run at the clocks that were reached.
double LocalBench::time_awake(const Loaded& kernel) {
  double about = time_once(kernel);
  const std::string pci = device_->pci_address();
  const double enough = kAwake * highest_sm_mhz(pci);
  double worked = 0;
  for (Clocks now = read_clocks(pci);
       now.sm_mhz > 0 && now.sm_mhz < enough && worked < kWakeSeconds; now = read_clocks(pci)) {
    if (!now.throttle.empty()) break;  // it will not be faster
    const auto count = static_cast<size_t>(std::clamp(kWakeStep / about, 1.0, 1000.0));
    const std::vector<double> seconds = time_runs(std::vector<Run>(count, {&kernel, 0}));
    for (const double s : seconds) worked += s;
    about = seconds.back();
  }
  return about;
}

void LocalBench::run_poisoned(const Loaded& kernel) {
  const size_t first_output = job_.inputs.size();
  for (size_t k = 0; k < outputs_.size(); ++k) {
    runtime::Buffer& buffer = *buffers_[first_output + k];
    stream_->fill(buffer, 0, buffer.bytes(), static_cast<uint8_t>(kPoison));
  }
  for (const auto& workspace : kernel.workspaces)
    stream_->fill(*workspace, 0, workspace->bytes(), static_cast<uint8_t>(kPoison));
  const Run once = {&kernel, 0};
  stream_->run(steps_of({&once, 1}));
  stream_->synchronize();
  for (size_t k = 0; k < outputs_.size(); ++k) {
    Output& output = outputs_[k];
    output.got.resize(static_cast<size_t>(output.bytes + 2 * kGuardBytes));
    stream_->copy_to_host(output.got, *buffers_[first_output + k], 0);
  }
}

bool LocalBench::check(Measurement& result, const Loaded& kernel) const {
  result.status = Measurement::Status::wrong;
  const auto clean = [](auto begin, auto end) {
    return std::all_of(begin, end, [](std::byte b) { return b == kPoison; });
  };
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const std::vector<std::byte>& got = outputs_[k].got;
    if (clean(got.begin(), got.begin() + kGuardBytes) && clean(got.end() - kGuardBytes, got.end()))
      continue;
    result.reason = str("wrote outside output ", k);
    return false;
  }
  for (size_t k = 0; k < kernel.workspaces.size(); ++k) {
    const runtime::Buffer& workspace = *kernel.workspaces[k];
    std::vector<std::byte> got(static_cast<size_t>(workspace.bytes()));
    stream_->copy_to_host(got, workspace, 0);
    if (clean(got.begin(), got.begin() + kGuardBytes) && clean(got.end() - kGuardBytes, got.end()))
      continue;
    result.reason = str("wrote outside workspace ", k);
    return false;
  }
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const Output& output = outputs_[k];
    std::vector<GateResult> gates;
    if (has_expected_)
      gates.push_back(compare_with(output.inner(output.expected), output.inner(output.got),
                                   job_.outputs[k], job_.combined));
    // The null device computes nothing that could be right.
    if (device_->target().api != sched::Api::null)
      gates.push_back(compare_with_reference(job_, k, output.inner(output.got)));
    for (const GateResult& gate : gates) {
      result.error = std::max(result.error, gate.error);
      result.reason =
          outputs_.size() > 1 && !gate.pass ? str("output ", k, ": ", gate.reason) : gate.reason;
      if (!gate.pass) return false;
    }
  }
  return true;
}

void LocalBench::time(Measurement& result, const Loaded& kernel, Effort effort,
                      double about_seconds) {
  const auto run = [&](size_t count) {
    std::vector<Run> runs;
    for (size_t n = 0; n < count; ++n) runs.push_back({&kernel, next_set_++ % sets_});
    return time_runs(runs);
  };
  summarize(result, take_samples(run, effort, about_seconds));
  result.clocks = read_clocks(device_->pci_address());
}

Measurement LocalBench::baseline(const StandaloneSequence& binary) {
  try {
    Measurement result;
    auto kernel = load(binary);
    has_expected_ = false;
    run_poisoned(kernel);
    if (!check(result, kernel)) return result;
    for (Output& output : outputs_) output.expected = std::move(output.got);
    has_expected_ = true;
    baseline_seconds_ = time_awake(kernel);
    time(result, kernel, Effort::full, baseline_seconds_);
    if (device_->dozes()) baseline_ = std::move(kernel);
    return result;
  } catch (const Error& error) { return refused(error); }
}

void LocalBench::keep_awake() {
  if (!baseline_ || baseline_seconds_ <= 0) return;
  const auto count = static_cast<size_t>(std::clamp(kBreath / baseline_seconds_, 1.0, 1000.0));
  stream_->run(steps_of(std::vector<Run>(count, {&*baseline_, 0})));
  stream_->synchronize();
}

Measurement LocalBench::measure(const StandaloneSequence& binary, Effort effort,
                                double best_seconds) {
  TCC_CHECK(has_expected_, job_.name, " is measured without a baseline");
  try {
    Measurement result;
    const auto kernel = load(binary);
    run_poisoned(kernel);
    if (!check(result, kernel)) return result;
    const double about = time_awake(kernel);
    if (about > kSlow * best_seconds) {
      summarize(result, {about});
      result.status = Measurement::Status::slow;
      result.reason = str("more than ", kSlow, " times slower than the best");
      return result;
    }
    time(result, kernel, effort, about);
    return result;
  } catch (const Error& error) { return refused(error); }
}

std::pair<Measurement, Measurement> LocalBench::duel(const StandaloneSequence& incumbent,
                                                     const StandaloneSequence& challenger) {
  try {
    const Loaded &a = duelist(incumbent), &b = duelist(challenger);
    // a b b a a b b ...: neither always follows the other.
    const auto run = [&](size_t count) {
      std::vector<Run> runs;
      for (size_t n = 0; n < 2 * count; ++n)
        runs.push_back({n % 4 == 0 || n % 4 == 3 ? &a : &b, next_set_++ % sets_});
      const std::vector<double> seconds = time_runs(runs);
      SamplePairs pairs;
      for (size_t n = 0; n < seconds.size(); ++n)
        (n % 4 == 0 || n % 4 == 3 ? pairs.first : pairs.second).push_back(seconds[n]);
      return pairs;
    };
    run(1);  // translates them
    const double about = (time_awake(a) + time_once(b)) / 2;
    SamplePairs samples = take_pairs(run, about);
    std::pair<Measurement, Measurement> results;
    summarize(results.first, std::move(samples.first));
    summarize(results.second, std::move(samples.second));
    results.first.clocks = results.second.clocks = read_clocks(device_->pci_address());
    return results;
  } catch (const Error& error) {
    duelists_.clear();
    return {refused(error), refused(error)};
  }
}

const LocalBench::Loaded& LocalBench::duelist(const StandaloneSequence& sequence) {
  Hasher hasher;
  for (const auto& [kernel, buffers, times] : sequence.launches) {
    const std::string_view code(reinterpret_cast<const char*>(kernel.code.data()),
                                kernel.code.size());
    hasher.add(kernel.entry).add(kernel.source).add(code).add(kernel.config);
  }
  const uint64_t key = hasher.digest().low;
  auto found = std::ranges::find(duelists_, key, &decltype(duelists_)::value_type::first);
  if (found == duelists_.end()) {
    if (duelists_.size() == kDuelists) duelists_.erase(duelists_.begin());
    duelists_.emplace_back(key, std::make_unique<Loaded>(load(sequence)));
    found = duelists_.end() - 1;
  }
  std::rotate(found, found + 1, duelists_.end());
  return *duelists_.back().second;
}

}  // namespace

std::string_view name(Measurement::Status status) {
  using Status = Measurement::Status;
  switch (status) {
    case Status::measured: return "measured";
    case Status::slow: return "slow";
    case Status::wrong: return "wrong";
    case Status::refused: return "refused";
    case Status::hung: return "hung";
    case Status::crashed: return "crashed";
  }
  throw InternalError("unknown status of a measurement");
}

std::unique_ptr<Bench> local_bench(std::shared_ptr<runtime::Device> device, BenchJob job) {
  return std::make_unique<LocalBench>(std::move(device), std::move(job));
}

}  // namespace tcc::autotune
