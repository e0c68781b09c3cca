// The printer's expressions: shared parts become named values, serial reductions become loops.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "backends/emit/printer.h"
#include "backends/emit/scalar_table.h"
#include "ir/bit_cast.h"
#include "support/error.h"

namespace tcc::backends {

using ir::ExprNode;
using ir::Fn;
using Kind = ExprNode::Kind;

std::string Printer::expression(const Expr& e) {
  count_uses(e);
  return render(e);
}

void Printer::count_uses(const Expr& e) {
  if (++uses_[e.get()] > 1) return;
  for (const Expr& arg : e->args) count_uses(arg);
}

std::string Printer::named(const Expr& e, const std::string& text) {
  std::string name = names_.fresh("t");
  line(compute_type(e->dtype) + " " + name + " = " + without_parentheses(text) + ";");
  return shared_[e.get()] = name;
}

std::string Printer::render(const Expr& e) {
  if (auto found = shared_.find(e.get()); found != shared_.end()) return found->second;
  std::string text = render_now(e);
  bool shared = uses_[e.get()] > 1;
  bool worth = e->kind == Kind::call || e->kind == Kind::cast || e->kind == Kind::load ||
               e->kind == Kind::shuffle;
  return shared && worth ? named(e, text) : text;
}

std::string Printer::render_now(const Expr& e) {
  switch (e->kind) {
    case Kind::constant: return constant(e);
    case Kind::index:
      return kernel_.wide_index ? "i64(" + index(e->index) + ")"
                                : spell_cast(DType::i32, DType::i64, index(e->index));
    case Kind::load: return from_storage(e->stored, buffer_element(e->buffer, e->index));
    case Kind::var: return names_.of(e->variable);
    case Kind::element: return names_.of(e->variable) + "[" + array_index(e->index) + "]";
    case Kind::shuffle:
      return fill(dialect_.shuffle_xor,
                  {{"value", render(e->args[0])}, {"mask", std::to_string(e->integer) + "u"}});
    case Kind::cast: {
      const Expr& from = e->args[0];
      if (ir::keeps_bits(*e)) return spell_bit_cast(from->dtype, e->dtype, render(from));
      if (from->kind == Kind::index && !kernel_.wide_index) {
        // Narrow indices convert without a detour over 64 bits.
        bool called = compute_type(e->dtype) != "i32" && e->dtype != DType::boolean;  // f32(...)
        return spell_cast(DType::i32, e->dtype,
                          called ? index(from->index) : index_operand(from->index));
      }
      return spell_cast(from->dtype, e->dtype, render(from));
    }
    case Kind::call: return render_call(e);
    case Kind::reduce: return reduction(e);
  }
  throw InternalError("an expression of unknown kind");
}

// An index or a small integer, to compare with another: no conversion.
std::string Printer::plain_index(const Expr& e) {
  if (e->kind == Kind::index) return index_operand(e->index);
  if (e->kind == Kind::constant) return index_constant(e->integer);
  return "";
}

std::string Printer::render_call(const Expr& e) {
  if (e->fn == Fn::rand_uniform || e->fn == Fn::rand_normal) return render_random(e);
  bool compares = e->fn == Fn::eq || e->fn == Fn::ne || e->fn == Fn::lt || e->fn == Fn::le ||
                  e->fn == Fn::gt || e->fn == Fn::ge;
  if (compares && e->args[0]->dtype == DType::i64) {
    auto plain = [](const Expr& a) { return a->kind == Kind::index || a->kind == Kind::constant; };
    if (plain(e->args[0]) && plain(e->args[1]))
      return spell(dialect_, e->fn, DType::i64, {plain_index(e->args[0]), plain_index(e->args[1])});
  }
  std::vector<std::string> args;
  DType operand = e->args[0]->dtype;
  for (const Expr& arg : e->args) {
    std::string text = render(arg);
    if (repeats_operands(e->fn, operand) && !shared_.count(arg.get()) && arg->kind != Kind::var)
      text = named(arg, text);
    args.push_back(text);
  }
  hide_zeros(e, args);
  const std::string function = sched::function_of_call(*e);
  if (function == sched::function_of(e->fn, operand)) return spell(dialect_, e->fn, operand, args);
  args.push_back(constant(ir::constant(DType::f32, sched::reciprocal_of(*e))));
  return library_call(function, args);
}

void Printer::hide_zeros(const Expr& e, std::vector<std::string>& args) {
  if (dialect_.hidden_zero.empty() || !sched::has_hidden_zero(*e)) return;
  auto is_zero = [](const Expr& arg) { return arg->kind == Kind::constant && arg->number == 0; };
  auto is_variable = [](const Expr& arg) { return arg->kind != Kind::constant; };
  auto other = std::find_if(e->args.begin(), e->args.end(), is_variable);
  std::string& value = args[static_cast<size_t>(other - e->args.begin())];
  if (!shared_.count(other->get()) && (*other)->kind != Kind::var) value = named(*other, value);
  const std::string zero =
      fill(dialect_.hidden_zero, {{"type", compute_type(e->dtype)}, {"value", value}});
  for (size_t i = 0; i < args.size(); ++i)
    if (is_zero(e->args[i])) args[i] = std::signbit(e->args[i]->number) ? "(-" + zero + ")" : zero;
}

std::string Printer::render_random(const Expr& e) {
  std::string text = "tcc_" + sched::function_of(e->fn, e->args[0]->dtype) + "(";
  for (size_t i = 0; i < 3; ++i) {
    const Expr& arg = e->args[i];
    if (i) text += ", ";
    if (arg->kind == Kind::constant) {
      auto bits = static_cast<uint64_t>(arg->integer);
      text += std::to_string(static_cast<uint32_t>(bits)) + "u, " +
              std::to_string(static_cast<uint32_t>(bits >> 32)) + "u";
    } else if (arg->kind == Kind::index && !kernel_.wide_index) {
      text += "u32(" + index(arg->index) + "), 0u";
    } else {
      std::string value = render(arg);
      if (!shared_.count(arg.get())) value = named(arg, value);
      text += "u32(" + value + "), u32(" + value + " >> 32)";
    }
  }
  return text + ")";
}

std::string Printer::reduction(const Expr& e) {
  // Loops over the axes around the body; accumulators before them.
  bool arg = ir::is_arg(e->reduce);
  const Expr& body = e->args[0];
  const DType dtype = body->dtype;
  std::vector<sched::Variable> found = {ir::new_variable("acc", dtype)};
  if (arg) found.push_back(ir::new_variable("pos", DType::i64));
  for (const sched::Variable& variable : found) names_.add(variable);
  const std::string &value = names_.of(found.front()), &result = names_.of(found.back());
  const Expr start = sched::identity_value(e->reduce, dtype);
  line(compute_type(dtype) + " " + value + " = " + without_parentheses(constant(start)) + ";");
  ir::SymInt linear = 0;
  for (const ir::SymInt& axis : e->axes) linear = linear * ir::extent_of(axis) + axis;
  if (arg) line("i64 " + result + " = i64(" + std::to_string(INT32_MAX) + ");");
  for (const ir::SymInt& axis : e->axes) {
    if (axis.is_const()) continue;
    line(loop_head(axis));
    ++indent_;
  }
  auto shared = shared_;
  auto indirect = indirect_;
  // The parts of the body that were named outside stay visible; those named inside do not leave.
  std::vector<Expr> parts = {body};
  if (arg) parts.push_back(ir::index_value(linear));
  const sched::Block step = sched::combine(e->reduce, found, parts);
  auto uses = uses_;
  for (const sched::Stmt& stmt : step) {
    if (stmt.kind == sched::Stmt::Kind::assign) {
      std::string text = expression(stmt.value);
      line(names_.of(stmt.variable) + " = " + without_parentheses(text) + ";");
    } else {
      statement(stmt);
    }
  }
  uses_ = uses;
  shared_ = shared;
  indirect_ = indirect;
  for (const ir::SymInt& axis : e->axes) {
    if (axis.is_const()) continue;
    --indent_;
    line("}");
  }
  return shared_[e.get()] = result;
}

std::string Printer::constant(const Expr& e) const {
  DType dtype = e->dtype;
  if (dtype == DType::boolean) return e->integer ? "true" : "false";
  if (!is_float(dtype)) {
    switch (dtype) {
      case DType::i64:
        return "i64(" +
               fill(e->integer == INT64_MIN ? std::string("-") + dialect_.int64_literal + " - 1"
                                            : dialect_.int64_literal,
                    {{"value", std::to_string(e->integer == INT64_MIN ? INT64_MAX : e->integer)}}) +
               ")";
      case DType::u64: {
        auto bits = static_cast<uint64_t>(e->integer);
        if (bits <= INT64_MAX)
          return "u64(" + fill(dialect_.int64_literal, {{"value", std::to_string(bits)}}) + ")";
        return "(~u64(" + fill(dialect_.int64_literal, {{"value", std::to_string(~bits)}}) + "))";
      }
      case DType::u8:
      case DType::u16:
      case DType::u32: return std::to_string(static_cast<uint32_t>(e->integer)) + "u";
      default: break;
    }
    if (e->integer == INT32_MIN) return "(-2147483647 - 1)";
    return e->integer < 0 ? "(" + std::to_string(e->integer) + ")" : std::to_string(e->integer);
  }
  bool wide = dtype == DType::f64;
  if (const std::string function = sched::constant_function(*e); !function.empty()) {
    const std::string call = "tcc_" + function + "()";
    return std::isnan(e->number) ? call : (e->number < 0 ? "(-" : "(") + call + ")";
  }
  // The shortest text that reads back to the same number.
  char text[64];
  auto number = static_cast<float>(e->number);
  for (int digits = 1; digits <= 9; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(number));
    if (std::strtof(text, nullptr) == number) break;
  }
  // f64(0.1f) is 0.1 rounded to f32, unless glslang folds it: only numbers that f32 holds, with a
  // text that f64 reads the same, may be written so.
  if (wide &&
      (static_cast<double>(number) != e->number || std::strtod(text, nullptr) != e->number)) {
    auto bits = std::bit_cast<uint64_t>(e->number);
    std::snprintf(text, sizeof text, "F64_BITS(0x%08xu, 0x%08xu)",
                  static_cast<unsigned>(bits >> 32), static_cast<unsigned>(bits));
    return text;
  }
  std::string literal = text;
  if (literal.find_first_of(".e") == std::string::npos) literal += ".0";
  literal += "f";
  if (wide) literal = "F64(" + literal + ")";
  return std::signbit(e->number) ? "(" + literal + ")" : literal;
}

}  // namespace tcc::backends
