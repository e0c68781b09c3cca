#include "backends/emit/scalar_table.h"

#include "backends/emit/printer.h"
#include "support/error.h"

namespace tcc::backends {

using ir::Fn;

std::string compute_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return "f64";
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3:
    case DType::f8e5m2: return "f32";
    case DType::i8:
    case DType::i16:
    case DType::i32: return "i32";
    case DType::u8:
    case DType::u16:
    case DType::u32: return "u32";
    case DType::i64: return "i64";
    case DType::u64: return "u64";
    case DType::boolean: return "bool";
  }
  throw InternalError("a dtype without a device type");
}

namespace {

std::string binary(const std::vector<std::string>& args, std::string_view op) {
  return "(" + args[0] + " " + std::string(op) + " " + args[1] + ")";
}

std::string library_call(std::string_view name, DType dtype, const std::vector<std::string>& args) {
  std::string text = "tcc_" + std::string(name) + "_" + compute_type(dtype) + "(";
  for (size_t i = 0; i < args.size(); ++i) text += (i ? ", " : "") + without_parentheses(args[i]);
  return text + ")";
}

std::string spell_int(Fn fn, DType dtype, const std::vector<std::string>& args) {
  std::string type = compute_type(dtype);
  std::string zero = type + "(0)", one = type + "(1)";
  bool is_signed = info(dtype).is_signed;
  switch (fn) {
    case Fn::div: return library_call("truncdiv", dtype, args);
    case Fn::floordiv: return library_call("floordiv", dtype, args);
    case Fn::remainder: return library_call("mod", dtype, args);
    case Fn::fmod:
      return is_signed ? library_call("fmod", dtype, args) : library_call("mod", dtype, args);
    case Fn::pow: return library_call("pow", dtype, args);
    case Fn::minimum: return "min(" + args[0] + ", " + args[1] + ")";
    case Fn::maximum: return "max(" + args[0] + ", " + args[1] + ")";
    case Fn::abs:
      return is_signed ? "(" + args[0] + " < " + zero + " ? -" + args[0] + " : " + args[0] + ")"
                       : args[0];
    case Fn::sign:
      return is_signed ? "(" + args[0] + " > " + zero + " ? " + one + " : " + args[0] + " < " +
                             zero + " ? -" + one + " : " + zero + ")"
                       : "(" + args[0] + " > " + zero + " ? " + one + " : " + zero + ")";
    case Fn::fma: return "(" + args[0] + " * " + args[1] + " + " + args[2] + ")";
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
    case Fn::shift_left: return library_call("shl", dtype, args);
    case Fn::shift_right: return library_call("shr", dtype, args);
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

std::string spell_float(Fn fn, DType dtype, const std::vector<std::string>& args) {
  switch (fn) {
    case Fn::minimum: return library_call("min", dtype, args);
    case Fn::maximum: return library_call("max", dtype, args);
    case Fn::fma: return library_call("fma", dtype, args);
    default: break;
  }
  return library_call(ir::name(fn), dtype, args);
}

}  // namespace

bool repeats_operands(Fn fn, DType operand) {
  return !is_float(operand) && (fn == Fn::abs || fn == Fn::sign);
}

std::string spell(Fn fn, DType operand, const std::vector<std::string>& args) {
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
  switch (fn) {
    case Fn::lt: return binary(args, "<");
    case Fn::le: return binary(args, "<=");
    case Fn::gt: return binary(args, ">");
    case Fn::ge: return binary(args, ">=");
    case Fn::neg:
      return wrap_narrow(operand, is_float(operand) || info(operand).is_signed
                                      ? "(-" + args[0] + ")"
                                      : "(" + compute_type(operand) + "(0) - " + args[0] + ")");
    case Fn::add: return wrap_narrow(operand, binary(args, "+"));
    case Fn::sub: return wrap_narrow(operand, binary(args, "-"));
    case Fn::mul: return wrap_narrow(operand, binary(args, "*"));
    default: break;
  }
  return is_float(operand) ? spell_float(fn, operand, args)
                           : wrap_narrow(operand, spell_int(fn, operand, args));
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
  std::string source = compute_type(from), target = compute_type(to);
  if (to == DType::boolean)
    return from == DType::boolean ? value : "(" + value + " != " + source + "(0))";
  // Rounding casts: the result stays an f32 number.
  if (is_low_precision(to)) {
    if (from == to) return value;
    std::string narrow(name(to));
    std::string number = is_float(from) ? value : "f32(" + value + ")";
    return "tcc_" + narrow + "_to_f32(tcc_" + (from == DType::f64 ? "f64" : "f32") + "_to_" +
           narrow + "(" + number + "))";
  }
  if (source == target) return wrap_narrow(to, value);
  // Saturates at the narrow type's bounds.
  if (is_float(from) && !is_float(to))
    return "tcc_" + source + "_to_" + std::string(name(to)) + "(" + value + ")";
  if (source == "i32" && to == DType::i64) return "tcc_i32_to_i64(" + value + ")";
  return wrap_narrow(to, target + "(" + value + ")");
}

std::string spell_bit_cast(DType from, DType to, const std::string& value) {
  const bool wide = size_bytes(from) == 8;
  const std::string target = compute_type(to), of_from(name(from)), of_to(name(to));
  std::string bits = (wide ? "u64(" : "u32(") + value + ")";
  if (is_low_precision(from))
    bits = "tcc_f32_to_" + of_from + "(" + value + ")";
  else if (is_float(from))
    bits = "tcc_" + of_from + "_bits(" + value + ")";
  if (!is_float(to)) return wrap_narrow(to, target + "(" + bits + ")");
  if (!is_low_precision(to)) return "tcc_bits_" + of_to + "(" + bits + ")";
  const std::string mask = size_bytes(to) == 1 ? "0xffu" : "0xffffu";
  return "tcc_" + of_to + "_to_f32(" + bits + " & " + mask + ")";
}

std::string from_storage(DType stored, const std::string& raw) {
  if (is_low_precision(stored))
    return "tcc_" + std::string(name(stored)) + "_to_f32(u32(" + raw + "))";
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
    return storage_type + "(tcc_" + (from == DType::f64 ? "f64" : "f32") + "_to_" +
           std::string(name(stored)) + "(" + value + "))";
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
