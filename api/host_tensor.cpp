#include <algorithm>
#include <cstring>

#include "api/impl.h"

namespace tcc {

HostTensor::HostTensor(std::string_view dtype_name, std::vector<std::int64_t> dims)
    : dtype(dtype_name), shape(std::move(dims)) {
  const auto type = parse_dtype(dtype);
  if (!type) fail_input("'", dtype, "' is no dtype");
  if (const auto open = std::ranges::find(shape, -1); open != shape.end())
    fail_input(type_text(*type, shape), ": dim ", open - shape.begin(),
               " is open, so that the run's size is needed: HostTensor(\"", dtype, "\", shape)");
  const auto size = tensor_bytes(*type, shape);
  if (!size) fail_input(type_text(*type, shape), ": a negative dim, or too large");
  bytes.resize(static_cast<size_t>(*size));
}

Tensor to_tensor(const HostTensor& host, const std::string& name) {
  const auto dtype = parse_dtype(host.dtype);
  if (!dtype) fail_input(name, ": '", host.dtype, "' is no dtype");
  Tensor tensor(*dtype, host.shape);
  if (tensor.bytes() != host.bytes.size())
    fail_input(name, ": ", type_text(*dtype, host.shape), " has ", tensor.bytes(), " bytes, not ",
               host.bytes.size());
  if (tensor.bytes() > 0) std::memcpy(tensor.data(), host.bytes.data(), tensor.bytes());
  return tensor;
}

HostTensor to_host(const Tensor& tensor) {
  HostTensor host;
  host.dtype = name(tensor.dtype());
  host.shape = tensor.shape();
  host.bytes.assign(tensor.data(), tensor.data() + tensor.bytes());
  return host;
}

}  // namespace tcc
