// A device that allocates host memory and runs no kernel: for tests of what surrounds kernels,
// without a driver.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "runtime/device.h"
#include "runtime/device_checks.h"
#include "support/error.h"
#include "support/system.h"

namespace tcc::runtime {
namespace {

constexpr std::align_val_t kAlignment{256};

// Counts the bytes of the device's buffers; they hold it alive.
struct Usage {
  const int64_t limit = system::memory_bytes();
  std::atomic<int64_t> bytes = 0;
};

class NullBuffer final : public Buffer {
 public:
  NullBuffer(std::shared_ptr<Usage> usage, int64_t bytes)
      : usage_(std::move(usage)), bytes_(bytes) {
    TCC_CHECK(bytes >= 0, bytes, " bytes");
    if (bytes > usage_->limit - usage_->bytes) fail();
    const size_t size = std::max<size_t>(static_cast<size_t>(bytes), 1);
    data_ = static_cast<std::byte*>(::operator new(size, kAlignment, std::nothrow));
    if (!data_) fail();
    usage_->bytes += bytes_;
  }
  // Host memory of the caller's.
  NullBuffer(DeviceAddress address, int64_t bytes)
      : bytes_(bytes), data_(reinterpret_cast<std::byte*>(address)) {}  // NOLINT
  ~NullBuffer() override {
    if (!usage_) return;
    usage_->bytes -= bytes_;
    ::operator delete(data_, kAlignment);
  }
  NullBuffer(const NullBuffer&) = delete;
  NullBuffer& operator=(const NullBuffer&) = delete;

  DeviceAddress address() const override { return reinterpret_cast<DeviceAddress>(data_); }
  int64_t bytes() const override { return bytes_; }
  std::byte* data() const { return data_; }

 private:
  [[noreturn]] void fail() const {
    fail_device("null: out of memory: ", bytes_text(bytes_), " asked for, ",
                bytes_text(usage_->bytes), " of ", bytes_text(usage_->limit), " in use");
  }

  const std::shared_ptr<Usage> usage_ = nullptr;  // null: the memory is the caller's
  const int64_t bytes_;
  std::byte* data_ = nullptr;
};

struct NullKernel final : LoadedKernel {
  explicit NullKernel(int arguments) : num_arguments(arguments) {}
  const int num_arguments;
};

struct NullRecording final : Recording {
  explicit NullRecording(std::span<const BoundStep> given) : steps(given.begin(), given.end()) {}
  const std::vector<BoundStep> steps;
};

void check_steps(std::span<const BoundStep> steps) {
  for (const BoundStep& step : steps) {
    check_words(step);
    const auto* launch = std::get_if<BoundLaunch>(&step);
    if (!launch) continue;
    const auto* kernel = dynamic_cast<const NullKernel*>(launch->kernel);
    TCC_CHECK(kernel, "a launch without a kernel of this device");
    TCC_CHECK(static_cast<int>(launch->arguments.size()) == kernel->num_arguments,
              launch->arguments.size(), " arguments for a kernel of ", kernel->num_arguments);
  }
}

// The device's addresses are the host's.
std::byte* pointer(DeviceAddress address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// Copies and fills are all that runs.
void run_each(std::span<const BoundStep> steps) {
  for (const BoundStep& step : steps) {
    if (const auto* copy = std::get_if<BoundCopy>(&step); copy && copy->bytes > 0)
      std::memcpy(pointer(copy->to), pointer(copy->from), static_cast<size_t>(copy->bytes));
    if (const auto* fill = std::get_if<BoundFill>(&step); fill && fill->bytes > 0)
      std::memset(pointer(fill->to), fill->value, static_cast<size_t>(fill->bytes));
  }
}

std::byte* data_of(const Buffer& buffer, int64_t offset, int64_t bytes) {
  const auto* ours = dynamic_cast<const NullBuffer*>(&buffer);
  TCC_CHECK(ours, "a buffer of another device");
  check_range(offset, bytes, ours->bytes());
  return ours->data() + offset;
}

class NullStream final : public Stream {
 public:
  void run(const Recording& recording) override {
    const auto* ours = dynamic_cast<const NullRecording*>(&recording);
    TCC_CHECK(ours, "a recording of another device");
    run_each(ours->steps);
  }
  void run(std::span<const BoundStep> steps) override {
    check_steps(steps);
    run_each(steps);
  }
  void copy_to_device(Buffer& to, int64_t offset, std::span<const std::byte> from) override {
    std::byte* data = data_of(to, offset, static_cast<int64_t>(from.size()));
    if (!from.empty()) std::memcpy(data, from.data(), from.size());
  }
  void copy_to_host(std::span<std::byte> to, const Buffer& from, int64_t offset) override {
    const std::byte* data = data_of(from, offset, static_cast<int64_t>(to.size()));
    if (!to.empty()) std::memcpy(to.data(), data, to.size());
  }
  void fill(Buffer& buffer, int64_t offset, int64_t bytes, uint8_t value) override {
    std::memset(data_of(buffer, offset, bytes), value, static_cast<size_t>(bytes));
  }
  void synchronize() override {}
  void give(const std::function<void(void*)>& use) override { use(nullptr); }
  std::vector<double> time_each(std::span<const BoundStep> steps) override {
    run(steps);
    return std::vector<double>(steps.size(), 0.0);
  }
  double time(const Recording& recording, int) override {
    run(recording);
    return 0;
  }
};

class NullDevice final : public Device {
 public:
  NullDevice() {
    target_.device = "null";
    target_.driver = "tcc";
    target_.unified_memory = true;
    target_.max_buffer_bytes = usage_->limit;
  }
  const exec::Target& target() const override { return target_; }
  std::string name() const override { return "null"; }
  int64_t memory_bytes() const override { return usage_->limit; }
  int64_t allocated_bytes() const override { return usage_->bytes; }
  std::unique_ptr<Buffer> allocate(int64_t bytes) override {
    return std::make_unique<NullBuffer>(usage_, bytes);
  }
  std::unique_ptr<Buffer> wrap(DeviceAddress address, int64_t bytes) override {
    return std::make_unique<NullBuffer>(address, bytes);
  }
  std::unique_ptr<LoadedKernel> load(const exec::KernelBinary& binary) override {
    return std::make_unique<NullKernel>(binary.num_arguments);
  }
  std::unique_ptr<Stream> create_stream() override { return std::make_unique<NullStream>(); }
  bool computes() const override { return false; }
  bool gives_streams() const override { return true; }  // whose work is done at once
  std::unique_ptr<Stream> wrap_stream(void*) override {
    fail_input("null: this device has no streams of the caller's");
  }
  std::unique_ptr<Recording> record(std::span<const BoundStep> steps) override {
    check_steps(steps);
    return std::make_unique<NullRecording>(steps);
  }

 private:
  const std::shared_ptr<Usage> usage_ = std::make_shared<Usage>();
  exec::Target target_;
};

std::shared_ptr<Device> open_null(int) { return std::make_shared<NullDevice>(); }

const RegisterDevices registered_null({"null", 0, nullptr, open_null});

}  // namespace

}  // namespace tcc::runtime
