// A device at run time: memory, kernels, streams. One interface for Vulkan, CUDA and the null
// device.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "executable/executable.h"
#include "runtime/constants.h"
#include "runtime/kernel_report.h"

namespace tcc::runtime {

// Device memory as kernels see it: CUDA's CUdeviceptr, Vulkan's buffer device address.
using DeviceAddress = uint64_t;

class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual DeviceAddress address() const = 0;
  virtual int64_t bytes() const = 0;
};

class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  // The driver's compiler says this of it.
  virtual KernelReport report() const { return {}; }
};

// A kernel on its arguments: the addresses of buffers, then scalars.
struct BoundLaunch {
  const LoadedKernel* kernel = nullptr;
  std::vector<uint64_t> arguments;
  std::array<uint32_t, 3> grid = {1, 1, 1};  // workgroups; one without any launches nothing
  std::vector<exec::MapNumbers> maps = {};   // cuda
  friend bool operator==(const BoundLaunch&, const BoundLaunch&) = default;
};
// Copies within the device's memory. Addresses need no alignment; the ranges do not overlap.
struct BoundCopy {
  DeviceAddress to = 0, from = 0;
  int64_t bytes = 0;
  friend bool operator==(const BoundCopy&, const BoundCopy&) = default;
};
// Fills whole words: address and bytes are multiples of 4.
struct BoundFill {
  DeviceAddress to = 0;
  int64_t bytes = 0;
  uint8_t value = 0;
  friend bool operator==(const BoundFill&, const BoundFill&) = default;
};
using BoundStep = std::variant<BoundLaunch, BoundCopy, BoundFill>;

// A sequence of steps, recorded once and replayed: a CUDA graph, a Vulkan command buffer. Steps run
// in order; each sees the writes of the ones before it.
class Recording {
 public:
  virtual ~Recording() = default;
};

// One stream of execution. Not thread-safe; several streams of one device may be used from several
// threads.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void run(const Recording& recording) = 0;        // asynchronous
  virtual void run(std::span<const BoundStep> steps) = 0;  // asynchronous, without recording
  virtual void copy_to_device(Buffer& to, int64_t offset,
                              std::span<const std::byte> from) = 0;  // synchronous
  virtual void copy_to_host(std::span<std::byte> to, const Buffer& from,
                            int64_t offset) = 0;  // synchronous
  virtual void fill(Buffer& buffer, int64_t offset, int64_t bytes,
                    uint8_t value) = 0;  // asynchronous
  virtual void synchronize() = 0;
  // Returns whether the caller captures the enqueued work instead of running it (cuda): nothing may
  // be allocated meanwhile.
  virtual bool is_capturing() const { return false; }
  // Calls `use` with the stream's native handle (cuda: CUstream, null: none), to enqueue on it,
  // while the device is the thread's current one. Only where Device::gives_streams().
  virtual void give(const std::function<void(void* handle)>& use);
  // These return device seconds, by its timers: of each of `steps`, run one after the other, and of
  // a recording that is replayed `repeat` times (per replay).
  virtual std::vector<double> time_each(std::span<const BoundStep> steps) = 0;
  virtual double time(const Recording& recording, int repeat) = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const exec::Target& target() const = 0;
  virtual std::string name() const = 0;  // "cuda:0", "vulkan:1", "null"
  virtual int64_t memory_bytes() const = 0;
  // Returns the bytes that the buffers of this device object take now, at least.
  virtual int64_t allocated_bytes() const = 0;
  // Whether its driver compiles kernels and runs none, for a device that is not there: load() alone
  // works. "auto" and list_devices() leave such a device out.
  virtual bool compiles_alone() const { return false; }
  // False for the null device, which has memory and runs nothing.
  virtual bool computes() const { return true; }
  // Whether its clocks fall while nothing runs, so that measurements must keep it busy.
  virtual bool dozes() const { return false; }
  virtual std::string pci_address() const { return ""; }  // "0000:3b:00.0"; "": unknown or none

  // Throws Error(device) when memory is out: nothing else is lost.
  virtual std::unique_ptr<Buffer> allocate(int64_t bytes) = 0;
  // Whether kernels may get addresses that are not of this device's buffers.
  virtual bool takes_foreign_addresses() const { return true; }
  // Wraps memory that the caller keeps. Vulkan cannot: Error(bad_input).
  virtual std::unique_ptr<Buffer> wrap(DeviceAddress address, int64_t bytes) = 0;
  // Memory that a device of another API on the same GPU can import: a file descriptor, which goes
  // with this unless it was imported, of an allocation of so many bytes.
  struct Exported {
    std::unique_ptr<Buffer> buffer;
    int file = -1;
    int64_t allocation_bytes = 0;
    Exported() = default;
    Exported(Exported&& other) noexcept;
    Exported& operator=(Exported&&) = delete;
    ~Exported();
  };
  // These throw Error(bad_input) for a device that cannot do that.
  virtual Exported allocate_exported(int64_t bytes);
  virtual std::unique_ptr<Buffer> import(Exported& memory, int64_t bytes);
  // Throws Error(device) where the device lacks what the kernel needs, as far as that shows without
  // its driver's compiler. load() does so, too.
  virtual void check(const exec::KernelBinary&) const {}
  // Thread-safe.
  virtual std::unique_ptr<LoadedKernel> load(const exec::KernelBinary& binary) = 0;
  virtual std::unique_ptr<Stream> create_stream() = 0;
  // Whether code of others may enqueue on its streams, see Stream::give().
  virtual bool gives_streams() const { return false; }
  // Wraps a stream of the caller's (cuda: CUstream); others throw Error(bad_input).
  virtual std::unique_ptr<Stream> wrap_stream(void* handle) = 0;
  virtual std::unique_ptr<Recording> record(std::span<const BoundStep> steps) = 0;

  // The programs on this device share these.
  ConstantPool& constants() { return constants_; }

 private:
  ConstantPool constants_;
};

// A device of this machine, or a kind of device that is missing and the reason.
struct DeviceEntry {
  std::string name;         // "cuda:0"
  std::string description;  // "NVIDIA H200, sm_90a, 132 SMs, 139.8 GiB"
  exec::Target target;      // as far as it is known without opening the device
  int64_t memory_bytes = 0;
};
struct DeviceList {
  std::vector<DeviceEntry> devices;
  std::vector<std::string> missing;  // "cuda: libcuda.so.1 not found"
};
DeviceList list_devices();

// Opens "cuda:N", "vulkan:N", "null", or "auto": the first device of the preferred kind that is no
// software device, else the first one. Throws Error(no_device), which lists the devices. Devices
// are opened once and shared.
std::shared_ptr<Device> open_device(std::string_view name);

// Lets open_device() find a device of the caller's by its name, as long as the device lives.
// TCC_CHECKs that no other living one has the name.
void share_device(const std::shared_ptr<Device>& device);

// The devices of one API.
struct DeviceKind {
  std::string_view name;  // "cuda"
  int preference = 0;     // kinds with a higher one are listed first, and "auto" tries them first
  DeviceList (*list)() = nullptr;  // null: there is one device, whose name has no number
  std::shared_ptr<Device> (*open)(int ordinal) = nullptr;
};
// Makes devices known, from a file of their folder:
//   const RegisterDevices registered({"cuda", 2, list_cuda, open_cuda});
class RegisterDevices {
 public:
  explicit RegisterDevices(const DeviceKind& kind);
};

// The kind of that name; TCC_CHECKs that there is one. Its open() makes a device of the caller's
// own at each call, and throws Error(no_device) with the reason when its driver is missing.
const DeviceKind& device_kind(std::string_view name);

}  // namespace tcc::runtime
