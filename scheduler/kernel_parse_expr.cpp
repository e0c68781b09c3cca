#include "scheduler/kernel_parse_expr.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "ir/bit_cast.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::Fn;

constexpr int kMaxExprDepth = 500;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

// Longer ones first.
constexpr std::array<std::pair<std::string_view, Fn>, 19> kInfix = {{
    {"//", Fn::floordiv},   {"==", Fn::eq},         {"!=", Fn::ne},
    {"<=", Fn::le},         {">=", Fn::ge},         {"&&", Fn::logical_and},
    {"||", Fn::logical_or}, {"<<", Fn::shift_left}, {">>", Fn::shift_right},
    {"+", Fn::add},         {"-", Fn::sub},         {"*", Fn::mul},
    {"/", Fn::div},         {"%", Fn::remainder},   {"<", Fn::lt},
    {">", Fn::gt},          {"&", Fn::bitwise_and}, {"|", Fn::bitwise_or},
    {"^", Fn::bitwise_xor},
}};

std::optional<Fn> function(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Fn::rand_normal); ++i)
    if (ir::name(static_cast<Fn>(i)) == name) return static_cast<Fn>(i);
  return std::nullopt;
}

}  // namespace

LineParser::Deeper::Deeper(LineParser& line) : parser(line) {
  if (++line.depth_ > kMaxExprDepth) line.fail(str("nested more than ", kMaxExprDepth, " deep"));
}

void LineParser::fail(const std::string& problem) const {
  fail_input("kernel text, line ", line_, ", column ", at_ + 1, ": ", problem);
}

// ---- words

void LineParser::skip_spaces() {
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
}

bool LineParser::at_end() {
  skip_spaces();
  return at_ == text_.size();
}

bool LineParser::peek(std::string_view token) {
  skip_spaces();
  return text_.substr(at_).starts_with(token);
}

bool LineParser::accept(std::string_view token) {
  if (!peek(token)) return false;
  at_ += token.size();
  return true;
}

void LineParser::expect(std::string_view token) {
  if (!accept(token)) fail(str("expected '", token, "'"));
}

