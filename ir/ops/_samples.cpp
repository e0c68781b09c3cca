#include "ir/ops/_samples.h"

#include <utility>

namespace tcc::ir::ops {
namespace {

using enum DType;

std::vector<OpSample> in_range_of(std::vector<std::vector<Type>> inputs, double lo, double hi) {
  std::vector<OpSample> samples;
  for (auto& types : inputs) samples.push_back({.inputs = std::move(types), .lo = lo, .hi = hi});
  return samples;
}

std::vector<OpSample> in_int_range_of(std::vector<std::vector<Type>> inputs, int64_t lo,
                                      int64_t hi) {
  std::vector<OpSample> samples;
  for (auto& types : inputs)
    samples.push_back({.inputs = std::move(types), .int_lo = lo, .int_hi = hi});
  return samples;
}

}  // namespace

std::vector<OpSample> unary_samples(double lo, double hi) {
  return in_range_of({{{f32, {4, 33}}},
                      {{f32, Shape{}}},
                      {{f32, {3, 1, 7}}},
                      {{f32, {0, 4}}},
                      {{f32, {1}}},
                      {{f32, {2, 3, 4, 5}}},
                      {{f16, {2, 65}}},
                      {{bf16, {130}}},
                      {{f64, {5, 3}}}},
                     lo, hi);
}

std::vector<OpSample> unary_int_samples(int64_t int_lo, int64_t int_hi) {
  return in_int_range_of({{{i32, {3, 17}}}, {{i64, {9}}}, {{i8, {2, 5}}}}, int_lo, int_hi);
}

std::vector<OpSample> binary_samples(double lo, double hi) {
  return in_range_of({{{f32, {3, 33}}, {f32, {3, 33}}},
                      {{f32, {4, 1, 5}}, {f32, {3, 1}}},
                      {{f32, {2, 3}}, {f32, Shape{}}},
                      {{f32, Shape{}}, {f32, Shape{}}},
                      {{f32, {0, 3}}, {f32, {1, 3}}},
                      {{f32, {1}}, {f32, {2, 3, 4, 5}}},
                      {{f16, {2, 17}}, {f16, {17}}},
                      {{bf16, {2, 17}}, {bf16, {2, 1}}},
                      {{f16, {4, 3}}, {f32, {3}}},
                      {{f64, {7}}, {f64, {7}}}},
                     lo, hi);
}

std::vector<OpSample> binary_int_samples(int64_t int_lo, int64_t int_hi) {
  return in_int_range_of(
      {{{i32, {4, 9}}, {i32, {9}}}, {{i64, {5}}, {i32, {3, 1}}}, {{i64, {6, 2}}, {i64, {6, 2}}}},
      int_lo, int_hi);
}

std::vector<OpSample> int_float_samples() {
  return {{.inputs = {{i32, {4, 3}}, {f32, {3}}}}, {.inputs = {{f16, {5}}, {i64, {2, 1}}}}};
}

OpSample unary_bool_sample() { return {.inputs = {{boolean, {3, 5}}}, .int_lo = 0, .int_hi = 2}; }

OpSample binary_bool_sample() {
  return {.inputs = {{boolean, {3, 5}}, {boolean, {5}}}, .int_lo = 0, .int_hi = 2};
}

std::vector<OpSample> operator+(std::vector<OpSample> a, std::vector<OpSample> b) {
  for (OpSample& sample : b) a.push_back(std::move(sample));
  return a;
}

std::vector<OpSample> with_attrs(std::vector<OpSample> samples, const Attrs& attrs) {
  for (OpSample& sample : samples) sample.attrs = attrs;
  return samples;
}

}  // namespace tcc::ir::ops
