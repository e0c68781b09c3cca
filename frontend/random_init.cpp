#include "frontend/random_init.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support/error.h"
#include "support/hash.h"
#include "support/parallel.h"

// Floating-point expressions here are +, -, * and sqrt only, which every machine rounds alike as
// long as the compiler contracts none of them to fma (the build passes -ffp-contract=off).

namespace tcc {
namespace {

// One block is the unit of work; every loop over it has a constant count, so that compilers make
// vector code of it.
constexpr int kBlock = 1024;        // elements
constexpr int kQuads = kBlock / 4;  // counters: one gives four words
constexpr int64_t kBlocksPerTask = 64;

// words[w][j] is word w of the counter `first_quad + j`.
struct BlockWords {
  uint32_t words[4][kQuads];
};

inline PhiloxWords philox_rounds(PhiloxWords c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xd2511f53} * c.word[0],
                   product1 = uint64_t{0xcd9e8d57} * c.word[2];
    c = {{static_cast<uint32_t>(product1 >> 32) ^ c.word[1] ^ key0, static_cast<uint32_t>(product1),
          static_cast<uint32_t>(product0 >> 32) ^ c.word[3] ^ key1,
          static_cast<uint32_t>(product0)}};
    key0 += 0x9e3779b9, key1 += 0xbb67ae85;
  }
  return c;
}

void fill_words(BlockWords& block, uint64_t first_quad, uint64_t seed) {
  const auto key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int j = 0; j < kQuads; ++j) {
    const uint64_t counter = first_quad + j;
    const PhiloxWords out = philox_rounds(
        {{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0}}, key0, key1);
    for (int w = 0; w < 4; ++w) block.words[w][j] = out.word[w];
  }
}

