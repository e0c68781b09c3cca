// The null device under another name, for devices that tests add.
#pragma once

#include "runtime/device.h"

namespace tcc::runtime::testing {

class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(std::string name) : name_(std::move(name)) {}

  const exec::Target& target() const override { return null_->target(); }
  std::string name() const override { return name_; }
  int64_t memory_bytes() const override { return null_->memory_bytes(); }
  int64_t allocated_bytes() const override { return null_->allocated_bytes(); }
  std::unique_ptr<Buffer> allocate(int64_t bytes) override { return null_->allocate(bytes); }
  std::unique_ptr<Buffer> wrap(DeviceAddress address, int64_t bytes) override {
    return null_->wrap(address, bytes);
  }
  std::unique_ptr<LoadedKernel> load(const exec::KernelBinary& binary) override {
    return null_->load(binary);
  }
  std::unique_ptr<Stream> create_stream() override { return null_->create_stream(); }
  std::unique_ptr<Stream> wrap_stream(void* handle) override { return null_->wrap_stream(handle); }
  std::unique_ptr<Recording> record(std::span<const BoundStep> steps) override {
    return null_->record(steps);
  }

 private:
  const std::string name_;
  const std::shared_ptr<Device> null_ = device_kind("null").open(0);
};

}  // namespace tcc::runtime::testing
