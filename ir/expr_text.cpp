// Expressions as text, for people.
#include <charconv>

#include "ir/bit_cast.h"
#include "ir/expr.h"

namespace tcc::ir {

namespace {

using Kind = ExprNode::Kind;

std::string_view infix(Fn fn) {
  switch (fn) {
    case Fn::add: return " + ";
    case Fn::sub: return " - ";
    case Fn::mul: return " * ";
    case Fn::div: return " / ";
    case Fn::floordiv: return " // ";
    case Fn::remainder: return " % ";
    case Fn::eq: return " == ";
    case Fn::ne: return " != ";
    case Fn::lt: return " < ";
    case Fn::le: return " <= ";
    case Fn::gt: return " > ";
    case Fn::ge: return " >= ";
    case Fn::logical_and: return " && ";
    case Fn::logical_or: return " || ";
    case Fn::bitwise_and: return " & ";
    case Fn::bitwise_or: return " | ";
    case Fn::bitwise_xor: return " ^ ";
    case Fn::shift_left: return " << ";
    case Fn::shift_right: return " >> ";
    default: return "";
  }
}

class Printer {
 public:
  std::string print(const Expr& e) {
    append(e);
    return std::move(text_);
  }

 private:
  // As a tree, a DAG's text may be exponentially long: it ends somewhere.
  static constexpr size_t kMaxLength = 8192;

  void append(const Expr& e) {
    if (text_.size() > kMaxLength) {
      if (!text_.ends_with("...")) text_ += "...";
      return;
    }
    switch (e->kind) {
      case Kind::constant: return append_constant(*e);
      case Kind::index: text_ += "[" + e->index.to_string() + "]"; return;
      case Kind::load:
        text_ += "load(b" + std::to_string(e->buffer) + ", " + e->index.to_string() + ")";
        return;
      case Kind::var: text_ += e->name; return;
      case Kind::call: return append_call(*e);
      case Kind::cast:
        return append_function((keeps_bits(*e) ? "bits_" : "") + std::string(name(e->dtype)),
                               e->args);
      case Kind::reduce: return append_reduce(*e);
      case Kind::element: text_ += e->name + "[" + e->index.to_string() + "]"; return;
      case Kind::shuffle:
        return append_function("shuffle_xor" + std::to_string(e->integer), e->args);
    }
  }

  void append_constant(const ExprNode& e) {
    char digits[32];
    char* end = is_float(e.dtype) ? std::to_chars(digits, digits + sizeof digits, e.number).ptr
                                  : std::to_chars(digits, digits + sizeof digits, e.integer).ptr;
    if (e.dtype == DType::boolean)
      text_ += e.integer != 0 ? "true" : "false";
    else if (e.dtype == DType::u64)
      text_ += std::to_string(static_cast<uint64_t>(e.integer));
    else
      text_.append(digits, end);
  }

  void append_call(const ExprNode& e) {
    const std::string_view symbol = infix(e.fn);
    if (!symbol.empty()) {
      text_ += '(';
      append(e.args[0]);
      text_ += symbol;
      append(e.args[1]);
      text_ += ')';
      return;
    }
    if (e.fn == Fn::neg || e.fn == Fn::logical_not || e.fn == Fn::bitwise_not) {
      text_ += e.fn == Fn::neg ? '-' : e.fn == Fn::logical_not ? '!' : '~';
      return append(e.args[0]);
    }
    append_function(name(e.fn), e.args);
  }

  void append_reduce(const ExprNode& e) {
    text_ += name(e.reduce);
    text_ += '[';
    for (const SymInt& axis : e.axes) {
      if (&axis != &e.axes.front()) text_ += ", ";
      text_ += axis.to_string() + " < " + axis.as_atom()->args[0].to_string();
    }
    text_ += ']';
    append_function("", e.args);
  }

  void append_function(std::string_view function, const std::vector<Expr>& args) {
    text_ += function;
    text_ += '(';
    for (size_t i = 0; i < args.size(); ++i) {
      if (i > 0) text_ += ", ";
      append(args[i]);
    }
    text_ += ')';
  }

  std::string text_;
};

}  // namespace

std::string to_string(const Expr& e) { return Printer().print(e); }

}  // namespace tcc::ir
