#include "tcc/device_tensor.hpp"

#include "api/device_memory.h"
#include "api/impl.h"
#include "support/error.h"

namespace tcc {
namespace {

DType known_dtype(std::string_view name) {
  const auto dtype = parse_dtype(name);
  if (!dtype) fail_input("'", name, "' is no dtype");
  return *dtype;
}

std::int64_t bytes_of(std::string_view dtype, const std::vector<std::int64_t>& shape) {
  const DType type = known_dtype(dtype);
  const auto bytes = tensor_bytes(type, shape);
  if (!bytes) fail_input(type_text(type, shape), ": a negative dim, or too large");
  return *bytes;
}

}  // namespace

DeviceTensor::DeviceTensor(std::string_view device, std::string_view dtype,
                           std::vector<std::int64_t> shape)
    : memory_(device, bytes_of(dtype, shape)), dtype_(dtype), shape_(std::move(shape)) {}

DeviceTensor::DeviceTensor(std::string_view device, const TensorSpec& spec)
    : DeviceTensor(device, spec.dtype, spec.shape) {}

DeviceTensor::DeviceTensor(const DeviceBuffer& memory, std::int64_t offset, std::string_view dtype,
                           std::vector<std::int64_t> shape)
    : memory_(memory.slice(offset, bytes_of(dtype, shape))),
      dtype_(dtype),
      shape_(std::move(shape)) {
  if (const int size = size_bytes(known_dtype(dtype));
      memory_.address() % static_cast<std::uint64_t>(size) != 0)
    fail_input(dtype, " at byte ", memory_.offset(), " of a device buffer: no multiple of ", size);
}

DeviceTensor::DeviceTensor(std::string_view device, const HostTensor& host)
    : DeviceTensor(device, host.dtype, host.shape) {
  write(host);
}

HostTensor DeviceTensor::to_host() const {
  HostTensor host(dtype_, shape_);
  memory_.read(host.bytes);
  return host;
}

void DeviceTensor::write(const HostTensor& host) const {
  if (host.dtype != dtype_ || host.shape != shape_)
    fail_input("a host tensor of another type for ", type_text(known_dtype(dtype_), shape_));
  memory_.write(host.bytes);
}

}  // namespace tcc
