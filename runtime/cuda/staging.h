// Copies between the device and ordinary host memory through two page-locked buffers, so that the
// host's copy of one piece overlaps the device's copy of the other: large transfers run at the
// speed of the bus.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/context.h"
#include "runtime/cuda/handles.h"

namespace tcc::runtime::cuda {

// It belongs to one stream and is not thread-safe. Its memory (2 x 16 MiB) is taken by the first
// transfer that needs it. Both copies wait for all work of the stream; the context must be current.
class Staging {
 public:
  explicit Staging(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  void copy_to_device(CUdeviceptr to, std::span<const std::byte> from, CUstream stream);
  void copy_to_host(std::span<std::byte> to, CUdeviceptr from, CUstream stream);

 private:
  // A piece of the context's page-locked memory.
  class Pinned {
   public:
    explicit Pinned(std::shared_ptr<const Context> context);
    ~Pinned();
    Pinned(Pinned&& other) noexcept;
    Pinned& operator=(Pinned&&) = delete;
    std::byte* data() const { return data_; }

   private:
    std::shared_ptr<const Context> context_;
    std::byte* data_ = nullptr;
  };
  struct Slot {
    Pinned memory;
    Event copied;  // the device has read or written `memory`
  };

  void make_slots();

  std::shared_ptr<const Context> context_;
  std::vector<Slot> slots_;
};

}  // namespace tcc::runtime::cuda
