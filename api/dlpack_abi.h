// The binary layout of DLPack's structures, versions 0 and 1, after its specification. (The header
// of the distributions is of a version that lacks the versioned one.)
#pragma once

#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): the specification's names

struct DLDevice {
  std::int32_t device_type;
  std::int32_t device_id;
};

struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLManagedTensorVersioned {
  struct {
    std::uint32_t major, minor;
  } version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

// NOLINTEND(readability-identifier-naming)

namespace tcc::dlpack {

enum Device : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };
enum Code : std::uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  floating = 2,
  bfloat = 4,
  boolean = 6,
  float8_e4m3fn = 10,
  float8_e5m2 = 12
};
constexpr std::uint64_t kReadOnly = 1;
constexpr std::uint32_t kMajorVersion = 1;

}  // namespace tcc::dlpack
