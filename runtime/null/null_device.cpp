// A device that allocates host memory and runs no kernel: for tests of what surrounds kernels,
// without a driver.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "runtime/device.h"
#include "runtime/device_checks.h"
#include "support/error.h"

namespace tcc::runtime {
namespace {

constexpr size_t kAlignment = 256;

int64_t host_memory_bytes() {
  return int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGE_SIZE);
}

// How much the device's buffers take together; they hold it alive.
struct Usage {
  const int64_t limit = host_memory_bytes();
  std::atomic<int64_t> bytes = 0;
};

class NullBuffer final : public Buffer {
 public:
  NullBuffer(std::shared_ptr<Usage> usage, int64_t bytes)
      : usage_(std::move(usage)), bytes_(bytes) {
    TCC_CHECK(bytes >= 0, bytes, " bytes");
    if (bytes > usage_->limit - usage_->bytes) fail();
    const size_t size = (static_cast<size_t>(bytes) / kAlignment + 1) * kAlignment;
    data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
    if (!data_) fail();
    usage_->bytes += bytes_;
  }
  ~NullBuffer() override {
    usage_->bytes -= bytes_;
    std::free(data_);
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

  const std::shared_ptr<Usage> usage_;
  const int64_t bytes_;
  std::byte* data_ = nullptr;
};

struct NullKernel final : LoadedKernel {
  explicit NullKernel(int arguments) : num_arguments(arguments) {}
  const int num_arguments;
};

struct NullRecording final : Recording {
  explicit NullRecording(std::span<const BoundLaunch> given)
      : launches(given.begin(), given.end()) {}
  const std::vector<BoundLaunch> launches;
};

void check_launches(std::span<const BoundLaunch> launches) {
  for (const BoundLaunch& launch : launches) {
    if (is_copy(launch)) continue;
    const auto* kernel = dynamic_cast<const NullKernel*>(launch.kernel);
    TCC_CHECK(kernel, "a launch without a kernel of this device");
    TCC_CHECK(static_cast<int>(launch.arguments.size()) == kernel->num_arguments,
              launch.arguments.size(), " arguments for a kernel of ", kernel->num_arguments);
  }
}

// Copies are all that runs.
void copy_each(std::span<const BoundLaunch> launches) {
  for (const BoundLaunch& launch : launches)
    if (is_copy(launch) && launch.bytes > 0)
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the device's addresses are the host's.
      std::memcpy(reinterpret_cast<void*>(launch.arguments[0]),
                  // NOLINTNEXTLINE(performance-no-int-to-ptr)
                  reinterpret_cast<const void*>(launch.arguments[1]),
                  static_cast<size_t>(launch.bytes));
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
    copy_each(ours->launches);
  }
  void run(std::span<const BoundLaunch> launches) override {
    check_launches(launches);
    copy_each(launches);
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
  std::vector<double> time_each(std::span<const BoundLaunch> launches) override {
    run(launches);
    return std::vector<double>(launches.size(), 0.0);
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
  const sched::Target& target() const override { return target_; }
  std::string name() const override { return "null"; }
  int64_t memory_bytes() const override { return usage_->limit; }
  std::unique_ptr<Buffer> allocate(int64_t bytes) override {
    return std::make_unique<NullBuffer>(usage_, bytes);
  }
  std::unique_ptr<Buffer> wrap(DeviceAddress, int64_t) override {
    fail_input("null: this device cannot use memory that it did not allocate");
  }
  std::unique_ptr<LoadedKernel> load(const sched::KernelBinary& binary) override {
    return std::make_unique<NullKernel>(binary.num_arguments);
  }
  std::unique_ptr<Stream> create_stream() override { return std::make_unique<NullStream>(); }
  std::unique_ptr<Stream> wrap_stream(void*) override {
    fail_input("null: this device has no streams of the caller's");
  }
  std::unique_ptr<Recording> record(std::span<const BoundLaunch> launches) override {
    check_launches(launches);
    return std::make_unique<NullRecording>(launches);
  }

 private:
  const std::shared_ptr<Usage> usage_ = std::make_shared<Usage>();
  sched::Target target_;
};

}  // namespace

std::shared_ptr<Device> open_null() { return std::make_shared<NullDevice>(); }

}  // namespace tcc::runtime
