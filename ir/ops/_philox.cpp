#include "ir/ops/_philox.h"

#include <cmath>
#include <numbers>

namespace tcc::ir::ops {
namespace {

std::array<uint32_t, 4> words_of(const RandomStream& stream, int64_t i) {
  return philox(stream.seed, stream.offset, static_cast<uint64_t>(i) / 4);
}

}  // namespace

std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  auto key_0 = static_cast<uint32_t>(key), key_1 = static_cast<uint32_t>(key >> 32);
  std::array<uint32_t, 4> counter = {
      static_cast<uint32_t>(counter_low), static_cast<uint32_t>(counter_low >> 32),
      static_cast<uint32_t>(counter_high), static_cast<uint32_t>(counter_high >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t product_0 = uint64_t{0xd2511f53} * counter[0];
    const uint64_t product_1 = uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<uint32_t>(product_1 >> 32) ^ counter[1] ^ key_0,
               static_cast<uint32_t>(product_1),
               static_cast<uint32_t>(product_0 >> 32) ^ counter[3] ^ key_1,
               static_cast<uint32_t>(product_0)};
    key_0 += 0x9e3779b9;  // Weyl sequences: the golden ratio and sqrt(3) - 1
    key_1 += 0xbb67ae85;
  }
  return counter;
}

RandomStream stream_of(const EvalContext& context) {
  const RefTensor* state = context.inputs[0];
  const auto whole = [&](const char* name, size_t place) {
    const auto more = state ? static_cast<uint64_t>(state->i[place]) : 0;
    return static_cast<uint64_t>(context.node.attr<int64_t>(name)) + more;
  };
  return {whole("seed", 0), whole("offset", 1)};
}

double random_uniform(const RandomStream& stream, int64_t i) {
  return (words_of(stream, i)[static_cast<size_t>(i % 4)] >> 8) * 0x1p-24;
}

double random_normal(const RandomStream& stream, int64_t i) {
  const auto words = words_of(stream, i);
  const size_t first = (i & 2) != 0 ? 2 : 0;
  const float u = std::fma(static_cast<float>(words[first]), 0x1p-32f, 0x1p-33f);
  const double radius = std::sqrt(-2 * std::log(static_cast<double>(u)));
  const double angle = words[first + 1] * 0x1p-32 * 2 * std::numbers::pi;
  return radius * ((i & 1) != 0 ? std::sin(angle) : std::cos(angle));
}

}  // namespace tcc::ir::ops
