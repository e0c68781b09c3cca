// Device buffers and the streams that use them. A use waits for those on other streams that it
// depends on, so that buffers pass from context to context.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/program.h"

#include "tcc/device_buffer.hpp"

namespace tcc {

// A stream of contexts. Whoever uses the stream holds the mutex, but for the time of a call of the
// host's function within a run.
struct SharedStream {
  std::mutex mutex;
  std::shared_ptr<runtime::Stream> stream;
  int runs = 0;             // that have begun and not ended
  bool is_callers = false;  // it may end at any time: buffers do not remember it

  // Waits for what has been enqueued. Returns whether that is all: no run is under way.
  bool synchronize() {
    const std::lock_guard lock(mutex);
    stream->synchronize();
    return runs == 0;
  }
};

// Contexts share the owner of their stream. It goes with the last of them, and waits for the stream
// before the stream goes: buffers refer to streams weakly, and need not wait for one that is gone.
class StreamOwner {
 public:
  StreamOwner(std::shared_ptr<runtime::Stream> on, bool is_callers);
  ~StreamOwner();
  StreamOwner(const StreamOwner&) = delete;
  StreamOwner& operator=(const StreamOwner&) = delete;

  const std::shared_ptr<SharedStream> stream;
};

// The uses of a piece of memory by streams, of one device or of several that see it.
class BufferUses {
 public:
  // Waits for what runs on other streams than `own` (null: on any) and writes the memory, or,
  // before a write, uses it.
  void wait(const SharedStream* own, bool writes);
  // Remembers a run on the stream.
  void note(const std::shared_ptr<SharedStream>& stream, bool writes);

 private:
  std::mutex mutex_;
  std::weak_ptr<SharedStream> writer_;
  std::vector<std::weak_ptr<SharedStream>> readers_;
  std::uint64_t uses_ = 0;  // that were noted
};

struct DeviceBuffer::Impl {
  Impl(std::shared_ptr<runtime::Device> on, std::int64_t bytes);
  // Memory of the caller's, who gets it back by `release`, or that has uses by other devices.
  Impl(std::shared_ptr<runtime::Device> on, std::unique_ptr<runtime::Buffer> theirs,
       std::function<void()> release, std::shared_ptr<BufferUses> uses = nullptr);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void wait(const SharedStream* own, bool writes) { uses->wait(own, writes); }
  void note(const std::shared_ptr<SharedStream>& stream, bool writes) {
    uses->note(stream, writes);
  }

  const std::shared_ptr<runtime::Device> device;
  const std::unique_ptr<runtime::Buffer> memory;
  const std::shared_ptr<SharedStream> copies;  // of the device's buffers, from and to the host
  const std::shared_ptr<BufferUses> uses;
  const std::function<void()> release = {};
  const bool is_callers = false;
  bool read_only = false;  // no output and no state may lie in it
};

// The inner side of a public buffer, for other files of the API.
struct DeviceAccess {
  static const std::shared_ptr<DeviceBuffer::Impl>& impl(const DeviceBuffer& buffer) {
    return buffer.impl_;
  }
  static runtime::StateMemory memory_of(const DeviceBuffer& buffer) {
    return {{buffer.impl_, buffer.impl_->memory.get()}, buffer.offset_};
  }
  // Wraps memory that the caller keeps until `release`.
  static DeviceBuffer wrapped(std::shared_ptr<runtime::Device> device,
                              std::unique_ptr<runtime::Buffer> memory, std::int64_t bytes,
                              std::function<void()> release) {
    return DeviceBuffer(std::make_shared<DeviceBuffer::Impl>(std::move(device), std::move(memory),
                                                             std::move(release)),
                        bytes);
  }
};

}  // namespace tcc
