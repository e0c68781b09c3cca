#include "runtime/cuda/tensor_map.h"

#include <array>

#include "support/error.h"

namespace tcc::runtime::cuda {
namespace {

constexpr size_t kMaxRank = 5;

CUtensorMapDataType type_of(const exec::TensorMap& map) {
  switch (map.dtype) {
    case DType::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::f16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::f32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::f8e4m3:
    case DType::f8e5m2:
    case DType::i8:
    case DType::u8: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    default: TCC_CHECK(false, map.name, ": no tensor map of ", name(map.dtype));
  }
}

CUtensorMapSwizzle swizzle_of(const exec::TensorMap& map) {
  switch (map.swizzle) {
    case 0: return CU_TENSOR_MAP_SWIZZLE_NONE;
    case 32: return CU_TENSOR_MAP_SWIZZLE_32B;
    case 64: return CU_TENSOR_MAP_SWIZZLE_64B;
    case 128: return CU_TENSOR_MAP_SWIZZLE_128B;
    default: TCC_CHECK(false, map.name, ": a swizzle of ", map.swizzle, " bytes");
  }
}

}  // namespace

CUtensorMap encode(const Context& context, const exec::TensorMap& map, DeviceAddress address) {
  const size_t rank = map.dims.size();
  TCC_CHECK(
      rank >= 1 && rank <= kMaxRank && map.strides.size() + 1 == rank && map.box.size() == rank,
      map.name, ": a map of rank ", rank);
  if (!context.api().cuTensorMapEncodeTiled)
    fail_device(context.name(), ": the driver has no cuTensorMapEncodeTiled; update it (CUDA 12)");
  std::array<uint64_t, kMaxRank> dims{}, strides{};
  std::array<uint32_t, kMaxRank> box{}, steps{};
  for (size_t i = 0; i < rank; ++i) {
    dims[i] = static_cast<uint64_t>(map.dims[i].value());
    box[i] = static_cast<uint32_t>(map.box[i]);
    steps[i] = 1;
    if (i > 0) strides[i - 1] = static_cast<uint64_t>(map.strides[i - 1].value());
  }
  const auto first = address + static_cast<uint64_t>(map.offset.value() * size_bytes(map.dtype));
  CUtensorMap encoded{};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a device address
  const CUresult result = context.api().cuTensorMapEncodeTiled(
      &encoded, type_of(map), static_cast<unsigned>(rank), reinterpret_cast<void*>(first),
      dims.data(), strides.data(), box.data(), steps.data(), 0, swizzle_of(map),
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, 0);
  if (result != CUDA_SUCCESS)
    context.check(result, str("cuTensorMapEncodeTiled of ", map.name,
                              " (a buffer's address must "
                              "be a multiple of 16 bytes)")
                              .c_str());
  return encoded;
}

}  // namespace tcc::runtime::cuda
