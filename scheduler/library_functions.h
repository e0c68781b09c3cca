// The functions of the device math library (backends/device/common) that values need, by name:
// "exp_f32". find-requirements collects them, and backends/emit spells calls of them.
#pragma once

#include <string>
#include <vector>

#include "ir/expr.h"

namespace tcc::sched {

// The device type that values of `dtype` are computed in: f32, f64, i32, u32, i64, u64 or bool.
// Values of narrower floats are f32 numbers that happen to be representable.
std::string compute_type(DType dtype);

// Each is "" where the language's own operators do it.
std::string function_of(ir::Fn fn, DType operand);
// Names the function of a call: div_number_f32 where it divides by a number, which multiplications
// do.
std::string function_of_call(const ir::ExprNode& call);
// 1 / the number that such a call divides by, as f32 rounds it.
float reciprocal_of(const ir::ExprNode& call);
std::string constant_function(const ir::ExprNode& constant);  // infinities and NaN
std::string load_function(DType stored);
std::string store_function(DType stored, DType from);
// One element of a 32-bit word that a vector access moves; of all elements of a word.
std::string unpack_function(DType stored);
std::string pack_function(DType stored);

// The functions are listed in the order in which they are applied.
std::vector<std::string> cast_functions(DType from, DType to);
// The first gives the bits as an unsigned integer, the second takes them.
std::string bits_function(DType from);
std::string from_bits_function(DType to);

// Zero as an operand of float arithmetic, for dialects that hide it from the driver's compiler
// (Dialect::hidden_zero).
std::string hidden_zero_function(DType dtype);
// Whether `call` has such an operand.
bool has_hidden_zero(const ir::ExprNode& call);

// Names the function of an index: a division or remainder whose first operand may be negative.
std::string index_function(const ir::Atom& atom, const std::string& index_type);

}  // namespace tcc::sched
