#include "ir/tensor.h"

// GCC does not align the stack for AVX on Windows.
#if defined(__x86_64__) && !defined(_WIN32)
#define TCC_HAVE_F16C 1
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

#include "support/checked.h"
#include "support/error.h"
#include "support/parallel.h"
#include "support/system.h"

namespace tcc {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kMapThreshold = size_t{4} << 20;    // bytes
constexpr int64_t kCopyGrain = int64_t{1} << 20;     // bytes
constexpr int64_t kConvertGrain = int64_t{1} << 16;  // elements

// Storage types that C++ has no arithmetic for.
template <DType, class Bits>
struct Narrow {
  Bits bits;
};
using Half = Narrow<DType::f16, uint16_t>;
using Bfloat = Narrow<DType::bf16, uint16_t>;
using F8e4m3 = Narrow<DType::f8e4m3, uint8_t>;
using F8e5m2 = Narrow<DType::f8e5m2, uint8_t>;
struct Bool {
  uint8_t value;
};

// Calls f(std::type_identity<Storage>{}) for the storage type of `dtype`.
template <class F>
auto visit(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64: return f(std::type_identity<double>{});
    case DType::f32: return f(std::type_identity<float>{});
    case DType::f16: return f(std::type_identity<Half>{});
    case DType::bf16: return f(std::type_identity<Bfloat>{});
    case DType::f8e4m3: return f(std::type_identity<F8e4m3>{});
    case DType::f8e5m2: return f(std::type_identity<F8e5m2>{});
    case DType::i8: return f(std::type_identity<int8_t>{});
    case DType::i16: return f(std::type_identity<int16_t>{});
    case DType::i32: return f(std::type_identity<int32_t>{});
    case DType::i64: return f(std::type_identity<int64_t>{});
    case DType::u8: return f(std::type_identity<uint8_t>{});
    case DType::u16: return f(std::type_identity<uint16_t>{});
    case DType::u32: return f(std::type_identity<uint32_t>{});
    case DType::u64: return f(std::type_identity<uint64_t>{});
    case DType::boolean: return f(std::type_identity<Bool>{});
  }
  TCC_CHECK(false, "dtype ", static_cast<int>(dtype));
  return f(std::type_identity<double>{});
}

// A stored element as an arithmetic value that holds it exactly.
template <class T>
T load(T stored) {
  return stored;
}
float load(Half stored) { return f16_to_f32(stored.bits); }
float load(Bfloat stored) {
  return std::bit_cast<float>(static_cast<uint32_t>(stored.bits) << 16);  // inlined bf16_to_f32
}
float load(F8e4m3 stored) { return f8e4m3_to_f32(stored.bits); }
float load(F8e5m2 stored) { return f8e5m2_to_f32(stored.bits); }
int8_t load(Bool stored) { return static_cast<int8_t>(stored.value != 0); }

// An integer as a double that every narrower float type rounds as it would round the integer
// itself: what a double cannot hold is folded into an odd last bit (of at least 42, more than f32
// needs), so that rounding twice is rounding once.
template <class T>
double to_double_for_rounding(T value) {
  if constexpr (sizeof(T) < 8) {
    return value;
  } else {
    const bool negative = std::is_signed_v<T> && value < 0;
    uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    if (magnitude >> 53 != 0)
      magnitude = (magnitude & ~uint64_t{0x7ff}) | ((magnitude & 0x7ff) != 0 ? 0x800 : 0);
    return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
  }
}

uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const uint32_t nan = bits >> 16 | 0x40;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

void round(float value, Half& to) { to.bits = f32_to_f16(value); }
void round(double value, Half& to) { to.bits = f64_to_f16(value); }
void round(float value, Bfloat& to) { to.bits = f32_to_bf16(value); }
void round(double value, Bfloat& to) { to.bits = f64_to_bf16(value); }
void round(double value, F8e4m3& to) { to.bits = f64_to_f8e4m3(value); }
void round(double value, F8e5m2& to) { to.bits = f64_to_f8e5m2(value); }

template <class To, class From>
To saturate(From value) {
  using Limits = std::numeric_limits<To>;
  // Both limits + 1 are powers of two (or 0), hence exact in `From`.
  constexpr From below = static_cast<From>(Limits::min());
  constexpr From beyond =
      static_cast<From>(Limits::max() / 2 + 1) * 2;  // NOLINT(bugprone-integer-division)
  if (!(value >= below)) return std::isnan(value) ? To{0} : Limits::min();
  return value >= beyond ? Limits::max() : static_cast<To>(value);
}

// An arithmetic value as a stored element, by cast()'s rules.
template <class To, class From>
To store(From value) {
  if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<uint8_t>(value != 0)};
  } else if constexpr (std::is_class_v<To>) {
    To to;
    if constexpr (std::is_integral_v<From>)
      round(to_double_for_rounding(value), to);
    else
      round(value, to);
    return to;
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return saturate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class T>
T& element(std::byte* data, int64_t i) {
  return reinterpret_cast<T*>(data)[i];
}
template <class T>
const T& element(const std::byte* data, int64_t i) {
  return reinterpret_cast<const T*>(data)[i];
}

#if TCC_HAVE_F16C
// The CPU's own f16 conversions give the same bits as dtype.cpp's, several times faster.
bool cpu_has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  // Asked directly: clang before 15 does not know the name "f16c". AVX includes the system's
  // support.
  return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}
