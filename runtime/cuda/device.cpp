// CUDA devices.
#include "runtime/device.h"
#include "runtime/cuda/clusters.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/imported.h"
#include "runtime/cuda/kernel.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/properties.h"
#include "runtime/cuda/recording.h"
#include "runtime/cuda/stream.h"
#include "support/error.h"

namespace tcc::runtime {
namespace cuda {
namespace {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal)
      : context_(std::make_shared<const Context>(ordinal)),
        properties_(read_properties(context_->api(), context_->device())) {
    properties_.target.clusters = count_clusters(*context_, properties_.target);
  }

  const exec::Target& target() const override { return properties_.target; }
  std::string name() const override { return context_->name(); }
  int64_t memory_bytes() const override { return properties_.memory_bytes; }
  int64_t allocated_bytes() const override { return context_->allocated_bytes(); }
  std::string pci_address() const override { return properties_.pci_address; }

  std::unique_ptr<Buffer> allocate(int64_t bytes) override {
    return std::make_unique<CudaBuffer>(context_, bytes);
  }
  std::unique_ptr<Buffer> wrap(DeviceAddress address, int64_t bytes) override {
    return std::make_unique<CudaBuffer>(context_, address, bytes);
  }
  std::unique_ptr<Buffer> import(Exported& memory, int64_t bytes) override {
    return std::make_unique<ImportedBuffer>(context_, memory, bytes);
  }
  void check(const exec::KernelBinary& binary) const override {
    check_kernel(name(), properties_.target, binary);
  }
  std::unique_ptr<LoadedKernel> load(const exec::KernelBinary& binary) override {
    return std::make_unique<CudaKernel>(
        std::make_shared<const Function>(context_, properties_.target, binary));
  }
  std::unique_ptr<Stream> create_stream() override {
    return std::make_unique<CudaStream>(context_);
  }
  bool gives_streams() const override { return true; }
  std::unique_ptr<Stream> wrap_stream(void* handle) override {
    return std::make_unique<CudaStream>(context_, static_cast<CUstream>(handle));
  }
  std::unique_ptr<Recording> record(std::span<const BoundStep> steps) override {
    auto recording = std::make_unique<CudaRecording>(context_, CheckedSteps(steps, *context_));
    if (!steps.empty()) recording->capture();
    return recording;
  }

 private:
  std::shared_ptr<const Context> context_;
  Properties properties_;
};

}  // namespace
}  // namespace cuda

namespace {

std::shared_ptr<Device> open_cuda(int ordinal) {
  return std::make_shared<cuda::CudaDevice>(ordinal);
}

DeviceList list_cuda() {
  using namespace cuda;
  DeviceList list;
  try {
    const DriverApi& api = driver();
    int count = 0;
    const CUresult counted = api.cuDeviceGetCount(&count);
    if (counted != CUDA_SUCCESS)
      list.missing.push_back("cuda: cuDeviceGetCount: " + api.describe(counted));
    for (int i = 0; i < count; ++i) {
      CUdevice device = 0;
      const CUresult got = api.cuDeviceGet(&device, i);
      if (got != CUDA_SUCCESS) fail_device("cuda:", i, ": cuDeviceGet: ", api.describe(got));
      const Properties properties = read_properties(api, device);
      list.devices.push_back(
          {str("cuda:", i), properties.description(), properties.target, properties.memory_bytes});
    }
    if (counted == CUDA_SUCCESS && count == 0)
      list.missing.push_back("cuda: the driver shows no device");
  } catch (const Error& error) { list.missing.push_back(error.what()); }
  return list;
}

const RegisterDevices registered_cuda({"cuda", 2, list_cuda, open_cuda});

}  // namespace

}  // namespace tcc::runtime
