// A dense, row-major host tensor: weights, constants, inputs and outputs of the tools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/dtype.h"

namespace tcc {

// Zero-filled bytes, aligned to 64. Unlike std::vector's, large ones are not touched before their
// first use: the threads that fill them make their pages.
class HostBytes {
 public:
  HostBytes() = default;
  explicit HostBytes(size_t size);  // throws std::bad_alloc
  ~HostBytes();
  HostBytes(const HostBytes& other);
  HostBytes(HostBytes&& other) noexcept { swap(other); }
  HostBytes& operator=(HostBytes other) noexcept {
    swap(other);
    return *this;
  }

  size_t size() const { return size_; }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }

 private:
  void swap(HostBytes& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

class Tensor {
 public:
  Tensor() = default;
  // A sanity limit of one tensor: far above any model's tensor, and far below an overflow.
  static constexpr int64_t max_bytes = int64_t{1} << 38;

  // Makes zeros. Throws Error(bad_input) when the byte size overflows or exceeds `max_bytes`,
  // Error(device) when memory is out.
  Tensor(DType dtype, std::vector<int64_t> shape);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t numel() const { return numel_; }
  size_t bytes() const { return data_.size(); }
  std::byte* data() { return data_.data(); }
  const std::byte* data() const { return data_.data(); }

  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_.data()), data_.size() / sizeof(T)};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_.data()), data_.size() / sizeof(T)};
  }

  // Element `i` of the flattened tensor, converted (narrow floats widened; u64 reinterpreted by
  // get_int).
  double get(int64_t i) const;
  int64_t get_int(int64_t i) const;
  // Stores with rounding to nearest even / wrapping into the dtype.
  void set(int64_t i, double value);
  void set_int(int64_t i, int64_t value);

 private:
  DType dtype_ = DType::f32;
  std::vector<int64_t> shape_;
  int64_t numel_ = 0;
  HostBytes data_;
};

using TensorPtr = std::shared_ptr<const Tensor>;

// Element-wise conversion on all cores. Float to float rounds once, to nearest even. Float to
// integer truncates towards zero and saturates; NaN becomes 0. Integer to integer wraps. To bool:
// != 0 (NaN is true). From bool: 0 or 1.
Tensor cast(const Tensor& tensor, DType dtype);

// The same for `count` elements of plain memory, on the calling thread. The two must not overlap;
// any alignment of the element types is enough.
void convert(const void* from, DType from_dtype, void* to, DType to_dtype, int64_t count);

// Returns the bytes that a dense tensor takes, or nothing if a dim is negative or the size
// overflows or exceeds Tensor::max_bytes.
std::optional<int64_t> tensor_bytes(DType dtype, std::span<const int64_t> shape);

// "f32[2, 3]", for messages.
std::string type_text(DType dtype, std::span<const int64_t> shape);

}  // namespace tcc
