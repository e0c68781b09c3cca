// The text of a size expression, which may come from anyone.
#include <cctype>
#include <optional>
#include <string>

#include "ir/symint.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::ir {

namespace {

constexpr size_t kMaxLength = 4096;
constexpr int kMaxDepth = 64;

//   sum     = product {("+" | "-") product}
//   product = unary {("*" | "//" | "%") unary}
//   unary   = "-" unary | integer | name | ("min" | "max") "(" sum "," sum ")" | "(" sum ")"
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  SymInt parse() {
    if (text_.size() > kMaxLength)
      fail_input("size expression of ", text_.size(), " characters; the limit is ", kMaxLength);
    SymInt result = sum();
    if (!at_end()) fail("expected an operator");
    return result;
  }

 private:
  [[noreturn]] void fail(std::string_view reason) const {
    fail_input(reason, " at column ", position_ + 1, " of '", text_, "'");
  }

  bool at_end() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])))
      ++position_;
    return position_ == text_.size();
  }

  bool accept(std::string_view token) {
    if (at_end() || text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) fail(str("expected '", token, "'"));
  }

  // Runs an operation whose errors should name the place.
  template <class Operation>
  SymInt located(size_t column, const Operation& operation) {
    try {
      SymInt result = operation();
      // Multiplied out, a short text may stand for a very long one.
      if (result.terms().size() > 1 && result.to_string().size() > kMaxLength)
        fail_input("size expression is too large");
      return result;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_input) throw;
      position_ = column;
      fail(error.what());
    }
  }

  SymInt sum() {
    SymInt result = product();
    for (;;) {
      const bool plus = accept("+");
      if (!plus && !accept("-")) return result;
      const size_t column = position_ - 1;
      const SymInt right = product();
      result = located(column, [&] { return plus ? result + right : result - right; });
    }
  }

  SymInt product() {
    SymInt result = unary();
    for (;;) {
      at_end();
      const size_t column = position_;
      if (accept("*")) {
        const SymInt right = unary();
        result = located(column, [&] { return result * right; });
      } else if (accept("//")) {
        const SymInt right = divisor();
        result = located(column, [&] { return floordiv(result, right); });
      } else if (accept("%")) {
        const SymInt right = divisor();
        result = located(column, [&] { return mod(result, right); });
      } else {
        if (!at_end() && text_[position_] == '/') fail("expected an operator ('//' divides)");
        return result;
      }
    }
  }

  SymInt divisor() {
    at_end();
    const size_t column = position_;
    SymInt value = unary();
    if (value.range().hi > 0) return value;
    position_ = column;
    fail("the divisor is not positive");
  }

  SymInt unary() {
    if (depth_ == kMaxDepth) fail(str("nested more than ", kMaxDepth, " deep"));
    ++depth_;
    SymInt result = primary();
    --depth_;
    return result;
  }

  SymInt primary() {
    if (at_end()) fail("expected a number, a name or '('");
    const size_t column = position_;
    if (accept("-")) {
      if (!at_end() && is_digit(text_[position_])) return integer(-1);
      const SymInt value = unary();
      return located(column, [&] { return -value; });
    }
    if (accept("(")) {
      SymInt value = sum();
      expect(")");
      return value;
    }
    const char first = text_[position_];
    if (is_digit(first)) return integer(1);
    if (!is_name_start(first)) fail("expected a number, a name or '('");
    return name();
  }

  SymInt integer(int64_t sign) {
    const size_t column = position_;
    int64_t value = 0;
    for (; position_ < text_.size() && is_digit(text_[position_]); ++position_) {
      // Accumulated with its sign, as the least integer has no positive counterpart.
      const auto shifted = checked_mul(value, 10);
      const auto next =
          shifted ? checked_add(*shifted, sign * (text_[position_] - '0')) : std::nullopt;
      if (!next) {
        position_ = column;
        fail("the number is too large");
      }
      value = *next;
    }
    return value;
  }

  SymInt name() {
    const size_t column = position_;
    while (position_ < text_.size() &&
           (is_name_start(text_[position_]) || is_digit(text_[position_])))
      ++position_;
    const std::string word(text_.substr(column, position_ - column));
    if (!accept("(")) return SymInt::symbol(word);
    if (word != "min" && word != "max") {
      position_ = column;
      fail(str("unknown function '", word, "'"));
    }
    const SymInt left = sum();
    expect(",");
    const SymInt right = sum();
    expect(")");
    return located(column, [&] { return word == "min" ? min(left, right) : max(left, right); });
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

SymInt parse_symint(std::string_view text) { return Parser(text).parse(); }

}  // namespace tcc::ir
