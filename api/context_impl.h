// The inner side of a Context, for the files that run graphs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "api/device_memory.h"
#include "api/impl.h"
#include "api/names.h"
#include "frontend/state_file.h"

namespace tcc {

struct Context::Impl {
  class Use;

  Impl(const CompiledGraph& compiled, std::shared_ptr<StreamOwner> on, const exec::Dims& dims = {},
       const std::function<DeviceBuffer(std::int64_t)>& allocate = {});
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const std::shared_ptr<const runtime::Program> program;
  const std::shared_ptr<StreamOwner> owner;
  const std::shared_ptr<SharedStream> stream;
  const bool has_callers_memory;  // which must not go before the stream has done with it
  runtime::Context context;
  Use* use = nullptr;                                   // the one that there is
  std::map<size_t, DeviceBuffer> bound;                 // states, by number
  std::vector<runtime::DeviceAddress> inputs, outputs;  // reused, see take()

  const exec::Executable& executable() const { return program->executable(); }
  size_t state_number(std::string_view name) const {
    return index_of(executable(), exec::state_buffers(executable()), "state", name);
  }
  // A value without elements may have a null pointer.
  void check_pointer(const void* pointer, const exec::BufferInfo& buffer) const {
    if (!pointer && context.sizes().of(buffer.bytes) > 0)
      fail_input("'", buffer.name, "': a null pointer");
  }
  runtime::DeviceAddress address_of(const void* pointer, const exec::BufferInfo& buffer) const {
    check_pointer(pointer, buffer);
    return reinterpret_cast<runtime::DeviceAddress>(pointer);
  }
  void take(std::span<const void* const> in, std::span<void* const> out);
  void take(std::span<const DeviceBuffer> in, std::span<const DeviceBuffer> out);
  // Those at hand, for a buffer whose shape depends on them.
  const exec::Sizes& sizes_of(const exec::BufferInfo& buffer) const;
  // Whether its shape may depend on a size that a run counts: it has the room of the largest then.
  bool may_be_counted(const exec::BufferInfo& buffer) const;
  std::vector<std::int64_t> shape_of(const exec::BufferInfo& buffer) const;
  std::int64_t bytes_of(const exec::BufferInfo& buffer) const;
  runtime::DeviceAddress place_of(const DeviceBuffer& memory, const exec::BufferInfo& buffer,
                                  std::string_view kind) const;
  static bool overlap(const DeviceBuffer& a, const DeviceBuffer& b);
  void check_apart(std::span<const DeviceBuffer> in, std::span<const DeviceBuffer> out) const;
  void check_apart_from_states() const;
  const exec::BufferInfo& state_buffer(size_t number) const {
    return executable().buffers[static_cast<size_t>(executable().states[number].buffer)];
  }
  // Returns the memory that was bound before, which must not go while the stream is held.
  DeviceBuffer bind_state(std::string_view name, const DeviceBuffer& memory,
                          std::optional<std::int64_t> length);
  std::vector<DeviceBuffer> memory_of(std::span<const DeviceTensor> tensors,
                                      const std::vector<int>& buffers, std::string_view kind) const;
  const DeviceBuffer& memory_of(const DeviceTensor& tensor, const exec::BufferInfo& buffer,
                                std::string_view kind) const;
  std::vector<NamedType> state_types() const;
  void check_type(const exec::BufferInfo& buffer, const HostTensor& given) const;
  std::vector<HostTensor> run(const std::vector<const HostTensor*>& given);
};

// Holds the stream for a use of the context, which is the only one until this goes, in order with
// the uses of its bound states on other streams.
class Context::Impl::Use {
 public:
  explicit Use(Impl& impl) : Use(impl, Claim()) {
    order([&](const auto& visit) {
      for (const auto& [number, memory] : impl.bound) visit(memory, true);
    });
  }
  ~Use() {
    impl_.use = nullptr;
    --impl_.stream->runs;
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  // Waits for what other streams do with the buffers that `each` visits, and notes that this one
  // uses them from now on: each(visit) calls visit(buffer, whether it is written). Two contexts
  // that wait for each other while they hold their streams would wait for ever.
  void order(const auto& each) {
    const auto& stream = impl_.stream;
    const auto all = [&](const auto& visit) {
      each([&](const DeviceBuffer& memory, bool writes) {
        if (memory.bytes_ > 0) visit(*memory.impl_, writes);
      });
    };
    apart([&] {
      all([&](DeviceBuffer::Impl& memory, bool writes) { memory.wait(stream.get(), writes); });
    });
    all([&](DeviceBuffer::Impl& memory, bool writes) { memory.note(stream, writes); });
  }

  // Leaves the stream to other threads while `work` runs, which may wait for them.
  void apart(const std::function<void()>& work) {
    lock_.unlock();
    try {
      work();
    } catch (...) {
      lock_.lock();
      throw;
    }
    lock_.lock();
  }

 private:
  struct Claim {};
  Use(Impl& impl, Claim) : impl_(impl), lock_(impl.stream->mutex) {
    if (impl.use)
      fail_input(impl.executable().name,
                 ": the context is running: neither a function of the host's that it calls nor "
                 "another thread may use it meanwhile");
    impl.use = this;
    ++impl.stream->runs;
  }

  Impl& impl_;
  std::unique_lock<std::mutex> lock_;
};

// The inner side of a public context, for other files of the API.
struct ContextAccess {
  using Impl = Context::Impl;
  static Impl& impl(Context& context) { return *context.impl_; }
};

}  // namespace tcc
