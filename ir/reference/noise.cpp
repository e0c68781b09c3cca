#include "ir/reference/noise.h"

#include <algorithm>

#include "support/checked.h"

namespace tcc::ir {
namespace {

double ulp(DType dtype) { return std::ldexp(1.0, -info(dtype).mantissa_bits); }

double elements(const Value& value) {
  return std::max(static_cast<double>(checked_product(const_shape(value)).value_or(0)), 1.0);
}

}  // namespace

double combined_values(const Node& node) {
  if (node.outputs.empty() || node.op->kind == OpKind::view) return 1;
  const double out = elements(*node.outputs[0]);
  double product = 1, largest = 1, most = 1;
  for (const Value* input : node.inputs) {
    if (!input) continue;
    product *= elements(*input);
    largest = std::max(largest, elements(*input));
  }
  // A product [m, k] x [k, n] has mk kn / mn = k^2. No operand is read more often than whole.
  if (node.op->kind == OpKind::contraction)
    return std::max(1.0, std::min(std::sqrt(product / out), largest));
  if (node.op->kind == OpKind::reduce) return std::max(1.0, largest / out);
  if (node.op->kind == OpKind::scan)
    for (const int64_t dim : const_shape(*node.outputs[0]))
      most = std::max(most, static_cast<double>(dim));
  return most;
}

double stored_noise(DType dtype) { return 0.5 * ulp(dtype); }

double sum_noise(DType dtype, double combined) {
  // A sum of n terms, one after the other, has an error of about 0.15 sqrt(n) ulp, of its terms'
  // magnitude where they cancel and of its own where they do not.
  return combined > 1 ? 0.125 * std::sqrt(combined) * ulp(compute_dtype(dtype)) : 0;
}

}  // namespace tcc::ir
