#include "ir/expr_fold.h"

#include <vector>

#include "ir/scalar_eval.h"

namespace tcc::ir {

namespace {

// constant() rounds, constant_int() wraps.
Expr constant_of(DType dtype, Number value) {
  return is_float(dtype) ? constant(dtype, value.number) : constant_int(dtype, value.integer);
}

}  // namespace

Expr fold_call(Fn fn, std::span<const Expr> args) {
  const DType dtype = args[0]->dtype;
  std::vector<Number> numbers;
  for (const Expr& arg : args) numbers.push_back({arg->number, arg->integer});
  const auto result = evaluate_call(fn, dtype, numbers);
  return result ? constant_of(info(fn).to_bool ? DType::boolean : dtype, *result) : nullptr;
}

Expr fold_cast(const Expr& value, DType dtype) {
  return constant_of(dtype, evaluate_cast({value->number, value->integer}, value->dtype, dtype));
}

}  // namespace tcc::ir
