// Random size expressions against plain integer arithmetic over all values of their axes.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ir/symint.h"

namespace tcc::ir {
namespace {

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b < 0); }

using Values = std::map<std::string, int64_t, std::less<>>;

// An expression as it was written, beside what SymInt made of it.
struct Tree {
  SymInt symint;
  std::function<int64_t(const Values&)> value;
};

struct Variables {
  std::vector<Tree> trees;
  std::vector<Values> assignments;
};

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  int64_t pick(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random_);
  }

  // Three axes, two of constant extent and one of extent S*k, and the symbol S itself.
  Variables variables() {
    Variables result;
    const int64_t e0 = pick(1, 8), e1 = pick(2, 12), k = pick(1, 3);
    const SymInt s = SymInt::symbol("S");
    add(result, "i", SymInt::axis("i", e0));
    add(result, "j", SymInt::axis("j", e1));
    add(result, "k", SymInt::axis("k", s * k));
    add(result, "S", s);
    for (int64_t size = 1; size <= 4; ++size)
      for (int64_t i = 0; i < e0; ++i)
        for (int64_t j = 0; j < e1; ++j)
          for (int64_t l = 0; l < size * k; ++l)
            result.assignments.push_back({{"i", i}, {"j", j}, {"k", l}, {"S", size}});
    return result;
  }

  Tree tree(const Variables& variables, int depth) {
    if (depth == 0 || pick(0, 9) == 0) return leaf(variables);
    const Tree a = tree(variables, depth - 1);
    const int64_t kind = pick(0, 13);
    if (kind < 4) return combine(a, tree(variables, depth - 1), kind % 2 == 0);
    if (kind < 7) return scale(a, pick(0, 6) == 0 ? -pick(1, 4) : pick(1, 12));
    if (kind < 9) return divide(a, pick(0, 5) == 0 ? variables.trees[3] : number(pick(1, 24)));
    if (kind < 11) return remainder(a, pick(0, 5) == 0 ? variables.trees[3] : number(pick(1, 24)));
    if (kind == 11) return extremum(a, tree(variables, depth - 1), pick(0, 1) == 0);
    if (kind == 12) return multiply(a, variables.trees[3]);
    return split_and_join(a, number(pick(1, 12)));
  }

 private:
  static void add(Variables& result, const std::string& name, const SymInt& symint) {
    result.trees.push_back({symint, [name](const Values& values) { return values.at(name); }});
  }

  static Tree number(int64_t n) {
    return {n, [n](const Values&) { return n; }};
  }

  Tree leaf(const Variables& variables) {
    const int64_t choice = pick(0, 6);
    if (choice == 6) return number(pick(-20, 40));
    if (choice >= 4) return variables.trees[static_cast<size_t>(choice - 4)];
    return variables.trees[static_cast<size_t>(choice)];
  }

  static Tree combine(const Tree& a, const Tree& b, bool plus) {
    return {plus ? a.symint + b.symint : a.symint - b.symint,
            [a, b, plus](const Values& v) { return a.value(v) + (plus ? 1 : -1) * b.value(v); }};
  }
  static Tree scale(const Tree& a, int64_t factor) {
    return {a.symint * factor, [a, factor](const Values& v) { return a.value(v) * factor; }};
  }
  static Tree multiply(const Tree& a, const Tree& b) {
    return {a.symint * b.symint, [a, b](const Values& v) { return a.value(v) * b.value(v); }};
  }
  static Tree divide(const Tree& a, const Tree& b) {
    return {floordiv(a.symint, b.symint),
            [a, b](const Values& v) { return floor_quotient(a.value(v), b.value(v)); }};
  }
  static Tree remainder(const Tree& a, const Tree& b) {
    return {mod(a.symint, b.symint), [a, b](const Values& v) {
              return a.value(v) - b.value(v) * floor_quotient(a.value(v), b.value(v));
            }};
  }
  static Tree extremum(const Tree& a, const Tree& b, bool least) {
    return {least ? min(a.symint, b.symint) : max(a.symint, b.symint),
            [a, b, least](const Values& v) {
              return least ? std::min(a.value(v), b.value(v)) : std::max(a.value(v), b.value(v));
            }};
  }
  static Tree split_and_join(const Tree& a, const Tree& by) {
    return combine(multiply(divide(a, by), by), remainder(a, by), true);
  }

  std::mt19937 random_;
};

int64_t evaluate(const SymInt& symint, const Values& values) {
  return symint.evaluate(
      [&](const Atom& atom) -> std::optional<int64_t> { return values.at(atom.name); });
}

TEST(SymIntProperty, EvaluatesAsWritten) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    Generator generator(seed);
    const Variables variables = generator.variables();
    const Tree tree = generator.tree(variables, 2 + static_cast<int>(seed % 4));
    const SymInt& symint = tree.symint;
    const Interval range = symint.range();
    const int64_t power = symint.known_power_of_two(64);
    for (const Values& values : variables.assignments) {
      const int64_t value = tree.value(values);
      ASSERT_EQ(evaluate(symint, values), value) << "seed " << seed << ": " << symint;
      ASSERT_LE(range.lo, value) << "seed " << seed << ": " << symint;
      ASSERT_GE(range.hi, value) << "seed " << seed << ": " << symint;
      ASSERT_EQ(value % power, 0) << "seed " << seed << ": " << symint;
      for (int64_t divisor : {2, 3, 8})
        ASSERT_TRUE(!symint.divisible_by(divisor) || value % divisor == 0) << symint;
    }
  }
}

// Symbols stand for the axes when the text is read back, so that less is known about them; nothing
// may depend on that.
TEST(SymIntProperty, PrintsAndParses) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    Generator generator(seed);
    const SymInt symint = generator.tree(generator.variables(), 4).symint;
    if (symint.to_string().size() > 4096) continue;
    const SymInt parsed = parse_symint(symint.to_string());
    EXPECT_EQ(parsed.to_string(), symint.to_string()) << "seed " << seed;
  }
}

// Canonical forms meet where x is what an index is made of, a sum of axes with factors: always when
// a division is undone, nearly always when two divisions that have nothing to do with the factors
// are written in different orders.
TEST(SymIntProperty, LawsOfDivision) {
  int cases = 0, misses = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    Generator generator(seed);
    const Variables variables = generator.variables();
    SymInt x = generator.pick(-4, 16);
    for (size_t v = 0; v < 3; ++v) x = x + variables.trees[v].symint * generator.pick(-1, 24);
    const int64_t c = generator.pick(1, 16), d = generator.pick(1, 16);
    SCOPED_TRACE(x.to_string() + " by " + std::to_string(c) + " and " + std::to_string(d));
    EXPECT_EQ(floordiv(x, c) * c + mod(x, c), x);
    EXPECT_EQ(x - mod(x, c) - floordiv(x, c) * c, 0);
    EXPECT_EQ(mod(mod(x, c * d), c), mod(x, c));
    cases += 3;
    misses += !(mod(floordiv(x, c), d) * c + mod(x, c) == mod(x, c * d));
    misses += !(floordiv(floordiv(x, c), d) == floordiv(x, c * d));
    misses += !(floordiv(mod(x, c * d), c) == mod(floordiv(x, c), d));
  }
  EXPECT_LT(misses * 200, cases) << misses << " of " << cases;
}

}  // namespace
}  // namespace tcc::ir
