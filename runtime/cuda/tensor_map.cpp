#include "runtime/cuda/tensor_map.h"

#include "support/error.h"

namespace tcc::runtime::cuda {
namespace {

using exec::MapNumbers;

CUtensorMapDataType type_of(const MapNumbers& map) {
  switch (map.dtype) {
    case DType::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::f16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::f32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::f8e4m3:
    case DType::f8e5m2:
    case DType::i8:
    case DType::u8: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    default: TCC_CHECK(false, "no tensor map of ", name(map.dtype));
  }
}

CUtensorMapSwizzle swizzle_of(const MapNumbers& map) {
  switch (map.swizzle) {
    case 0: return CU_TENSOR_MAP_SWIZZLE_NONE;
    case 32: return CU_TENSOR_MAP_SWIZZLE_32B;
    case 64: return CU_TENSOR_MAP_SWIZZLE_64B;
    case 128: return CU_TENSOR_MAP_SWIZZLE_128B;
    default: TCC_CHECK(false, "a swizzle of ", map.swizzle, " bytes");
  }
}

constexpr auto kPromotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;

CUresult encode_tiled(const Context& context, const MapNumbers& map, void* first,
                      CUtensorMap& encoded) {
  return context.api().cuTensorMapEncodeTiled(
      &encoded, type_of(map), map.rank, first, map.dims.data(), map.strides.data() + 1,
      map.box.data(), map.steps.data(), 0, swizzle_of(map), kPromotion, 0);
}

CUresult encode_im2col(const Context& context, const MapNumbers& map, void* first,
                       CUtensorMap& encoded) {
  return context.api().cuTensorMapEncodeIm2col(
      &encoded, type_of(map), map.rank, first, map.dims.data(), map.strides.data() + 1,
      map.lower.data(), map.upper.data(), static_cast<unsigned>(map.channels),
      static_cast<unsigned>(map.pixels), map.steps.data(), 0, swizzle_of(map), kPromotion, 0);
}

}  // namespace

CUtensorMap encode(const Context& context, const MapNumbers& map, DeviceAddress address) {
  const bool is_tiled = map.kind == exec::TensorMap::Kind::tiled;
  const char* call = is_tiled ? "cuTensorMapEncodeTiled" : "cuTensorMapEncodeIm2col";
  const DriverApi& api = context.api();
  if (is_tiled ? !api.cuTensorMapEncodeTiled : !api.cuTensorMapEncodeIm2col)
    fail_device(context.name(), ": the driver has no ", call, "; update it (CUDA 12)");
  CUtensorMap encoded{};
  if (map.is_empty()) return encoded;  // nothing is read through it
  const auto offset = static_cast<uint64_t>(map.offset * size_bytes(map.dtype));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a device address
  void* const first = reinterpret_cast<void*>(address + offset);
  const CUresult result = is_tiled ? encode_tiled(context, map, first, encoded)
                                   : encode_im2col(context, map, first, encoded);
  if (result != CUDA_SUCCESS)
    context.check(result, str(call, " of argument ", map.argument,
                              " (a buffer's address must be a multiple of 16 bytes)")
                              .c_str());
  return encoded;
}

}  // namespace tcc::runtime::cuda