std::string_view LineParser::next_word() {
  skip_spaces();
  size_t end = at_;
  while (end < text_.size() && is_word(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

bool LineParser::accept_word(std::string_view word) {
  if (next_word() != word) return false;
  at_ += word.size();
  return true;
}

void LineParser::expect_word(std::string_view word) {
  if (!accept_word(word)) fail(str("expected '", word, "'"));
}

std::string LineParser::word() {
  const std::string_view found = next_word();
  if (found.empty() || is_digit(found[0])) fail("expected a name");
  at_ += found.size();
  return std::string(found);
}

std::string LineParser::path() {
  skip_spaces();
  const size_t end = std::min(text_.find(' ', at_), text_.size());
  if (end == at_) fail("expected a path");
  std::string path(text_.substr(at_, end - at_));
  at_ = end;
  return path;
}

std::string LineParser::rest() {
  skip_spaces();
  const std::string_view text = text_.substr(at_);
  at_ = text_.size();
  return std::string(text);
}

int64_t LineParser::integer() {
  skip_spaces();
  int64_t value = 0;
  const char* begin = text_.data() + at_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) fail("the number is too large");
  if (error != std::errc()) fail("expected a number");
  at_ += static_cast<size_t>(end - begin);
  return value;
}

int64_t LineParser::count() {
  const int64_t value = integer();
  if (value < 0) fail("expected a count");
  return value;
}

DType LineParser::dtype() {
  const std::string name = word();
  const auto dtype = parse_dtype(name);
  if (!dtype) fail(str("unknown dtype '", name, "'"));
  return *dtype;
}

ir::ReduceKind LineParser::reduce_kind(std::string_view name) const {
  for (int i = 0; i <= static_cast<int>(ir::ReduceKind::argmin); ++i)
    if (ir::name(static_cast<ir::ReduceKind>(i)) == name) return static_cast<ir::ReduceKind>(i);
  fail(str("no reduction ", name));
}

int LineParser::buffer() {
  const std::string_view name = next_word();
  const bool plain = name.size() >= 2 && name.size() <= 6 && name[0] == 'b' &&
                     std::all_of(name.begin() + 1, name.end(), is_digit);
  if (!plain) fail("expected a buffer");
  ++at_;
  return static_cast<int>(count());
}

const Variable& LineParser::variable() {
  const std::string name = word();
  const auto found = scope_.variables.find(name);
  if (found == scope_.variables.end()) fail(str("no variable ", name));
  return found->second;
}

// ---- indices

SymInt LineParser::index() {
  const Deeper deeper(*this);
  SymInt sum = accept("-") ? -product() : product();
  for (;;) {
    const bool adds = accept("+");
    if (!adds && !accept("-")) return sum;
    sum = adds ? sum + product() : sum - product();
  }
}

SymInt LineParser::axis(const std::string& name, const SymInt& extent, ir::AxisRole role) {
  if (const auto found = scope_.indices.find(name); found != scope_.indices.end()) {
    const ir::AtomPtr atom = found->second.as_atom();
    const bool is_axis = atom && atom->kind == ir::Atom::Kind::axis && atom->role == role;
    if (is_axis && atom->args[0] == extent) return found->second;
  }
  const SymInt axis = SymInt::axis(name, extent, role);
  if (!axis.is_const()) scope_.indices[name] = axis;
  return axis;
}

SymInt LineParser::product() {
  SymInt result = factor();
  for (;;) {
    if (accept("*")) {
      result = result * factor();
      continue;
    }
    const bool divides = accept("//");
    if (!divides && !accept("%")) return result;
    const SymInt divisor = factor();
    if (divisor.range().lo <= 0) fail("the divisor is not positive");
    result = divides ? floordiv(result, divisor) : mod(result, divisor);
  }
}

SymInt LineParser::factor() {
  const Deeper deeper(*this);
  skip_spaces();
  if (at_ < text_.size() && is_digit(text_[at_])) return integer();
  if (accept("(")) {
    const SymInt inner = index();
    expect(")");
    return inner;
  }
  return named_index();
}

SymInt LineParser::named_index() {
  const std::string name = word();
  if (accept("(")) {
    if (name != "min" && name != "max") fail(str("no function of indices ", name));
    const SymInt a = index();
    expect(",");
    const SymInt b = index();
    expect(")");
    return name == "min" ? min(a, b) : max(a, b);
  }
  if (accept("{")) {
    const int64_t lo = integer();
    expect("..");
    const int64_t hi = integer();
    expect(":");
    if (lo > hi || lo <= -ir::kUnbounded || hi >= ir::kUnbounded) fail("not a range");
    const Expr value = expression();
    expect("}");
    return scope_.indices[name] = SymInt::indirect(name, value, {lo, hi});
  }
  const auto found = scope_.indices.find(name);
  if (found == scope_.indices.end()) fail(str("no index ", name));
  return found->second;
}

// ---- expressions

Expr LineParser::expression() {
  const Deeper deeper(*this);
  if (accept("#")) return marked();
  if (accept("(")) return parenthesised();
  if (accept("[")) {
    const SymInt value = index();
    expect("]");
    return ir::index_value(value);
  }
  if (accept("!")) return unary(Fn::logical_not);
  if (accept("~")) return unary(Fn::bitwise_not);
  const size_t sign = peek("-") ? 1 : 0;
  const std::string_view after = text_.substr(std::min(text_.size(), at_ + sign));
  const bool is_number = !after.empty() && (is_digit(after[0]) || after.starts_with("inf") ||
                                            after.starts_with("nan"));
  if (is_number) return number();
  if (accept("-")) return unary(Fn::neg);
  return named(word());
}

Expr LineParser::marked() {
  const int64_t mark = count();
  // "#1=exp(x)" is marked; "#1 == x" compares.
  if (!text_.substr(at_).starts_with("=")) {
    const auto found = marks_.find(mark);
    if (found == marks_.end()) fail(str("no #", mark));
    return found->second;
  }
  ++at_;
  return marks_[mark] = expression();
}

Expr LineParser::unary(Fn fn) { return ir::call(fn, {expression()}); }

Expr LineParser::parenthesised() {
  const Expr a = expression();
  for (const auto& [symbol, fn] : kInfix) {
    if (!accept(symbol)) continue;
    const Expr b = expression();
    expect(")");
    return ir::call(fn, {a, b});
  }
  fail("expected an operator");
}

// Integers are i64 and numbers with a point or an exponent f32, unless a dtype follows.
Expr LineParser::number() {
  skip_spaces();
  size_t end = at_ + (text_[at_] == '-');
  while (end < text_.size() &&
         (is_word(text_[end]) || text_[end] == '.' ||
          ((text_[end] == '+' || text_[end] == '-') && text_[end - 1] == 'e')))
    ++end;
  const std::string_view digits = text_.substr(at_, end - at_);
  at_ = end;
  const auto read = [&]<class T>(T value) {
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || stop != digits.data() + digits.size()) fail("not a number");
    return value;
  };
  const bool real = digits.find_first_of(".en") != std::string_view::npos;
  const DType type = accept(":") ? dtype() : real ? DType::f32 : DType::i64;
  if (is_float(type)) return ir::constant(type, read(double{}));
  if (type == DType::u64) return ir::constant_int(type, static_cast<int64_t>(read(uint64_t{})));
  return ir::constant_int(type, read(int64_t{}));
}

Expr LineParser::named(const std::string& name) {
  if (name == "true" || name == "false") return ir::constant_int(DType::boolean, name == "true");
  if (accept("(")) return call(name);
  const auto found = scope_.variables.find(name);
  if (found == scope_.variables.end()) {
    if (name.starts_with("reduce_")) return reduction(std::string_view(name).substr(7));
    fail(str("no variable ", name));
  }
  const Variable variable = found->second;
  if (!accept("[")) return ir::read(variable);
  const SymInt at = index();
  expect("]");
  return ir::element(variable, at);
}

Expr LineParser::reduction(std::string_view kind) {
  const ir::ReduceKind reduce = reduce_kind(kind);
  expect("[");
  std::vector<SymInt> axes;
  do {
    const std::string name = word();
    expect("<");
    const SymInt extent = index();
    if (extent.range().lo < 0) fail("the extent is negative");
    axes.push_back(axis(name, extent, ir::AxisRole::reduction));
  } while (accept(","));
  expect("]");
  expect("(");
  const Expr body = expression();
  expect(")");
  return ir::reduce(reduce, axes, body);
}

Expr LineParser::load() {
  const int slot = buffer();
  if (slot >= static_cast<int>(arguments_.size())) fail("no such buffer");
  DType stored = arguments_[static_cast<size_t>(slot)].dtype;
  if (accept(":")) stored = dtype();
  expect(",");
  const SymInt offset = index();
  expect(")");
  return ir::load(slot, stored, offset);
}

Expr LineParser::call(const std::string& name) {
  if (name == "load") return load();
  std::vector<Expr> args;
  do args.push_back(expression());
  while (accept(","));
  expect(")");
  const auto one = [&]() -> const Expr& {
    if (args.size() != 1) fail(str(name, " of ", args.size(), " operands"));
    return args[0];
  };
  constexpr std::string_view shuffle = "shuffle_xor", bits = "bits_";
  if (name.starts_with(shuffle)) {
    int64_t mask = 0;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + shuffle.size(), end, mask);
    if (error != std::errc() || stop != end) fail("a shuffle without a mask");
    return ir::shuffle_xor(one(), mask);
  }
  if (name.starts_with(bits))
    if (const auto to = parse_dtype(std::string_view(name).substr(bits.size())))
      return ir::bit_cast(one(), args[0]->dtype, *to);
  if (const auto to = parse_dtype(name)) return ir::cast(one(), *to);
  const auto fn = function(name);
  if (!fn) fail(str("no function ", name));
  return ir::call(*fn, std::move(args));
}

}  // namespace tcc::sched