// -2 ln(u) for u in (0, 1], by Cephes' logf; never negative.
inline float minus_two_log(float u) {
  // u = (1 + x) * 2^e with 1 + x in [sqrt(1/2), sqrt(2))
  const int32_t bits = std::bit_cast<int32_t>(u) - 0x3f3504f3;
  const auto e = static_cast<float>(bits >> 23);
  const float x = std::bit_cast<float>((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
  float p = 7.0376836292e-2f;
  p = p * x - 1.1514610310e-1f;
  p = p * x + 1.1676998740e-1f;
  p = p * x - 1.2420140846e-1f;
  p = p * x + 1.4249322787e-1f;
  p = p * x - 1.6668057665e-1f;
  p = p * x + 2.0000714765e-1f;
  p = p * x - 2.4999993993e-1f;
  p = p * x + 3.3333331174e-1f;
  const float square = x * x;
  const float low = square * (x * p) + (e * -2.12194440e-4f - 0.5f * square);
  return std::fabs(-2.0f * (e * 0.693359375f + (x + low)));
}

// Box and Muller's transform: each pair of words, one for a radius and one for an angle, gives two
// normal numbers.
void normal_pairs(const uint32_t* radius_words, const uint32_t* angle_words, float deviation,
                  float* first, float* second) {
  float radius[kQuads];
  for (int j = 0; j < kQuads; ++j) {
    // u in (0, 1], with more resolution near 0, where the tail is.
    const float u =
        (static_cast<float>(static_cast<int32_t>(radius_words[j] >> 1)) + 0.5f) * 0x1p-31f;
    radius[j] = minus_two_log(u);
  }
  for (float& r : radius) r = std::sqrt(r);
  for (int j = 0; j < kQuads; ++j) {
    // x in [-pi/4, pi/4); two more bits choose the quarter of the circle.
    constexpr float quarter_pi = 0.785398163397448f;
    const uint32_t word = angle_words[j];
    const float x =
        static_cast<float>(static_cast<int32_t>(word << 2) >> 8) * (0x1p-23f * quarter_pi);
    const float square = x * x;
    float sine = -1.9515295891e-4f * square + 8.3321608736e-3f;
    sine = x + x * square * (sine * square - 1.6666654611e-1f);
    float cosine = 2.443315711809948e-5f * square - 1.388731625493765e-3f;
    cosine = 1.0f - 0.5f * square + square * square * (cosine * square + 4.166664568298827e-2f);
    const uint32_t sign = word << 1 & 0x80000000u;
    const float scale = std::bit_cast<float>(std::bit_cast<uint32_t>(radius[j]) ^ sign) * deviation;
    // Bit arithmetic instead of a choice, for the vectoriser.
    const uint32_t sine_bits = std::bit_cast<uint32_t>(sine),
                   cosine_bits = std::bit_cast<uint32_t>(cosine);
    const uint32_t swapped =
        (sine_bits ^ cosine_bits) & static_cast<uint32_t>(static_cast<int32_t>(word) >> 31);
    first[j] = scale * std::bit_cast<float>(cosine_bits ^ swapped);
    second[j] = scale * std::bit_cast<float>(sine_bits ^ swapped);
  }
}

// Element w * kQuads + j of a block comes from word w of its counter j.
void normal_block(const BlockWords& block, float deviation, float* out) {
  normal_pairs(block.words[0], block.words[1], deviation, out, out + kQuads);
  normal_pairs(block.words[2], block.words[3], deviation, out + 2 * kQuads, out + 3 * kQuads);
}

void uniform_block(const BlockWords& block, double low, double high, float* out) {
  const double step = (high - low) * 0x1p-24;
  for (int w = 0; w < 4; ++w)
    for (int j = 0; j < kQuads; ++j)
      out[w * kQuads + j] =
          static_cast<float>(low + step * static_cast<int32_t>(block.words[w][j] >> 8));
}

// Two words make an element, so that a block of words serves half a block of elements.
void integers_half_block(const BlockWords& block, int64_t low, uint64_t count, int64_t* out) {
  for (int half = 0; half < 2; ++half) {
    for (int j = 0; j < kQuads; ++j) {
      const uint64_t bits = uint64_t{block.words[2 * half + 1][j]} << 32 | block.words[2 * half][j];
      // The high half of a 128-bit product: uniform but for a bias of count / 2^64.
      const auto offset = static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * count >> 64);
      out[half * kQuads + j] = static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
    }
  }
}

void check(DType dtype, const Init& init) {
  switch (init.kind) {
    case Init::Kind::constant: return;
    case Init::Kind::uniform:
      if (!(init.a <= init.b) || !std::isfinite(init.b - init.a))
        fail_input("random values: uniform needs finite low <= high, got [", init.a, ", ", init.b,
                   "]");
      return;
    case Init::Kind::normal:
      if (!(init.a >= 0) || !std::isfinite(init.a))
        fail_input("random values: normal needs a finite deviation of at least 0, got ", init.a);
      return;
    case Init::Kind::integers: {
      if (init.int_low >= init.int_high)
        fail_input("random values: the range [", init.int_low, ", ", init.int_high, ") is empty");
      const bool fits = dtype == DType::u64
                            ? init.int_low >= 0
                            : wrap_to(dtype, init.int_low) == init.int_low &&
                                  wrap_to(dtype, init.int_high - 1) == init.int_high - 1;
      if (!fits)
        fail_input("random values: ", name(dtype), " cannot hold the range [", init.int_low, ", ",
                   init.int_high, ")");
      return;
    }
  }
}

// Fills `out` with the elements [kBlock * block, kBlock * (block + 1)).
void draw_block(const Init& init, uint64_t seed, int64_t block, float* out) {
  BlockWords words;
  fill_words(words, static_cast<uint64_t>(block) * kQuads, seed);
  if (init.kind == Init::Kind::normal) return normal_block(words, static_cast<float>(init.a), out);
  uniform_block(words, init.a, init.b, out);
}

void draw_block(const Init& init, uint64_t seed, int64_t block, int64_t* out) {
  const auto count = static_cast<uint64_t>(init.int_high) - static_cast<uint64_t>(init.int_low);
  for (int half = 0; half < 2; ++half) {
    BlockWords words;
    fill_words(words, (2 * static_cast<uint64_t>(block) + half) * kQuads, seed);
    integers_half_block(words, init.int_low, count, out + half * (kBlock / 2));
  }
}

// Draws in T, whose dtype is `drawn`, and converts.
template <class T>
void fill(Tensor& tensor, DType drawn, const Init& init, uint64_t seed) {
  const int64_t count = tensor.numel();
  const int64_t blocks = (count + kBlock - 1) / kBlock;
  const int bytes = size_bytes(tensor.dtype());
  parallel_for(0, blocks, kBlocksPerTask, [&](int64_t first, int64_t last) {
    T values[kBlock];
    for (int64_t block = first; block < last; ++block) {
      const int64_t begin = block * kBlock;
      draw_block(init, seed, block, values);
      convert(values, drawn, tensor.data() + begin * bytes, tensor.dtype(),
              std::min<int64_t>(kBlock, count - begin));
    }
  });
}

// `from` is the type of the value as it is given.
template <typename T>
void fill_constant(Tensor& tensor, DType from, T value) {
  const int bytes = size_bytes(tensor.dtype());
  const std::vector<T> values(kBlock, value);
  parallel_for(0, tensor.numel(), kBlock * kBlocksPerTask, [&](int64_t first, int64_t last) {
    for (int64_t begin = first; begin < last; begin += kBlock)
      convert(values.data(), from, tensor.data() + begin * bytes, tensor.dtype(),
              std::min<int64_t>(kBlock, last - begin));
  });
}

}  // namespace

Tensor random_tensor(DType dtype, std::vector<int64_t> shape, const Init& init, uint64_t seed) {
  check(dtype, init);
  Tensor tensor(dtype, std::move(shape));
  switch (init.kind) {
    case Init::Kind::constant:
      if (init.whole_value)
        fill_constant(tensor, DType::i64, *init.whole_value);
      else if (init.a != 0 || std::signbit(init.a))  // a tensor begins as zeros
        fill_constant(tensor, DType::f64, init.a);
      break;
    case Init::Kind::uniform:
    case Init::Kind::normal: fill<float>(tensor, DType::f32, init, seed); break;
    case Init::Kind::integers: fill<int64_t>(tensor, DType::i64, init, seed); break;
  }
  return tensor;
}

uint64_t stream_seed(uint64_t seed, std::string_view name) {
  return Hasher{}.add(seed).add(name).digest().low;
}

PhiloxWords philox(const PhiloxWords& counter, uint64_t key) {
  return philox_rounds(counter, static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
}

}  // namespace tcc
