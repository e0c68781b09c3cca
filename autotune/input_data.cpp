#include "autotune/input_data.h"

#include <algorithm>
#include <cstring>

#include "autotune/random_words.h"
#include "ir/tensor.h"

namespace tcc::autotune {
namespace {

// A prime: no stride of a kernel is a multiple of it, so a wrong address gives a wrong value.
constexpr int64_t kPattern = 1000003;

}  // namespace

ExprBuffer input_pattern(const BenchJob& job, size_t i) {
  const BenchInput& input = job.inputs[i];
  ExprBuffer pattern{.dtype = input.dtype, .elements = input.elements};
  const int64_t count = std::min(input.elements, kPattern);
  RandomWords random(job.seed + i);
  const uint64_t span = std::max<uint64_t>(
      static_cast<uint64_t>(input.int_high) - static_cast<uint64_t>(input.int_low), 1);
  for (int64_t n = 0; n < count; ++n) {
    if (is_float(input.dtype))
      pattern.floats.push_back(round_to(input.dtype, random.uniform(input.low, input.high)));
    else
      pattern.integers.push_back(
          wrap_to(input.dtype,
                  static_cast<int64_t>(static_cast<uint64_t>(input.int_low) + random.below(span))));
  }
  return pattern;
}

std::vector<std::byte> input_data(const BenchJob& job, size_t i) {
  const ExprBuffer pattern = input_pattern(job, i);
  const auto size = static_cast<size_t>(size_bytes(pattern.dtype));
  std::vector<std::byte> data(static_cast<size_t>(pattern.elements) * size);
  const bool floats = is_float(pattern.dtype);
  const size_t count = floats ? pattern.floats.size() : pattern.integers.size();
  if (floats)
    convert(pattern.floats.data(), DType::f64, data.data(), pattern.dtype,
            static_cast<int64_t>(count));
  else
    convert(pattern.integers.data(), DType::i64, data.data(), pattern.dtype,
            static_cast<int64_t>(count));
  for (size_t at = count * size; at < data.size(); at += count * size)
    std::memcpy(&data[at], data.data(), std::min(count * size, data.size() - at));
  return data;
}

}  // namespace tcc::autotune
