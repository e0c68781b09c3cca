#include "scheduler/library_functions.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "scheduler/index_range.h"
#include "support/error.h"

namespace tcc::sched {

using ir::ExprNode;
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

std::string typed(std::string_view name, DType dtype) {
  return str(name, "_", compute_type(dtype));
}

std::string function_of_integers(Fn fn, DType dtype) {
  switch (fn) {
    case Fn::div: return typed("truncdiv", dtype);
    case Fn::floordiv: return typed("floordiv", dtype);
    case Fn::remainder: return typed("mod", dtype);
    case Fn::fmod: return typed(info(dtype).is_signed ? "fmod" : "mod", dtype);
    case Fn::pow: return typed("pow", dtype);
    case Fn::shift_left: return typed("shl", dtype);
    case Fn::shift_right: return typed("shr", dtype);
    default: return "";
  }
}

}  // namespace

std::string function_of(Fn fn, DType operand) {
  if (fn == Fn::rand_uniform) return "uniform_f32";
  if (fn == Fn::rand_normal) return "normal_f32";
  if (operand == DType::boolean) return "";
  switch (fn) {
    case Fn::logical_and:
    case Fn::logical_or:
    case Fn::logical_not:
    case Fn::eq:
    case Fn::ne:
    case Fn::lt:
    case Fn::le:
    case Fn::gt:
    case Fn::ge:
    case Fn::select:
    case Fn::neg:
    case Fn::add:
    case Fn::sub:
    case Fn::mul: return "";
    default: break;
  }
  if (!is_float(operand)) return function_of_integers(fn, operand);
  if (fn == Fn::minimum) return typed("min", operand);
  if (fn == Fn::maximum) return typed("max", operand);
  return typed(ir::name(fn), operand);
}

std::string function_of_call(const ExprNode& call) {
  const DType operand = call.args[0]->dtype;
  if (call.fn != Fn::div || compute_type(operand) != "f32") return function_of(call.fn, operand);
  const ExprNode& by = *call.args[1];
  const double size = by.kind == ExprNode::Kind::constant ? std::abs(by.number) : 0;
  const bool is_number = size >= 0x1p-20 && size <= 0x1p20;
  return is_number ? "div_number_f32" : function_of(call.fn, operand);
}

float reciprocal_of(const ExprNode& call) {
  return 1.0f / static_cast<float>(call.args[1]->number);
}

std::string constant_function(const ExprNode& constant) {
  if (!is_float(constant.dtype)) return "";
  const std::string type = constant.dtype == DType::f64 ? "f64" : "f32";
  if (std::isnan(constant.number)) return "nan_" + type;
  return std::isinf(constant.number) ? "inf_" + type : "";
}

std::string load_function(DType stored) {
  return is_low_precision(stored) ? str(name(stored), "_to_f32") : "";
}

std::string store_function(DType stored, DType from) {
  if (!is_low_precision(stored)) return "";
  return str(from == DType::f64 ? "f64" : "f32", "_to_", name(stored));
}

std::string unpack_function(DType stored) {
  if (stored == DType::f32 || stored == DType::bf16) return "bits_f32";
  return load_function(stored);
}

std::string pack_function(DType stored) {
  if (is_low_precision(stored)) return str("pack_", name(stored));
  return stored == DType::f32 ? "f32_bits" : "";
}

std::vector<std::string> cast_functions(DType from, DType to) {
  if (to == DType::boolean || (is_low_precision(to) && from == to)) return {};
  // Rounding casts: the result stays an f32 number.
  if (is_low_precision(to)) return {store_function(to, from), load_function(to)};
  const std::string source = compute_type(from);
  if (source == compute_type(to)) return {};
  // Saturates at the narrow type's bounds.
  if (is_float(from) && !is_float(to)) return {str(source, "_to_", name(to))};
  if (source == "i32" && to == DType::i64) return {"i32_to_i64"};
  return {};
}

std::string bits_function(DType from) {
  if (is_low_precision(from)) return store_function(from, DType::f32);
  return is_float(from) ? str(name(from), "_bits") : "";
}

std::string from_bits_function(DType to) {
  if (is_low_precision(to)) return load_function(to);
  return is_float(to) ? str("bits_", name(to)) : "";
}

std::string hidden_zero_function(DType dtype) { return typed("hidden_zero", dtype); }

bool has_hidden_zero(const ExprNode& e) {
  const bool computes = e.fn == Fn::add || e.fn == Fn::sub || e.fn == Fn::mul || e.fn == Fn::fma;
  if (!computes || !is_float(e.dtype)) return false;
  const auto is_constant = [](const ir::Expr& arg) {
    return arg->kind == ExprNode::Kind::constant;
  };
  return !std::all_of(e.args.begin(), e.args.end(), is_constant) &&
         std::any_of(e.args.begin(), e.args.end(),
                     [&](const ir::Expr& arg) { return is_constant(arg) && arg->number == 0; });
}

std::string index_function(const ir::Atom& atom, const std::string& index_type) {
  const bool division = atom.kind == ir::Atom::Kind::floordiv;
  if (!division && atom.kind != ir::Atom::Kind::mod) return "";
  const ir::SymInt& by = atom.args[1];
  if (by.is_const() && std::has_single_bit(static_cast<uint64_t>(by.value()))) return "";
  if (atom.args[0].range().lo >= 0) {
    const bool wide = index_type == "i64" && !(fits_32_bits(atom.args[0]) && fits_32_bits(by));
    return !wide ? "" : division ? "indexdiv_i64" : "indexmod_i64";
  }
  return (division ? "floordiv_" : "mod_") + index_type;
}

}  // namespace tcc::sched