const bool kHaveF16c = cpu_has_f16c();

__attribute__((target("avx,f16c"))) int64_t narrow_f16c(const float* from, uint16_t* to,
                                                        int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), half);
  }
  return i;
}

__attribute__((target("avx,f16c"))) int64_t widen_f16c(const uint16_t* from, float* to,
                                                       int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(half));
  }
  return i;
}
#endif

// Converts as many elements as special code can and says how many those were.
int64_t convert_fast(const void* from, DType from_dtype, void* to, DType to_dtype, int64_t count) {
#if TCC_HAVE_F16C
  if (kHaveF16c && from_dtype == DType::f32 && to_dtype == DType::f16)
    return narrow_f16c(static_cast<const float*>(from), static_cast<uint16_t*>(to), count);
  if (kHaveF16c && from_dtype == DType::f16 && to_dtype == DType::f32)
    return widen_f16c(static_cast<const uint16_t*>(from), static_cast<float*>(to), count);
#endif
  return 0;
}

}  // namespace

HostBytes::HostBytes(size_t size) : size_(size) {
  if (size == 0) return;
  if (size < kMapThreshold) {
    data_ = static_cast<std::byte*>(::operator new(size, kAlignment));
    std::memset(data_, 0, size);
    return;
  }
  data_ = system::allocate_pages(size);
  if (!data_) throw std::bad_alloc();
}

HostBytes::~HostBytes() {
  if (size_ == 0) return;
  if (size_ < kMapThreshold) {
    ::operator delete(data_, kAlignment);
  } else {
    system::free_pages(data_, size_);
  }
}

HostBytes::HostBytes(const HostBytes& other) : HostBytes(other.size_) {
  parallel_for(0, static_cast<int64_t>(size_), kCopyGrain, [&](int64_t first, int64_t last) {
    std::memcpy(data_ + first, other.data_ + first, static_cast<size_t>(last - first));
  });
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
  const auto bytes = tensor_bytes(dtype, shape_);
  if (!bytes)
    fail_input("tensor ", type_text(dtype, shape_), " is too large or has a negative dim");
  numel_ = *bytes / size_bytes(dtype);
  try {
    data_ = HostBytes(static_cast<size_t>(*bytes));
  } catch (const std::bad_alloc&) {
    fail_device("out of host memory: tensor ", type_text(dtype, shape_), " needs ", *bytes,
                " bytes");
  }
}

double Tensor::get(int64_t i) const {
  return visit(dtype_, [&]<class T>(std::type_identity<T>) {
    return static_cast<double>(load(element<T>(data(), i)));
  });
}

int64_t Tensor::get_int(int64_t i) const {
  return visit(dtype_, [&]<class T>(std::type_identity<T>) {
    return store<int64_t>(load(element<T>(data(), i)));
  });
}

void Tensor::set(int64_t i, double value) {
  // Wrapping modulo 2^64 first changes nothing for narrower integers, and int64_t holds the result
  // exactly.
  if (is_integer(dtype_)) return set_int(i, static_cast<int64_t>(round_to(DType::i64, value)));
  visit(dtype_, [&]<class T>(std::type_identity<T>) { element<T>(data(), i) = store<T>(value); });
}

void Tensor::set_int(int64_t i, int64_t value) {
  visit(dtype_, [&]<class T>(std::type_identity<T>) { element<T>(data(), i) = store<T>(value); });
}

void convert(const void* from, DType from_dtype, void* to, DType to_dtype, int64_t count) {
  const int64_t done = convert_fast(from, from_dtype, to, to_dtype, count);
  visit(from_dtype, [&]<class From>(std::type_identity<From>) {
    visit(to_dtype, [&]<class To>(std::type_identity<To>) {
      auto* source = static_cast<const From*>(from);
      auto* target = static_cast<To*>(to);
      for (int64_t i = done; i < count; ++i) target[i] = store<To>(load(source[i]));
    });
  });
}

Tensor cast(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor result(dtype, tensor.shape());
  const int from_bytes = size_bytes(tensor.dtype()), to_bytes = size_bytes(dtype);
  parallel_for(0, tensor.numel(), kConvertGrain, [&](int64_t first, int64_t last) {
    convert(tensor.data() + first * from_bytes, tensor.dtype(), result.data() + first * to_bytes,
            dtype, last - first);
  });
  return result;
}

std::optional<int64_t> tensor_bytes(DType dtype, std::span<const int64_t> shape) {
  const auto count = checked_product(shape);
  const auto bytes = count ? checked_mul(*count, size_bytes(dtype)) : std::nullopt;
  return bytes && *bytes <= Tensor::max_bytes ? bytes : std::nullopt;
}

std::string type_text(DType dtype, std::span<const int64_t> shape) {
  std::string text{name(dtype)};
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + ']';
}

}  // namespace tcc
