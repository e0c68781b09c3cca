#include "runtime/vulkan/memory.h"

#include "support/error.h"

namespace tcc::runtime::vulkan {

Memory::Memory(std::shared_ptr<Core> core, MemoryUse use, int64_t bytes)
    : core_(std::move(core)), bytes_(bytes) {
  core_->require_alive();
  place_ = core_->heap().take(use, bytes);
}

Memory::~Memory() {
  if (core_->retire()) core_->heap().give_back(place_);
}

}  // namespace tcc::runtime::vulkan
