// Expressions of kernel files: values, agreement with the graph format's, limits and messages.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>

#include "autotune/user_kernel/expression.h"
#include "ir/symint.h"
#include "tests/expect_error.h"

namespace tcc::autotune {
namespace {

const std::map<std::string, int64_t, std::less<>> kNames = {{"a", 7}, {"b", 3}, {"zero", 0}};

std::optional<int64_t> lookup(std::string_view name) {
  const auto found = kNames.find(name);
  return found == kNames.end() ? std::nullopt : std::optional(found->second);
}

int64_t value(const std::string& text) {
  return Expression::parse(text, "k.yaml:3: key 'grid'").evaluate(lookup);
}

TEST(UserKernelExpressionTest, Values) {
  const std::map<std::string, int64_t> expected = {
      {"7", 7},
      {"a + b * 2", 13},
      {"(a + b) * 2", 20},
      {"a - b - 1", 3},
      {"a // b", 2},
      {"-a // b", -3},
      {"-a % b", 2},
      {"a % b * 4", 4},
      {"- - a", 7},
      {"min(a, b) + max(a, b)", 10},
      {"ceil_div(a, b)", 3},
      {"ceil_div(-a, b)", -2},
      {"ceil_div(6, b)", 2},
      {"a == 7", 1},
      {"a != 7", 0},
      {"a < b", 0},
      {"a <= 7 && b >= 3", 1},
      {"a > 7 || b < 3", 0},
      {"!zero && !(a < b)", 1},
      {"1 || 0 && 0", 1},
      {"a + 1 < b * 3", 1},
      {"!a == 0", 1},
      {"9223372036854775807", std::numeric_limits<int64_t>::max()},
  };
  for (const auto& [text, number] : expected) EXPECT_EQ(value(text), number) << text;
}

TEST(UserKernelExpressionTest, AgreesWithTheGraphFormat) {
  const auto symbol = [](const ir::Atom& atom) { return lookup(atom.name); };
  for (const char* text : {"a // b", "(a + b - 1) // b", "-a // b", "-a % b", "(2 - a) % b * a",
                           "min(a, 2*b) - max(a, b) // 2", "a * a - b * -a", "4 * a // b % 5"})
    EXPECT_EQ(value(text), ir::parse_symint(text).evaluate(symbol)) << text;
}

TEST(UserKernelExpressionTest, LogicStopsWhereTheResultIsKnown) {
  EXPECT_EQ(value("zero != 0 && a % zero == 0"), 0);
  EXPECT_EQ(value("zero == 0 || a % zero == 0"), 1);
  EXPECT_ERROR(value("a % zero == 0"), "the divisor is 0, not positive");
}

TEST(UserKernelExpressionTest, Messages) {
  const std::map<std::string, std::string> expected = {
      {"", "expected a number, a name or '(' at column 1"},
      {"a +", "expected a number, a name or '(' at column 4 of 'a +'"},
      {"a / b", "expected an operator ('//' divides) at column 3"},
      {"a b", "expected an operator at column 3"},
      {"(a", "expected ')' at column 3"},
      {"a < b < 4", "comparisons do not chain"},
      {"pow(a, b)", "unknown function 'pow'; there are min, max and ceil_div at column 1"},
      {"min(a)", "expected ','"},
      {"min(a, b, a)", "expected ')'"},
      {"99999999999999999999", "the number is too large"},
      {"a & b", "expected an operator"},
      {"a = b", "expected an operator"},
      {"a\nb", "expected an operator"},
      {"c", "unknown name 'c'"},
      {"9223372036854775807 + 1", "the result does not fit in 64 bits"},
      {"9223372036854775807 * 2", "the result does not fit in 64 bits"},
      {"-(-9223372036854775807 - 1)", "the result does not fit in 64 bits"},
      {"-9223372036854775807 - 2", "the result does not fit in 64 bits"},
      {"a // -b", "the divisor is -3, not positive"},
      {"ceil_div(a, 0)", "the divisor is 0, not positive"},
  };
  for (const auto& [text, words] : expected) {
    EXPECT_ERROR(value(text), words);
    EXPECT_ERROR(value(text), "k.yaml:3: key 'grid': ");
  }
}

TEST(UserKernelExpressionTest, Limits) {
  EXPECT_ERROR(value(std::string(2000, '1')), "2000 characters; the limit is 1024");
  std::string brackets(500, '('), signs(500, '-');
  brackets.append("1").append(500, ')');
  signs.append("1");
  EXPECT_ERROR(value(brackets), "nested more than 64");
  EXPECT_ERROR(value(signs), "nested more than 64");
  std::string sum = "1";
  while (sum.size() < 1020) sum += "+1";
  EXPECT_EQ(value(sum), static_cast<int64_t>(sum.size() / 2 + 1));
}

TEST(UserKernelExpressionTest, Names) {
  const std::set<std::string> names = {"TILE_M", "M", "x"};
  EXPECT_EQ(Expression::parse("TILE_M * min(M, x) + M > 3", "").names(), names);
}

}  // namespace
}  // namespace tcc::autotune
