#include "runtime/host_calls.h"

#include <algorithm>

#include "runtime/device.h"
#include "support/error.h"

namespace tcc::runtime {

HostCallSite::HostCallSite(Device& device, const exec::Executable& executable,
                           const exec::HostCall& call, const HostFunction& function,
                           const exec::Sizes& sizes)
    : name_(call.function),
      function_(function),
      is_on_device_(function.run_on_device && device.gives_streams()) {
  const auto make = [&](const std::vector<int>& buffers, std::vector<Value>& values) {
    for (const int number : buffers) {
      const exec::BufferInfo& buffer = executable.buffers[static_cast<size_t>(number)];
      const int64_t bytes = sizes.of(buffer.bytes);
      Value& value = values.emplace_back();
      value.buffer = number;
      value.shape = sizes.of(buffer.shape);
      value.dtype = buffer.dtype;
      value.bytes = bytes;
      if (!is_on_device_) value.memory = device.allocate(std::max<int64_t>(bytes, 1));
    }
  };
  make(call.reads, reads_);
  make(call.writes, writes_);
}

HostCallSite::~HostCallSite() = default;
HostCallSite::HostCallSite(HostCallSite&&) noexcept = default;

void HostCallSite::run(Stream& stream, const CallThrough& through) {
  is_on_device_ ? run_on_device(stream, through) : run_on_copies(stream, through);
}

void HostCallSite::run_on_device(Stream& stream, const CallThrough& through) const {
  const auto places_of = [](const std::vector<Value>& values) {
    std::vector<DeviceValue> places;
    for (const Value& value : values)
      places.push_back({value.dtype, value.shape, value.bytes, value.address});
    return places;
  };
  const auto call = [&] {
    stream.give([&](void* handle) {
      function_.run_on_device(places_of(reads_), places_of(writes_), handle);
    });
  };
  through ? through(call) : call();
}

void HostCallSite::run_on_copies(Stream& stream, const CallThrough& through) const {
  std::vector<Tensor> reads, writes;
  for (const Value& value : reads_) {
    Tensor& tensor = reads.emplace_back(value.dtype, value.shape);
    if (tensor.bytes() > 0) stream.copy_to_host({tensor.data(), tensor.bytes()}, *value.memory, 0);
  }
  stream.synchronize();
  for (const Value& value : writes_) writes.emplace_back(value.dtype, value.shape);
  const auto call = [&] { function_.run(reads, writes); };
  through ? through(call) : call();
  for (size_t i = 0; i < writes.size(); ++i) {
    const Value& value = writes_[i];
    if (writes[i].dtype() != value.dtype || writes[i].shape() != value.shape)
      fail_input("the host's function '", name_, "' changed the type of its result ", i);
    if (value.bytes > 0)
      stream.copy_to_device(*value.memory, 0, {writes[i].data(), writes[i].bytes()});
  }
}

}  // namespace tcc::runtime
