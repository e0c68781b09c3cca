#include "runtime/cuda/staging.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/parallel.h"

namespace tcc::runtime::cuda {
namespace {

constexpr size_t kSlots = 2;
constexpr size_t kSlotBytes = Context::kPinnedBytes;
// The driver copies less than this through buffers of its own, without a page lock of ours.
constexpr size_t kDirectBytes = size_t{64} << 10;

// One thread copies at about a quarter of the bus's speed.
void copy_on_host(std::byte* to, const std::byte* from, size_t bytes) {
  constexpr int64_t kGrain = int64_t{1} << 20;
  parallel_for(0, static_cast<int64_t>(bytes), kGrain, [&](int64_t first, int64_t last) {
    std::memcpy(to + first, from + first, static_cast<size_t>(last - first));
  });
}

}  // namespace

Staging::Pinned::Pinned(std::shared_ptr<const Context> context)
    : context_(std::move(context)), data_(context_->take_pinned()) {}

Staging::Pinned::Pinned(Pinned&& other) noexcept
    : context_(std::move(other.context_)), data_(std::exchange(other.data_, nullptr)) {}

Staging::Pinned::~Pinned() {
  if (!data_) return;
  const ContextScope scope(*context_, std::nothrow);
  context_->give_pinned(data_);
}

void Staging::make_slots() {
  slots_.reserve(kSlots);
  while (slots_.size() < kSlots)
    slots_.push_back({Pinned(context_), Event(context_, CU_EVENT_DISABLE_TIMING)});
}

void Staging::copy_to_device(CUdeviceptr to, std::span<const std::byte> from, CUstream stream) {
  if (from.size() <= kDirectBytes) {
    if (!from.empty())
      TCC_CUDA(*context_, cuMemcpyHtoDAsync_v2, to, from.data(), from.size(), stream);
    TCC_CUDA(*context_, cuStreamSynchronize, stream);
    return;
  }
  make_slots();
  for (size_t offset = 0, piece = 0; offset < from.size(); offset += kSlotBytes, ++piece) {
    const size_t bytes = std::min(kSlotBytes, from.size() - offset);
    Slot& slot = slots_[piece % kSlots];
    if (piece >= kSlots) slot.copied.wait();
    copy_on_host(slot.memory.data(), from.data() + offset, bytes);
    TCC_CUDA(*context_, cuMemcpyHtoDAsync_v2, to + offset, slot.memory.data(), bytes, stream);
    slot.copied.record(stream);
  }
  TCC_CUDA(*context_, cuStreamSynchronize, stream);
}

void Staging::copy_to_host(std::span<std::byte> to, CUdeviceptr from, CUstream stream) {
  if (to.size() <= kDirectBytes) {
    if (!to.empty()) TCC_CUDA(*context_, cuMemcpyDtoHAsync_v2, to.data(), from, to.size(), stream);
    TCC_CUDA(*context_, cuStreamSynchronize, stream);
    return;
  }
  make_slots();
  const size_t pieces = (to.size() + kSlotBytes - 1) / kSlotBytes;
  const auto bytes_of = [&](size_t piece) {
    return std::min(kSlotBytes, to.size() - piece * kSlotBytes);
  };
  const auto fetch = [&](size_t piece) {
    const Slot& slot = slots_[piece % kSlots];
    TCC_CUDA(*context_, cuMemcpyDtoHAsync_v2, slot.memory.data(), from + piece * kSlotBytes,
             bytes_of(piece), stream);
    slot.copied.record(stream);
  };
  for (size_t piece = 0; piece < std::min(kSlots, pieces); ++piece) fetch(piece);
  for (size_t piece = 0; piece < pieces; ++piece) {
    const Slot& slot = slots_[piece % kSlots];
    slot.copied.wait();
    copy_on_host(to.data() + piece * kSlotBytes, slot.memory.data(), bytes_of(piece));
    if (piece + kSlots < pieces) fetch(piece + kSlots);
  }
}

}  // namespace tcc::runtime::cuda
