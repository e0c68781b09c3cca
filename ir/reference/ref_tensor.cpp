// The interpreter's tensors and their conversion from and to host tensors.
#include <new>

#include "ir/reference/interpreter.h"
#include "support/checked.h"
#include "support/error.h"
#include "support/parallel.h"

namespace tcc::ir {
namespace {

constexpr int64_t kGrain = int64_t{1} << 15;

size_t checked_numel(DType dtype, const std::vector<int64_t>& shape) {
  if (!tensor_bytes(dtype, shape))
    fail_input("tensor ", type_text(dtype, shape), " is too large or has a negative dim");
  return static_cast<size_t>(*checked_product(shape));
}

DType widest(DType dtype) { return is_float(dtype) ? DType::f64 : DType::i64; }

}  // namespace

RefTensor::RefTensor(DType d, std::vector<int64_t> s) : dtype(d), shape(std::move(s)) {
  const size_t count = checked_numel(dtype, shape);
  try {
    if (tcc::is_float(dtype))
      f.resize(count);
    else
      i.resize(count);
  } catch (const std::bad_alloc&) {
    fail_device("out of host memory: the reference needs ", 8 * count, " bytes for ",
                type_text(dtype, shape));
  }
}

RefTensor to_ref(const Tensor& tensor) {
  RefTensor result(tensor.dtype(), tensor.shape());
  std::byte* to = result.is_float() ? reinterpret_cast<std::byte*>(result.f.data())
                                    : reinterpret_cast<std::byte*>(result.i.data());
  const int bytes = size_bytes(tensor.dtype());
  parallel_for(0, tensor.numel(), kGrain, [&](int64_t first, int64_t last) {
    convert(tensor.data() + first * bytes, tensor.dtype(), to + first * 8, widest(tensor.dtype()),
            last - first);
  });
  return result;
}

Tensor to_tensor(const RefTensor& tensor) {
  Tensor result(tensor.dtype, tensor.shape);
  const std::byte* from = tensor.is_float() ? reinterpret_cast<const std::byte*>(tensor.f.data())
                                            : reinterpret_cast<const std::byte*>(tensor.i.data());
  const int bytes = size_bytes(tensor.dtype);
  parallel_for(0, result.numel(), kGrain, [&](int64_t first, int64_t last) {
    convert(from + first * 8, widest(tensor.dtype), result.data() + first * bytes, tensor.dtype,
            last - first);
  });
  return result;
}

void normalize(RefTensor& tensor, bool round_floats) {
  const DType dtype = tensor.dtype;
  if (tensor.is_float()) {
    if (!round_floats || dtype == DType::f64) return;
    parallel_for(0, tensor.numel(), kGrain, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) {
        double& value = tensor.f[static_cast<size_t>(k)];
        value = dtype == DType::f32 ? static_cast<float>(value) : round_to(dtype, value);
      }
    });
    return;
  }
  if (size_bytes(dtype) == 8) return;
  parallel_for(0, tensor.numel(), kGrain, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) {
      int64_t& value = tensor.i[static_cast<size_t>(k)];
      value = wrap_to(dtype, value);
    }
  });
}

}  // namespace tcc::ir
