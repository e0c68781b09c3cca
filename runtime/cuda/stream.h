// A stream of the device's primary context, tcc's own or the caller's.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/handles.h"
#include "runtime/cuda/repeats.h"
#include "runtime/cuda/staging.h"
#include "runtime/device.h"

namespace tcc::runtime::cuda {

class CudaStream final : public Stream {
 public:
  explicit CudaStream(std::shared_ptr<const Context> context);
  // The caller's stream, which must outlive this; nullptr is the default stream. Throws
  // Error(bad_input) when it belongs to another context than the device's primary one, which CUDA's
  // runtime uses.
  CudaStream(std::shared_ptr<const Context> context, CUstream handle);

  // `run` and `fill` wait for nothing, and allocate nothing in a captured stream: they may be
  // captured. In a captured stream, a recording becomes the launches that it was made of.
  void run(const Recording& recording) override;
  void run(std::span<const BoundStep> steps) override;
  void copy_to_device(Buffer& to, int64_t offset, std::span<const std::byte> from) override;
  void copy_to_host(std::span<std::byte> to, const Buffer& from, int64_t offset) override;
  void fill(Buffer& buffer, int64_t offset, int64_t bytes, uint8_t value) override;
  void synchronize() override;
  bool is_capturing() const override;
  void give(const std::function<void(void* handle)>& use) override;
  std::vector<double> time_each(std::span<const BoundStep> steps) override;
  double time(const Recording& recording, int repeat) override;

 private:
  std::shared_ptr<const Context> context_;
  std::unique_ptr<OwnedStream> owned_;  // none: the caller's
  CUstream handle_ = nullptr;
  Staging staging_;
  Repeats repeats_;
};

}  // namespace tcc::runtime::cuda
