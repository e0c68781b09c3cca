#include <algorithm>
#include <map>

#include "api/device_memory.h"
#include "support/error.h"

namespace tcc {
namespace {

// The stream on which the device's buffers are copied; it ends with the last of them.
std::shared_ptr<SharedStream> copy_stream(runtime::Device& device) {
  static std::mutex mutex;
  static std::map<const runtime::Device*, std::weak_ptr<SharedStream>> streams;
  const std::lock_guard lock(mutex);
  std::erase_if(streams, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<SharedStream>& entry = streams[&device];
  if (auto stream = entry.lock()) return stream;
  auto stream = std::make_shared<SharedStream>();
  stream->stream = device.create_stream();
  entry = stream;
  return stream;
}

}  // namespace

StreamOwner::StreamOwner(std::shared_ptr<runtime::Stream> on, bool is_callers)
    : stream(std::make_shared<SharedStream>()) {
  stream->stream = std::move(on);
  stream->is_callers = is_callers;
}

StreamOwner::~StreamOwner() {
  if (stream->is_callers) return;
  try {
    stream->synchronize();
  } catch (const std::exception&) {
    // The device is lost, and says so at its next use.
  }
}

DeviceBuffer::Impl::Impl(std::shared_ptr<runtime::Device> on, std::int64_t bytes)
    : device(std::move(on)),
      memory(device->allocate(std::max<std::int64_t>(bytes, 1))),
      copies(copy_stream(*device)),
      uses(std::make_shared<BufferUses>()) {}

DeviceBuffer::Impl::Impl(std::shared_ptr<runtime::Device> on,
                         std::unique_ptr<runtime::Buffer> theirs, std::function<void()> to_release,
                         std::shared_ptr<BufferUses> shared_uses)
    : device(std::move(on)),
      memory(std::move(theirs)),
      copies(copy_stream(*device)),
      uses(shared_uses ? std::move(shared_uses) : std::make_shared<BufferUses>()),
      release(std::move(to_release)),
      is_callers(true) {}

DeviceBuffer::Impl::~Impl() {
  if (!is_callers) return;  // the device waits before it frees memory of its own
  try {
    wait(nullptr, true);
    if (release) release();
  } catch (const std::exception&) {
    // The device is lost, and says so at its next use: nobody can say what still uses the memory.
  }
}

void BufferUses::wait(const SharedStream* own, bool writes) {
  std::vector<std::shared_ptr<SharedStream>> others;
  std::uint64_t uses = 0;
  const auto add = [&](const std::weak_ptr<SharedStream>& stream) {
    if (auto other = stream.lock(); other && other.get() != own) others.push_back(std::move(other));
  };
  {
    const std::lock_guard lock(mutex_);
    uses = uses_;
    add(writer_);
    if (writes)
      for (const auto& reader : readers_) add(reader);
  }
  if (others.empty()) return;
  // A run that is under way will enqueue more.
  std::erase_if(others, [](const auto& other) { return !other->synchronize(); });
  const std::lock_guard lock(mutex_);
  if (uses != uses_) return;
  const auto is_done = [&](const std::weak_ptr<SharedStream>& stream) {
    return std::ranges::find(others, stream.lock()) != others.end();
  };
  if (is_done(writer_)) writer_.reset();
  if (writes) std::erase_if(readers_, is_done);
}

void BufferUses::note(const std::shared_ptr<SharedStream>& stream, bool writes) {
  if (stream->is_callers) return;
  const std::lock_guard lock(mutex_);
  ++uses_;
  if (writes) {
    writer_ = stream;
    readers_.clear();
    return;
  }
  std::erase_if(readers_, [&](const auto& reader) {
    const auto other = reader.lock();
    return !other || other == stream;
  });
  readers_.push_back(stream);
}

DeviceBuffer::DeviceBuffer(std::string_view device, std::int64_t bytes) : bytes_(bytes) {
  if (bytes < 0) fail_input("a device buffer of ", bytes, " bytes");
  impl_ = std::make_shared<Impl>(runtime::open_device(device), bytes);
}

DeviceBuffer DeviceBuffer::wrap(std::string_view device, std::uint64_t address, std::int64_t bytes,
                                std::function<void()> release) {
  if (bytes < 0) fail_input("a device buffer of ", bytes, " bytes");
  if (bytes > 0 && address == 0) fail_input("a device buffer at a null pointer");
  std::shared_ptr<runtime::Device> on = runtime::open_device(device);
  std::unique_ptr<runtime::Buffer> memory = on->wrap(address, bytes);
  return DeviceBuffer(std::make_shared<Impl>(std::move(on), std::move(memory), std::move(release)),
                      bytes);
}

std::pair<DeviceBuffer, DeviceBuffer> DeviceBuffer::shared(std::string_view exporter,
                                                           std::string_view importer,
                                                           std::int64_t bytes) {
  if (bytes < 1) fail_input("shared memory of ", bytes, " bytes");
  std::shared_ptr<runtime::Device> from = runtime::open_device(exporter);
  std::shared_ptr<runtime::Device> to = runtime::open_device(importer);
  if (from->pci_address().empty() || from->pci_address() != to->pci_address())
    fail_input(from->name(), " and ", to->name(), " are not known to be one GPU: at '",
               from->pci_address(), "' and '", to->pci_address(), "'");
  runtime::Device::Exported memory = from->allocate_exported(bytes);
  std::unique_ptr<runtime::Buffer> imported = to->import(memory, bytes);
  const auto uses = std::make_shared<BufferUses>();
  DeviceBuffer first(std::make_shared<Impl>(std::move(from), std::move(memory.buffer),
                                            std::function<void()>(), uses),
                     bytes);
  // Either may go first: the allocation ends with the last that refers to it.
  DeviceBuffer second(
      std::make_shared<Impl>(std::move(to), std::move(imported), std::function<void()>(), uses),
      bytes);
  return {std::move(first), std::move(second)};
}

std::string DeviceBuffer::device() const { return impl_ ? impl_->device->name() : ""; }

DeviceBuffer DeviceBuffer::slice(std::int64_t offset, std::int64_t bytes) const {
  if (offset < 0 || bytes < 0 || offset > bytes_ || bytes > bytes_ - offset)
    fail_input("bytes ", offset, " to ", offset, " + ", bytes, " of a device buffer of ", bytes_);
  DeviceBuffer part = *this;
  part.offset_ += offset;
  part.bytes_ = bytes;
  return part;
}

void DeviceBuffer::write(std::span<const std::byte> host) const {
  if (std::ssize(host) != bytes_) fail_input(host.size(), " bytes for a device buffer of ", bytes_);
  if (host.empty()) return;
  if (impl_->read_only) fail_input("a device buffer that may only be read");
  impl_->wait(nullptr, true);
  const std::lock_guard lock(impl_->copies->mutex);
  impl_->copies->stream->copy_to_device(*impl_->memory, offset_, host);
}

void DeviceBuffer::read(std::span<std::byte> host) const {
  if (std::ssize(host) != bytes_)
    fail_input("room for ", host.size(), " bytes of a device buffer of ", bytes_);
  if (host.empty()) return;
  impl_->wait(nullptr, false);
  const std::lock_guard lock(impl_->copies->mutex);
  impl_->copies->stream->copy_to_host(host, *impl_->memory, offset_);
}

std::uint64_t DeviceBuffer::address() const {
  if (bytes_ == 0) return 0;
  return impl_->memory->address() + static_cast<std::uint64_t>(offset_);
}

}  // namespace tcc
