#include "ir/ops/_sort.h"

#include <algorithm>

namespace tcc::ir::ops {

std::vector<Value*> sorted_along(Builder& b, Value* x, int dim, bool descending, int64_t keep) {
  if (x->rank() == 0) return {x, b.splat(DType::i64, {}, 0)};
  const bool is_bool = x->dtype() == DType::boolean;
  Value* keys = is_bool ? b.cast(x, DType::i32) : x;
  const auto sorted =
      b.ops("sort_runs", {keys},
            {{"dim", static_cast<int64_t>(dim)}, {"descending", descending}, {"keep", keep}});
  return {b.cast(sorted[0], x->dtype()), sorted[1]};
}

std::vector<OpSample> sort_samples(int64_t least) {
  const auto at_least = [&](int64_t n) { return SymInt(std::max(n, least)); };
  using enum DType;
  return {{.inputs = {{f32, {3, at_least(7)}}}, .attrs = {{"dim", 1}}},
          {.inputs = {{f32, {at_least(33), 4}}}, .attrs = {{"dim", 0}}},
          {.inputs = {{f32, {2, at_least(1), 3}}}, .attrs = {{"dim", 1}}},
          {.inputs = {{f32, {2, at_least(300)}}}, .attrs = {{"dim", -1}}},
          {.inputs = {{f16, {2, at_least(40), 2}}}, .attrs = {{"dim", 1}}},
          {.inputs = {{bf16, {at_least(70)}}}, .attrs = {{"dim", 0}}},
          {.inputs = {{f64, {3, at_least(9)}}}, .attrs = {{"dim", 1}}},
          {.inputs = {{i32, {5, at_least(20)}}}, .attrs = {{"dim", 1}}, .int_lo = -3, .int_hi = 3},
          {.inputs = {{i64, {at_least(12), 2}}}, .attrs = {{"dim", 0}}, .int_hi = 4},
          {.inputs = {{i8, {at_least(25)}}}, .attrs = {{"dim", 0}}, .int_lo = -9, .int_hi = 9},
          {.inputs = {{u64, {at_least(11)}}}, .attrs = {{"dim", 0}}, .int_lo = -4, .int_hi = 4},
          {.inputs = {{boolean, {2, at_least(13)}}}, .attrs = {{"dim", 1}}}};
}

}  // namespace tcc::ir::ops
