#include "autotune/user_kernel/expression_parser.h"

#include <array>
#include <charconv>
#include <initializer_list>
#include <span>

#include "support/error.h"
#include "support/expression_cursor.h"

namespace tcc::autotune {
namespace {

using Node = Expression::Node;
using Op = Expression::Op;

constexpr size_t kMaxLength = 1024;

struct Spelling {
  std::string_view text;
  Op op;
};
constexpr std::array kOr = {Spelling{"||", Op::logical_or}};
constexpr std::array kAnd = {Spelling{"&&", Op::logical_and}};
// A spelling that is a prefix of another one comes after it.
constexpr std::array kComparisons = {
    Spelling{"==", Op::equal},      Spelling{"!=", Op::not_equal},
    Spelling{"<=", Op::less_equal}, Spelling{">=", Op::greater_equal},
    Spelling{"<", Op::less},        Spelling{">", Op::greater}};
constexpr std::array kSums = {Spelling{"+", Op::add}, Spelling{"-", Op::subtract}};
constexpr std::array kProducts = {Spelling{"*", Op::multiply}, Spelling{"//", Op::floor_divide},
                                  Spelling{"%", Op::modulo}};
constexpr std::array kFunctions = {Spelling{"min", Op::minimum}, Spelling{"max", Op::maximum},
                                   Spelling{"ceil_div", Op::ceil_divide}};

// One level of precedence per function; each gives the number of its node.
class Parser : ExpressionCursor {
 public:
  explicit Parser(std::string_view text) : ExpressionCursor(text) {}

  std::vector<Node> parse() {
    if (text().size() > kMaxLength)
      fail_input("an expression of ", text().size(), " characters; the limit is ", kMaxLength);
    disjunction();
    if (!at_end())
      fail(peek() == '/' ? "expected an operator ('//' divides)" : "expected an operator");
    return std::move(nodes_);
  }

 private:
  using Level = int (Parser::*)();

  const Spelling* accept_any(std::span<const Spelling> spellings) {
    for (const Spelling& spelling : spellings)
      if (accept(spelling.text)) return &spelling;
    return nullptr;
  }
  int add(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }

  int chain(Level operand, std::span<const Spelling> spellings) {
    int left = (this->*operand)();
    while (const Spelling* spelling = accept_any(spellings)) {
      const int right = (this->*operand)();
      left = add({spelling->op, left, right, 0, ""});
    }
    return left;
  }
  int disjunction() { return chain(&Parser::conjunction, kOr); }
  int conjunction() { return chain(&Parser::comparison, kAnd); }
  int comparison() {
    const int left = sum();
    const Spelling* spelling = accept_any(kComparisons);
    if (!spelling) return left;
    const int right = sum();
    if (accept_any(kComparisons)) fail("comparisons do not chain (a < b && b < c does it)");
    return add({spelling->op, left, right, 0, ""});
  }
  int sum() { return chain(&Parser::product, kSums); }
  int product() { return chain(&Parser::unary, kProducts); }

  int unary() {
    return nested([&] {
      if (accept("-")) return add({Op::negate, unary(), -1, 0, ""});
      if (accept("!")) return add({Op::logical_not, unary(), -1, 0, ""});
      return primary();
    });
  }

  int primary() {
    if (accept("(")) {
      const int inner = disjunction();
      expect(")");
      return inner;
    }
    at_end();
    const size_t begin = position();
    if (const std::string_view number = digits(); !number.empty()) return integer(number, begin);
    const std::string_view name = word();
    if (name.empty()) fail("expected a number, a name or '('");
    if (accept("(")) return call(name, begin);
    return add({Op::name, -1, -1, 0, std::string(name)});
  }

  int integer(std::string_view number, size_t begin) {
    Node node;
    const auto [rest, error] =
        std::from_chars(number.data(), number.data() + number.size(), node.value);
    if (error != std::errc()) fail_at(begin, "the number is too large");
    return add(std::move(node));
  }

  int call(std::string_view name, size_t begin) {
    for (const Spelling& function : kFunctions) {
      if (function.text != name) continue;
      const int left = disjunction();
      expect(",");
      const int right = disjunction();
      expect(")");
      return add({function.op, left, right, 0, ""});
    }
    fail_at(begin, str("unknown function '", name, "'; there are min, max and ceil_div"));
  }

  std::vector<Node> nodes_;
};

}  // namespace

std::vector<Node> parse_expression(std::string_view text) { return Parser(text).parse(); }

}  // namespace tcc::autotune
