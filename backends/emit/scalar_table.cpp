#include "backends/emit/scalar_table.h"

#include "backends/emit/printer.h"
#include "support/error.h"

namespace tcc::backends {

using ir::Fn;

namespace {

std::string binary(const std::vector<std::string>& args, std::string_view op) {
  return "(" + args[0] + " " + std::string(op) + " " + args[1] + ")";
}

bool wraps(const Dialect& dialect, DType dtype) {
  return dialect.wrapping.empty() || (dtype != DType::i32 && dtype != DType::i64);
}

// A sum, difference or product; those of integers of 8 and 16 bits are computed in 32 bits.
std::string arithmetic(const Dialect& dialect, DType dtype, const std::vector<std::string>& args,
                       std::string_view op) {
  if (wraps(dialect, dtype)) return binary(args, op);
  return fill(dialect.wrapping, {{"type", compute_type(dtype)},
                                 {"unsigned", dtype == DType::i64 ? "u64" : "u32"},
                                 {"a", without_parentheses(args[0])},
                                 {"op", std::string(op)},
                                 {"b", without_parentheses(args[1])}});
}

std::string negative(const Dialect& dialect, DType dtype, const std::string& value) {
  const bool by_sign = is_float(dtype) || (info(dtype).is_signed && wraps(dialect, dtype));
  return by_sign ? "(-" + value + ")"
                 : arithmetic(dialect, dtype, {compute_type(dtype) + "(0)", value}, "-");
}

// The value, through a function where there is one.
std::string through(const std::string& function, const std::string& value) {
  return function.empty() ? value : "tcc_" + function + "(" + value + ")";
}

std::string spell_int(const Dialect& dialect, Fn fn, DType dtype,
                      const std::vector<std::string>& args) {
  std::string type = compute_type(dtype);
  std::string zero = type + "(0)", one = type + "(1)";
  bool is_signed = info(dtype).is_signed;
  switch (fn) {
    case Fn::minimum: return "min(" + args[0] + ", " + args[1] + ")";
    case Fn::maximum: return "max(" + args[0] + ", " + args[1] + ")";
    case Fn::abs:
      return is_signed ? "(" + args[0] + " < " + zero + " ? " +
                             without_parentheses(negative(dialect, dtype, args[0])) + " : " +
                             args[0] + ")"
                       : args[0];
    case Fn::sign:
      return is_signed ? "(" + args[0] + " > " + zero + " ? " + one + " : " + args[0] + " < " +
                             zero + " ? -" + one + " : " + zero + ")"
                       : "(" + args[0] + " > " + zero + " ? " + one + " : " + zero + ")";
    case Fn::fma:
      return arithmetic(dialect, dtype, {arithmetic(dialect, dtype, args, "*"), args[2]}, "+");
    case Fn::floor:
    case Fn::ceil:
    case Fn::round:
    case Fn::trunc: return args[0];
    case Fn::isnan:
    case Fn::isinf: return "false";
    case Fn::isfinite: return "true";
    case Fn::bitwise_and: return binary(args, "&");
    case Fn::bitwise_or: return binary(args, "|");
    case Fn::bitwise_xor: return binary(args, "^");
    case Fn::bitwise_not: return "(~" + args[0] + ")";
    default: break;
  }
  throw InternalError(str("no spelling of ", ir::name(fn), " for ", name(dtype)));
}

std::string spell_bool(Fn fn, const std::vector<std::string>& args) {
  switch (fn) {
    case Fn::mul:
    case Fn::minimum:
    case Fn::bitwise_and: return binary(args, "&&");
    case Fn::add:
    case Fn::maximum:
    case Fn::bitwise_or: return binary(args, "||");
    case Fn::bitwise_xor: return binary(args, "!=");
    case Fn::bitwise_not: return "(!" + args[0] + ")";
    // false < true.
    case Fn::lt: return "(!" + args[0] + " && " + args[1] + ")";
    case Fn::le: return "(!" + args[0] + " || " + args[1] + ")";
    case Fn::gt: return "(" + args[0] + " && !" + args[1] + ")";
    case Fn::ge: return "(" + args[0] + " || !" + args[1] + ")";
    case Fn::isnan:
    case Fn::isinf: return "false";
    case Fn::isfinite: return "true";
    default: break;
  }
  throw InternalError(str("no spelling of ", ir::name(fn), " for bool"));
}

}  // namespace

bool repeats_operands(Fn fn, DType operand) {
  return !is_float(operand) && (fn == Fn::abs || fn == Fn::sign);
}

std::string library_call(const std::string& function, const std::vector<std::string>& args) {
  std::string text = "tcc_" + function + "(";
  for (size_t i = 0; i < args.size(); ++i) text += (i ? ", " : "") + without_parentheses(args[i]);
  return text + ")";
}

std::string spell(const Dialect& dialect, Fn fn, DType operand,
                  const std::vector<std::string>& args) {
  switch (fn) {
    case Fn::logical_and: return binary(args, "&&");
    case Fn::logical_or: return binary(args, "||");
    case Fn::logical_not: return "(!" + args[0] + ")";
    case Fn::eq: return binary(args, "==");
    case Fn::ne: return binary(args, "!=");
    case Fn::select: return "(" + args[0] + " ? " + args[1] + " : " + args[2] + ")";
    default: break;
  }
  if (operand == DType::boolean) return spell_bool(fn, args);
  if (const std::string function = sched::function_of(fn, operand); !function.empty())
    return wrap_narrow(operand, library_call(function, args));
  switch (fn) {
    case Fn::lt: return binary(args, "<");
    case Fn::le: return binary(args, "<=");
    case Fn::gt: return binary(args, ">");
    case Fn::ge: return binary(args, ">=");
    case Fn::neg: return wrap_narrow(operand, negative(dialect, operand, args[0]));
    case Fn::add: return wrap_narrow(operand, arithmetic(dialect, operand, args, "+"));
    case Fn::sub: return wrap_narrow(operand, arithmetic(dialect, operand, args, "-"));
    case Fn::mul: return wrap_narrow(operand, arithmetic(dialect, operand, args, "*"));
    default: break;
  }
  return wrap_narrow(operand, spell_int(dialect, fn, operand, args));
}

std::string wrap_narrow(DType dtype, const std::string& value) {
  switch (dtype) {
    case DType::i8: return "((" + value + " << 24) >> 24)";
    case DType::i16: return "((" + value + " << 16) >> 16)";
    case DType::u8: return "(" + value + " & 0xffu)";
    case DType::u16: return "(" + value + " & 0xffffu)";
    default: return value;
  }
}

std::string spell_cast(DType from, DType to, const std::string& value) {
  const std::string source = compute_type(from), target = compute_type(to);
  if (to == DType::boolean)
    return from == DType::boolean ? value : "(" + value + " != " + source + "(0))";
  if (is_low_precision(to) && from == to) return value;
  if (const std::vector<std::string> functions = sched::cast_functions(from, to);
      !functions.empty()) {
    std::string text = is_low_precision(to) && !is_float(from) ? "f32(" + value + ")" : value;
    for (const std::string& function : functions) text = through(function, text);
    return text;
  }
  return wrap_narrow(to, source == target ? value : target + "(" + value + ")");
}

std::string spell_bit_cast(DType from, DType to, const std::string& value) {
  const std::string function = sched::bits_function(from);
  const std::string bits = !function.empty()       ? through(function, value)
                           : size_bytes(from) == 8 ? "u64(" + value + ")"
                                                   : "u32(" + value + ")";
  if (!is_float(to)) return wrap_narrow(to, compute_type(to) + "(" + bits + ")");
  const std::string mask = size_bytes(to) == 1 ? " & 0xffu" : " & 0xffffu";
  return through(sched::from_bits_function(to), is_low_precision(to) ? bits + mask : bits);
}

std::string from_storage(DType stored, const std::string& raw) {
  if (is_low_precision(stored)) return through(sched::load_function(stored), "u32(" + raw + ")");
  switch (stored) {
    case DType::i8:
    case DType::i16: return "i32(" + raw + ")";
    case DType::u8:
    case DType::u16: return "u32(" + raw + ")";
    case DType::boolean: return "(u32(" + raw + ") != 0u)";
    default: return raw;
  }
}

std::string to_storage(DType stored, DType from, const std::string& value,
                       const std::string& storage_type) {
  if (is_low_precision(stored))
    return storage_type + "(" + through(sched::store_function(stored, from), value) + ")";
  switch (stored) {
    case DType::i8:
    case DType::i16:
    case DType::u8:
    case DType::u16: return storage_type + "(" + value + ")";
    case DType::boolean: return storage_type + "((" + value + ") ? 1 : 0)";
    default: return value;
  }
}

}  // namespace tcc::backends
