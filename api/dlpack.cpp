// Device tensors from and to other frameworks.
#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "api/device_memory.h"
#include "api/dlpack_abi.h"
#include "api/impl.h"
#include "frontend/tensor_file.h"
#include "support/error.h"

#include "tcc/device_tensor.hpp"

namespace tcc {
namespace {

using namespace dlpack;

struct TypeCode {
  DType dtype;
  Code code;
};
constexpr TypeCode kTypes[] = {
    {DType::f64, floating},         {DType::f32, floating},         {DType::f16, floating},
    {DType::bf16, bfloat},          {DType::i8, signed_integer},    {DType::i16, signed_integer},
    {DType::i32, signed_integer},   {DType::i64, signed_integer},   {DType::u8, unsigned_integer},
    {DType::u16, unsigned_integer}, {DType::u32, unsigned_integer}, {DType::u64, unsigned_integer},
    {DType::boolean, boolean},      {DType::f8e4m3, float8_e4m3fn}, {DType::f8e5m2, float8_e5m2},
};

DType dtype_of(DLDataType type) {
  for (const auto& [dtype, code] : kTypes)
    if (code == type.code && type.bits == 8 * size_bytes(dtype) && type.lanes == 1) return dtype;
  fail_input("DLPack: elements of code ", int{type.code}, ", ", int{type.bits}, " bits and ",
             int{type.lanes}, " lanes are not supported");
}

DLDataType type_of(DType dtype) {
  const auto* found = std::ranges::find(kTypes, dtype, &TypeCode::dtype);
  TCC_CHECK(found != std::end(kTypes), "no DLPack code of ", name(dtype));
  return {found->code, static_cast<std::uint8_t>(8 * size_bytes(dtype)), 1};
}

std::string device_of(DLDevice device) {
  if (device.device_type == cpu || device.device_type == cuda_host) return "null";
  if ((device.device_type == cuda || device.device_type == cuda_managed) && device.device_id >= 0)
    return str("cuda:", device.device_id);
  fail_input("DLPack: memory of a device of kind ", device.device_type, " and number ",
             device.device_id, "; memory of CUDA and of the host is taken");
}

DLDevice device_named(const std::string& name) {
  if (name == "null") return {cpu, 0};
  constexpr std::string_view kind = "cuda:";
  std::int32_t number = 0;
  const char* const end = name.data() + name.size();
  if (!name.starts_with(kind) ||
      std::from_chars(name.data() + kind.size(), end, number) != std::from_chars_result{end, {}})
    fail_input(name.empty() ? "a tensor of no device" : name,
               ": DLPack defines handles of CUDA's memory and of the host's alone");
  return {cuda, number};
}

std::vector<std::int64_t> shape_of(const DLTensor& tensor) {
  if (tensor.ndim < 0 || static_cast<std::size_t>(tensor.ndim) > kMaxFileRank)
    fail_input("DLPack: a tensor of ", tensor.ndim, " dims; at most ", kMaxFileRank,
               " are supported");
  if (tensor.ndim > 0 && !tensor.shape) fail_input("DLPack: a tensor without a shape");
  return {tensor.shape, tensor.shape + tensor.ndim};
}

void check_row_major(const DLTensor& tensor, const std::vector<std::int64_t>& shape) {
  if (!tensor.strides || std::ranges::find(shape, 0) != shape.end()) return;
  std::int64_t expected = 1;
  for (std::size_t k = shape.size(); k-- > 0;) {
    if (shape[k] != 1 && tensor.strides[k] != expected)
      fail_input("DLPack: dim ", k, " has stride ", tensor.strides[k], ", not ", expected,
                 ": only dense row-major tensors are taken");
    expected *= shape[k];
  }
}

// A tensor that was checked and is not taken over yet.
struct Taken {
  std::string device;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
};

Taken checked(const DLTensor& tensor) {
  Taken taken{device_of(tensor.device), dtype_of(tensor.dtype), shape_of(tensor)};
  const auto bytes = tensor_bytes(taken.dtype, taken.shape);
  if (!bytes)
    fail_input("DLPack: ", type_text(taken.dtype, taken.shape), ": a negative dim, or too large");
  check_row_major(tensor, taken.shape);
  taken.bytes = *bytes;
  if (taken.bytes == 0) return taken;
  if (!tensor.data) fail_input("DLPack: a tensor without data");
  const auto begin = reinterpret_cast<std::uint64_t>(tensor.data);
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  if (tensor.byte_offset > most - begin ||
      static_cast<std::uint64_t>(taken.bytes) > most - begin - tensor.byte_offset)
    fail_input("DLPack: an offset of ", tensor.byte_offset, " bytes leads out of memory");
  taken.address = begin + tensor.byte_offset;
  if (taken.address % static_cast<std::uint64_t>(size_bytes(taken.dtype)) != 0)
    fail_input("DLPack: the data is not aligned to its elements, ", name(taken.dtype));
  return taken;
}

template <class Managed>
void release(Managed* given) {
  if (given->deleter) given->deleter(given);
}

// An exported tensor, which holds its memory.
template <class Managed>
struct Export {
  DeviceTensor tensor;
  std::vector<std::int64_t> shape, strides;
  Managed managed{};
};

template <class Managed>
Managed* exported(const DeviceTensor& tensor, const DLDevice& device) {
  auto made = std::make_unique<Export<Managed>>();
  made->tensor = tensor;
  made->shape = tensor.shape();
  made->strides.assign(made->shape.size(), 1);
  for (std::size_t k = made->shape.size(); k-- > 1;)
    made->strides[k - 1] = made->strides[k] * std::max<std::int64_t>(made->shape[k], 1);
  Managed& managed = made->managed;
  managed.dl_tensor = {reinterpret_cast<void*>(tensor.memory().address()),  // NOLINT
                       device,
                       static_cast<std::int32_t>(made->shape.size()),
                       type_of(*parse_dtype(tensor.dtype())),
                       made->shape.data(),
                       made->strides.data(),
                       0};
  managed.manager_ctx = made.get();
  managed.deleter = [](Managed* self) {
    delete static_cast<Export<Managed>*>(self->manager_ctx);  // NOLINT: what release() gave away
  };
  return &made.release()->managed;
}

}  // namespace

DeviceTensor DeviceTensor::from_dlpack(DLManagedTensorVersioned* given) {
  if (!given) fail_input("DLPack: a null pointer");
  if (given->version.major != kMajorVersion)
    fail_input("DLPack: a tensor of version ", given->version.major, ".", given->version.minor,
               "; version ", kMajorVersion, " is known");
  Taken taken = checked(given->dl_tensor);
  DeviceTensor tensor;
  tensor.dtype_ = name(taken.dtype);
  tensor.shape_ = std::move(taken.shape);
  const bool read_only = (given->flags & kReadOnly) != 0;
  tensor.memory_ =
      DeviceBuffer::wrap(taken.device, taken.address, taken.bytes, [given] { release(given); });
  tensor.memory_.impl_->read_only = read_only;
  return tensor;
}

DeviceTensor DeviceTensor::from_dlpack(DLManagedTensor* given) {
  if (!given) fail_input("DLPack: a null pointer");
  Taken taken = checked(given->dl_tensor);
  DeviceTensor tensor;
  tensor.dtype_ = name(taken.dtype);
  tensor.shape_ = std::move(taken.shape);
  tensor.memory_ =
      DeviceBuffer::wrap(taken.device, taken.address, taken.bytes, [given] { release(given); });
  return tensor;
}

DLManagedTensorVersioned* DeviceTensor::to_dlpack() const {
  const DLDevice device = device_named(memory_.device());
  memory_.impl_->wait(nullptr, false);
  DLManagedTensorVersioned* managed = exported<DLManagedTensorVersioned>(*this, device);
  managed->version = {kMajorVersion, 0};
  managed->flags = memory_.impl_->read_only ? kReadOnly : 0;
  return managed;
}

DLManagedTensor* DeviceTensor::to_dlpack_0() const {
  const DLDevice device = device_named(memory_.device());
  if (memory_.impl_->read_only)
    fail_input("a tensor that may only be read: version 0 of DLPack cannot say so");
  memory_.impl_->wait(nullptr, false);
  return exported<DLManagedTensor>(*this, device);
}

}  // namespace tcc
