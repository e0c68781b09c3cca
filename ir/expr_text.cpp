// Expressions as text, for people.
#include <charconv>
#include <unordered_map>

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
  // `names`: for exact text.
  explicit Printer(const ExprNames* names) : names_(names) {}

  std::string print(const Expr& e) {
    if (names_) count_uses(e);
    append(e);
    return std::move(text_);
  }

 private:
  // A DAG's text as a tree may be exponentially long, so it is cut.
  static constexpr size_t kMaxLength = 8192;

  void count_uses(const Expr& e) {
    if (++uses_[e.get()] > 1) return;
    for (const Expr& arg : e->args) count_uses(arg);
  }

  // The text of what is written already; else "", and the mark of what will be used again.
  std::string mark(const ExprNode& e) {
    const bool worth = e.kind == Kind::call || e.kind == Kind::cast || e.kind == Kind::load ||
                       e.kind == Kind::reduce || e.kind == Kind::shuffle;
    if (!worth || uses_[&e] < 2) return "";
    const auto [entry, is_new] = marks_.try_emplace(&e, marks_.size() + 1);
    const std::string mark = "#" + std::to_string(entry->second);
    if (!is_new) return mark;
    text_ += mark + "=";
    return "";
  }

  std::string text_of(const SymInt& index) const {
    return names_ ? index.to_string(names_->atom) : index.to_string();
  }
  std::string text_of(const Variable& variable) const {
    return names_ ? names_->variable(variable) : variable.name;
  }

  void append(const Expr& e) {
    if (names_) {
      const std::string written = mark(*e);
      text_ += written;
      if (!written.empty()) return;
    } else if (text_.size() > kMaxLength) {
      if (!text_.ends_with("...")) text_ += "...";
      return;
    }
    switch (e->kind) {
      case Kind::constant: return append_constant(*e);
      case Kind::index: text_ += "[" + text_of(e->index) + "]"; return;
      case Kind::load:
        text_ += "load(" +
                 (names_ ? names_->buffer(e->buffer, e->stored) : "b" + std::to_string(e->buffer)) +
                 ", " + text_of(e->index) + ")";
        return;
      case Kind::var: text_ += text_of(e->variable); return;
      case Kind::call: return append_call(*e);
      case Kind::cast:
        return append_function((keeps_bits(*e) ? "bits_" : "") + std::string(name(e->dtype)),
                               e->args);
      case Kind::reduce: return append_reduce(*e);
      case Kind::element: text_ += text_of(e->variable) + "[" + text_of(e->index) + "]"; return;
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
    if (!names_ || e.dtype == DType::boolean || e.dtype == DType::i64) return;
    if (e.dtype != DType::f32)
      text_ += ":" + std::string(name(e.dtype));
    else if (std::string_view(digits, end).find_first_of(".en") == std::string_view::npos)
      text_ += ".0";
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
    text_ += (names_ ? "reduce_" : "") + std::string(name(e.reduce)) + "[";
    for (const SymInt& axis : e.axes) {
      if (&axis != &e.axes.front()) text_ += ", ";
      text_ += text_of(axis) + " < " + text_of(extent_of(axis));
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

  const ExprNames* names_;
  std::unordered_map<const ExprNode*, int> uses_;
  std::unordered_map<const ExprNode*, size_t> marks_;
  std::string text_;
};

}  // namespace

std::string to_string(const Expr& e) { return Printer(nullptr).print(e); }
std::string exact_text(const Expr& e, const ExprNames& names) { return Printer(&names).print(e); }

}  // namespace tcc::ir
