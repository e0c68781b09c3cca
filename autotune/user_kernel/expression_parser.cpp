#include "autotune/user_kernel/expression_parser.h"

#include <array>
#include <cctype>
#include <charconv>
#include <initializer_list>
#include <span>

#include "support/error.h"

namespace tcc::autotune {
namespace {

using Node = Expression::Node;
using Op = Expression::Op;

constexpr size_t kMaxLength = 1024;
constexpr int kMaxDepth = 64;

struct Spelling {
  std::string_view text;
  Op op;
};
constexpr std::array kOr = {Spelling{"||", Op::logical_or}};
constexpr std::array kAnd = {Spelling{"&&", Op::logical_and}};
// What begins another one comes after it.
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
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::vector<Node> parse() {
    if (text_.size() > kMaxLength)
      fail_input("an expression of ", text_.size(), " characters; the limit is ", kMaxLength);
    disjunction();
    if (!at_end())
      fail(text_[position_] == '/' ? "expected an operator ('//' divides)"
                                   : "expected an operator");
    return std::move(nodes_);
  }

 private:
  using Level = int (Parser::*)();

  [[noreturn]] void fail(std::string_view reason) const {
    fail_input(reason, " at column ", position_ + 1, " of '", text_, "'");
  }
  bool at_end() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
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
    if (depth_ == kMaxDepth) fail(str("nested more than ", kMaxDepth, " deep"));
    ++depth_;
    int node = -1;
    if (accept("-"))
      node = add({Op::negate, unary(), -1, 0, ""});
    else if (accept("!"))
      node = add({Op::logical_not, unary(), -1, 0, ""});
    else
      node = primary();
    --depth_;
    return node;
  }

  int primary() {
    if (accept("(")) {
      const int inner = disjunction();
      expect(")");
      return inner;
    }
    if (at_end()) fail("expected a number, a name or '('");
    const char first = text_[position_];
    if (std::isdigit(static_cast<unsigned char>(first))) return integer();
    if (std::isalpha(static_cast<unsigned char>(first)) || first == '_') return name();
    fail("expected a number, a name or '('");
  }

  int integer() {
    Node node;
    const char* const end = text_.data() + text_.size();
    const auto [rest, error] = std::from_chars(text_.data() + position_, end, node.value);
    if (error != std::errc()) fail("the number is too large");
    position_ = static_cast<size_t>(rest - text_.data());
    return add(std::move(node));
  }

  int name() {
    const size_t begin = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_'))
      ++position_;
    std::string word(text_.substr(begin, position_ - begin));
    if (!accept("(")) return add({Op::name, -1, -1, 0, std::move(word)});
    for (const Spelling& function : kFunctions) {
      if (function.text != word) continue;
      const int left = disjunction();
      expect(",");
      const int right = disjunction();
      expect(")");
      return add({function.op, left, right, 0, ""});
    }
    position_ = begin;
    fail(str("unknown function '", word, "'; there are min, max and ceil_div"));
  }

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
  std::vector<Node> nodes_;
};

}  // namespace

std::vector<Node> parse_expression(std::string_view text) { return Parser(text).parse(); }

}  // namespace tcc::autotune
