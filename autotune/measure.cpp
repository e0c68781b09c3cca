#include "autotune/measure.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "autotune/gate.h"
#include "autotune/random_words.h"
#include "ir/tensor.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::autotune {

using runtime::BoundLaunch;
using runtime::LoadedKernel;

// The expected bytes and those of the last run, guards included.
struct RegionBench::Output {
  DType dtype;
  int64_t bytes = 0;
  std::vector<std::byte> expected, got;

  std::span<const std::byte> inner(const std::vector<std::byte>& all) const;
};

namespace {

constexpr int64_t kGuardBytes = 256;  // keeps the alignment of the output
constexpr std::byte kPoison{0xff};    // NaN in every float type
constexpr size_t kMostSets = 32;
constexpr double kSlow = 10;            // times the best
constexpr double kTimingSeconds = 0.2;  // of one candidate
constexpr double kTimerTick = 1e-9;     // no kernel takes no time
constexpr int kFewestSamples = 3, kMostSamples = 50;

int64_t buffer_bytes(const sched::Region& region, const ir::Value* value) {
  return region.layout(value).elements * size_bytes(value->dtype());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Random elements. Large buffers repeat a pattern whose length is a prime: no stride of a kernel is
// a multiple of it, so a wrong address gives a wrong value.
std::vector<std::byte> random_bytes(const ir::Value& value, int64_t bytes, double low, double high,
                                    uint64_t seed) {
  constexpr int64_t kPattern = 1000003;
  DType dtype = value.dtype();
  auto [first, last] = value.random_range.value_or(std::pair<int64_t, int64_t>{0, 100});
  if (dtype == DType::boolean) {
    first = 0;
    last = 2;
  }
  int64_t count = std::min(bytes / size_bytes(dtype), kPattern);
  RandomWords random(seed);
  uint64_t span = std::max<uint64_t>(static_cast<uint64_t>(last) - static_cast<uint64_t>(first), 1);
  std::vector<double> numbers;
  std::vector<int64_t> integers;
  for (int64_t i = 0; i < count; ++i) {
    if (is_float(dtype))
      numbers.push_back(random.uniform(low, high));
    else
      integers.push_back(static_cast<int64_t>(static_cast<uint64_t>(first) + random.below(span)));
  }
  std::vector<std::byte> data(static_cast<size_t>(bytes));
  if (is_float(dtype))
    convert(numbers.data(), DType::f64, data.data(), dtype, count);
  else
    convert(integers.data(), DType::i64, data.data(), dtype, count);
  size_t pattern = static_cast<size_t>(count * size_bytes(dtype));
  for (size_t at = pattern; at < data.size(); at += pattern)
    std::memcpy(&data[at], data.data(), std::min(pattern, data.size() - at));
  return data;
}

bool all_finite(std::span<const std::byte> bytes, DType dtype) {
  auto size = static_cast<size_t>(size_bytes(dtype));
  for (size_t at = 0; at + size <= bytes.size(); at += size) {
    double value;
    convert(&bytes[at], dtype, &value, DType::f64, 1);
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace

std::span<const std::byte> RegionBench::Output::inner(const std::vector<std::byte>& all) const {
  return std::span(all).subspan(kGuardBytes, static_cast<size_t>(bytes));
}

RegionBench::RegionBench(std::shared_ptr<runtime::Device> device, const sched::Region& region,
                         uint64_t seed)
    : device_(std::move(device)),
      region_(region),
      seed_(seed),
      combined_(combined_values(region)),
      stream_(device_->create_stream()) {
  int64_t total = 0;
  for (const ir::Value* value : region.inputs) total += buffer_bytes(region, value);
  for (const ir::Value* value : region.outputs) {
    int64_t bytes = buffer_bytes(region, value);
    total += bytes;
    outputs_.push_back({value->dtype(), bytes, {}, {}});
  }
  // More than twice the cache between two uses of one buffer; at most a quarter of the memory.
  const sched::Target& target = device_->target();
  if (!target.is_cpu) {
    total = std::max<int64_t>(total, 1);
    int64_t wanted = std::min<int64_t>(ceil_div(2 * target.l2_bytes, total) + 1, kMostSets);
    sets_ =
        static_cast<size_t>(std::clamp<int64_t>(device_->memory_bytes() / 4 / total, 1, wanted));
  }
  for (size_t set = 0; set < sets_; ++set) {
    for (const ir::Value* value : region.inputs)
      buffers_.push_back(device_->allocate(std::max<int64_t>(buffer_bytes(region, value), 1)));
    for (const Output& output : outputs_)
      buffers_.push_back(device_->allocate(output.bytes + 2 * kGuardBytes));
  }
}

RegionBench::~RegionBench() = default;

void RegionBench::fill_inputs(double low, double high) {
  size_t per_set = buffers_.size() / sets_;
  for (size_t i = 0; i < region_.inputs.size(); ++i) {
    const ir::Value* value = region_.inputs[i];
    std::vector<std::byte> data =
        random_bytes(*value, buffer_bytes(region_, value), low, high, seed_ + i);
    for (size_t set = 0; set < sets_; ++set)
      if (!data.empty()) stream_->copy_to_device(*buffers_[set * per_set + i], 0, data);
  }
}

void RegionBench::poison_outputs() {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    runtime::Buffer& buffer = *buffers_[region_.inputs.size() + i];
    stream_->fill(buffer, 0, buffer.bytes(), static_cast<uint8_t>(kPoison));
  }
}

void RegionBench::read_outputs() {
  stream_->synchronize();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = outputs_[i];
    output.got.resize(static_cast<size_t>(output.bytes + 2 * kGuardBytes));
    stream_->copy_to_host(output.got, *buffers_[region_.inputs.size() + i], 0);
  }
}

std::string RegionBench::guard_damage() {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const std::vector<std::byte>& got = outputs_[i].got;
    auto clean = [](auto begin, auto end) {
      return std::all_of(begin, end, [](std::byte b) { return b == kPoison; });
    };
    if (!clean(got.begin(), got.begin() + kGuardBytes) ||
        !clean(got.end() - kGuardBytes, got.end()))
      return str("wrote outside output ", i);
  }
  return "";
}

bool RegionBench::expected_is_finite() const {
  return std::all_of(outputs_.begin(), outputs_.end(), [](const Output& output) {
    return !is_float(output.dtype) || all_finite(output.inner(output.expected), output.dtype);
  });
}

std::vector<BoundLaunch> RegionBench::launches(const LoadedKernel& kernel, size_t count) const {
  std::vector<BoundLaunch> launches(count, {&kernel, {}});
  size_t per_set = buffers_.size() / sets_;
  for (size_t n = 0; n < count; ++n)
    for (size_t i = 0; i < per_set; ++i) {
      runtime::DeviceAddress address = buffers_[n % sets_ * per_set + i]->address();
      if (i >= region_.inputs.size()) address += kGuardBytes;
      launches[n].arguments.push_back(address);
    }
  return launches;
}

double RegionBench::time_once(const LoadedKernel& kernel) {
  return stream_->time_each(launches(kernel, 1)).at(0);
}

std::vector<double> RegionBench::time_many(const LoadedKernel& kernel, double about_seconds) {
  double fitting = kTimingSeconds / std::max(about_seconds, 1e-9);
  auto count = static_cast<size_t>(std::clamp<double>(fitting, kFewestSamples, kMostSamples));
  // The gate's run of a long kernel has warmed the device up.
  std::ptrdiff_t warm_ups = about_seconds < 0.01 ? 2 : 0;
  std::vector<double> samples =
      stream_->time_each(launches(kernel, count + static_cast<size_t>(warm_ups)));
  samples.erase(samples.begin(), samples.begin() + warm_ups);
  return samples;
}

void RegionBench::set_expected(const LoadedKernel& kernel) {
  for (auto [low, high] : {std::pair{-1.0, 1.0}, {0.1, 1.0}}) {
    fill_inputs(low, high);
    poison_outputs();
    stream_->run(launches(kernel, 1));
    read_outputs();
    if (std::string damage = guard_damage(); !damage.empty())
      fail_device("the default config ", damage);
    for (Output& output : outputs_) output.expected = output.got;
    if (expected_is_finite()) return;
  }
}

Measurement RegionBench::measure_or_throw(const LoadedKernel& kernel, double best_seconds) {
  Measurement result;
  poison_outputs();
  double first = time_once(kernel);
  read_outputs();
  result.status = Measurement::Status::wrong;
  result.reason = guard_damage();
  if (!result.reason.empty()) return result;
  for (const Output& output : outputs_) {
    GateResult gate = compare_with(output.inner(output.expected), output.inner(output.got),
                                   output.dtype, combined_);
    result.error = std::max(result.error, gate.error);
    result.reason = gate.reason;
    if (!gate.pass) return result;
  }
  // The first run may hold a software device's last translation of the kernel.
  if (first > kSlow * best_seconds) {
    double again = time_once(kernel);
    if (again > kSlow * best_seconds) {
      result.status = Measurement::Status::slow;
      result.seconds = std::max(again, kTimerTick);
      result.samples = 1;
      return result;
    }
    first = again;
  }
  std::vector<double> samples = time_many(kernel, first);
  result.status = Measurement::Status::measured;
  result.samples = static_cast<int64_t>(samples.size());
  result.seconds = std::max(median(std::move(samples)), kTimerTick);
  return result;
}

Measurement RegionBench::measure(const LoadedKernel& kernel, double best_seconds) {
  try {
    return measure_or_throw(kernel, best_seconds);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    Measurement result;
    result.reason = error.what();
    return result;
  }
}

}  // namespace tcc::autotune
