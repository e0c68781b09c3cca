// The text of a size expression, which may come from anyone.
#include <optional>
#include <string>

#include "ir/symint.h"
#include "support/checked.h"
#include "support/error.h"
#include "support/expression_cursor.h"

namespace tcc::ir {

namespace {

constexpr size_t kMaxLength = 4096;
constexpr std::string_view kExpected = "expected a number, a name or '('";

//   sum     = product {("+" | "-") product}
//   product = unary {("*" | "//" | "%") unary}
//   unary   = "-" unary | integer | name | ("min" | "max") "(" sum "," sum ")" | "(" sum ")"
class SizeParser : ExpressionCursor {
 public:
  explicit SizeParser(std::string_view text) : ExpressionCursor(text) {}

  SymInt parse() {
    if (text().size() > kMaxLength)
      fail_input("size expression of ", text().size(), " characters; the limit is ", kMaxLength);
    SymInt result = sum();
    if (!at_end()) fail("expected an operator");
    return result;
  }

 private:
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
      fail_at(column, error.what());
    }
  }

  SymInt sum() {
    SymInt result = product();
    for (;;) {
      const bool plus = accept("+");
      if (!plus && !accept("-")) return result;
      const size_t column = position() - 1;
      const SymInt right = product();
      result = located(column, [&] { return plus ? result + right : result - right; });
    }
  }

  SymInt product() {
    SymInt result = unary();
    for (;;) {
      at_end();
      const size_t column = position();
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
        if (peek() == '/') fail("expected an operator ('//' divides)");
        return result;
      }
    }
  }

  SymInt divisor() {
    at_end();
    const size_t column = position();
    SymInt value = unary();
    if (value.range().hi > 0) return value;
    fail_at(column, "the divisor is not positive");
  }

  SymInt unary() {
    return nested([&] { return primary(); });
  }

  SymInt primary() {
    if (at_end()) fail(kExpected);
    const size_t column = position();
    if (accept("-")) {
      at_end();
      const size_t begin = position();
      // The number is read with its sign, since the least integer has no positive counterpart.
      if (const std::string_view number = digits(); !number.empty())
        return integer(number, -1, begin);
      const SymInt value = unary();
      return located(column, [&] { return -value; });
    }
    if (accept("(")) {
      SymInt value = sum();
      expect(")");
      return value;
    }
    if (const std::string_view number = digits(); !number.empty())
      return integer(number, 1, column);
    const std::string_view name = word();
    if (name.empty()) fail(kExpected);
    return accept("(") ? function(name, column) : SymInt::symbol(std::string(name));
  }

  SymInt integer(std::string_view number, int64_t sign, size_t column) {
    int64_t value = 0;
    for (const char digit : number) {
      const auto shifted = checked_mul(value, 10);
      const auto next = shifted ? checked_add(*shifted, sign * (digit - '0')) : std::nullopt;
      if (!next) fail_at(column, "the number is too large");
      value = *next;
    }
    return value;
  }

  SymInt function(std::string_view name, size_t column) {
    if (name != "min" && name != "max") fail_at(column, str("unknown function '", name, "'"));
    const SymInt left = sum();
    expect(",");
    const SymInt right = sum();
    expect(")");
    return located(column, [&] { return name == "min" ? min(left, right) : max(left, right); });
  }
};

}  // namespace

SymInt parse_symint(std::string_view text) { return SizeParser(text).parse(); }

}  // namespace tcc::ir
