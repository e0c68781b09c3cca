#include "runtime/cuda/tensor_map.h"

#include <algorithm>
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

constexpr auto kPromotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;

// The fields that both kinds have, as the driver takes them.
struct Fields {
  std::array<uint64_t, kMaxRank> dims{}, strides{};
  std::array<uint32_t, kMaxRank> steps{};
  unsigned rank;
  void* first;

  Fields(const exec::TensorMap& map, DeviceAddress address)
      : rank(static_cast<unsigned>(map.dims.size())) {
    TCC_CHECK(rank >= 1 && rank <= kMaxRank && map.strides.size() + 1 == rank &&
                  (map.steps.empty() || map.steps.size() == rank),
              map.name, ": a map of rank ", rank);
    for (size_t i = 0; i < rank; ++i) {
      dims[i] = static_cast<uint64_t>(map.dims[i].value());
      steps[i] = map.steps.empty() ? 1 : static_cast<uint32_t>(map.steps[i]);
      if (i > 0) strides[i - 1] = static_cast<uint64_t>(map.strides[i - 1].value());
    }
    const auto offset = static_cast<uint64_t>(map.offset.value() * size_bytes(map.dtype));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a device address
    first = reinterpret_cast<void*>(address + offset);
  }
};

CUresult encode_tiled(const Context& context, const exec::TensorMap& map, const Fields& fields,
                      CUtensorMap& encoded) {
  TCC_CHECK(map.box.size() == fields.rank, map.name, ": a box of rank ", map.box.size());
  std::array<uint32_t, kMaxRank> box{};
  for (size_t i = 0; i < map.box.size(); ++i)
    box[i] = static_cast<uint32_t>(exec::box_side(map, i, map.dims[i].value()));
  return context.api().cuTensorMapEncodeTiled(
      &encoded, type_of(map), fields.rank, fields.first, fields.dims.data(), fields.strides.data(),
      box.data(), fields.steps.data(), 0, swizzle_of(map), kPromotion, 0);
}

CUresult encode_im2col(const Context& context, const exec::TensorMap& map, const Fields& fields,
                       CUtensorMap& encoded) {
  const exec::Im2col& im2col = map.im2col;
  TCC_CHECK(im2col.lower.size() + 2 == fields.rank && im2col.upper.size() + 2 == fields.rank,
            map.name, ": corners of rank ", im2col.lower.size());
  return context.api().cuTensorMapEncodeIm2col(
      &encoded, type_of(map), fields.rank, fields.first, fields.dims.data(), fields.strides.data(),
      im2col.lower.data(), im2col.upper.data(), static_cast<unsigned>(im2col.channels),
      static_cast<unsigned>(im2col.pixels), fields.steps.data(), 0, swizzle_of(map), kPromotion, 0);
}

}  // namespace

CUtensorMap encode(const Context& context, const exec::TensorMap& map, DeviceAddress address) {
  const bool is_tiled = map.kind == exec::TensorMap::Kind::tiled;
  const char* call = is_tiled ? "cuTensorMapEncodeTiled" : "cuTensorMapEncodeIm2col";
  const DriverApi& api = context.api();
  if (is_tiled ? !api.cuTensorMapEncodeTiled : !api.cuTensorMapEncodeIm2col)
    fail_device(context.name(), ": the driver has no ", call, "; update it (CUDA 12)");
  CUtensorMap encoded{};
  if (std::ranges::any_of(map.dims, [](const ir::SymInt& dim) { return dim.is(0); }))
    return encoded;  // nothing is read through it
  const Fields fields(map, address);
  const CUresult result = is_tiled ? encode_tiled(context, map, fields, encoded)
                                   : encode_im2col(context, map, fields, encoded);
  if (result != CUDA_SUCCESS)
    context.check(
        result, str(call, " of ", map.name, " (a buffer's address must be a multiple of 16 bytes)")
                    .c_str());
  return encoded;
}

}  // namespace tcc::runtime::cuda
