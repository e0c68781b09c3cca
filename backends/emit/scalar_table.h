// One table says how each scalar function and cast is written in device code, for all dialects,
// since the device math library gives them one set of names.
#pragma once

#include <string>
#include <vector>

#include "backends/emit/dialect.h"
#include "ir/expr.h"
#include "scheduler/library_functions.h"

namespace tcc::backends {

using sched::compute_type;

// Returns fn(args) as text. Operands that are written more than once must be names.
std::string spell(const Dialect& dialect, ir::Fn fn, DType operand,
                  const std::vector<std::string>& args);
// A call of a function of the device math library.
std::string library_call(const std::string& function, const std::vector<std::string>& args);
// Returns whether an operand of fn appears more than once in the text that `spell` returns.
bool repeats_operands(ir::Fn fn, DType operand);

std::string spell_cast(DType from, DType to, const std::string& value);
// Returns the bits of a value as another type of the same width; one of the two is a float.
std::string spell_bit_cast(DType from, DType to, const std::string& value);

// A bit pattern or number in memory (`storage`, of type stored) as a computed value, and back.
std::string from_storage(DType stored, const std::string& raw);
std::string to_storage(DType stored, DType from, const std::string& value,
                       const std::string& storage_type);

// Wraps a 32-bit result into a narrower integer type.
std::string wrap_narrow(DType dtype, const std::string& value);

}  // namespace tcc::backends
