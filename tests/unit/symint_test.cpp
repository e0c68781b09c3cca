#include "ir/symint.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "ir/size_range.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

const SymInt B = SymInt::symbol("B"), S = SymInt::symbol("S"), H = SymInt::symbol("H");

SymInt axis(const std::string& name, const SymInt& extent) { return SymInt::axis(name, extent); }

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(SymInt, SumsAndProductsAreCanonical) {
  EXPECT_EQ(B * 12 * 64, B * 768);
  EXPECT_EQ((B + S) * (B - S), B * B - S * S);
  EXPECT_EQ(S * B, B * S);
  EXPECT_EQ((B + 3) * 2 - B * 2, 6);
  EXPECT_TRUE((B - B).is(0));
  EXPECT_TRUE((B * S - S * B + 4).is_const());
  EXPECT_FALSE(B == S);
  EXPECT_FALSE(B + 1 == B);
  EXPECT_EQ((B + 0).as_atom()->name, "B");
  EXPECT_EQ((B * 2).as_atom(), nullptr);
  EXPECT_EQ((B + 1).as_atom(), nullptr);
  EXPECT_THROW(B.value(), Error);
}

TEST(SymInt, DividesByConstants) {
  const SymInt x = axis("x", 100), y = axis("y", 4), z = axis("z", 8);
  EXPECT_EQ(floordiv(x * 8 + z, 8), x);
  EXPECT_EQ(mod(x * 8 + z, 8), z);
  EXPECT_EQ(floordiv(x * 6 + 4, 2), x * 3 + 2);
  EXPECT_EQ(floordiv(x * 4 + y, 8), floordiv(x, 2));
  EXPECT_EQ(mod(x * 4 + y, 8), mod(x, 2) * 4 + y);
  EXPECT_EQ(floordiv(floordiv(x, 3), 5), floordiv(x, 15));
  EXPECT_EQ(floordiv(mod(x, 24), 8), mod(floordiv(x, 8), 3));
  EXPECT_EQ(mod(mod(x, 24), 8), mod(x, 8));
  EXPECT_EQ(mod(x * 9 + 13, 4), mod(x + 1, 4));
  EXPECT_EQ(floordiv(x * 9 + 13, 4), x * 2 + 3 + floordiv(x + 1, 4));
  EXPECT_EQ(floordiv(x, 100), 0);
  EXPECT_EQ(mod(x, 100), x);
  EXPECT_EQ(floordiv(x - 100, 100), -1);
  EXPECT_EQ(mod(x - 100, 100), x);
  EXPECT_EQ(floordiv(x - mod(x, 8), 8), floordiv(x, 8));
  EXPECT_EQ(floordiv(SymInt(-7), 2), -4);
  EXPECT_EQ(mod(SymInt(-7), 2), 1);
  EXPECT_EQ(ceildiv(SymInt(9), 4), 3);
  EXPECT_EQ(ceildiv(x * 4, 4), x);
  EXPECT_EQ(mod(x, 1), 0);
  EXPECT_EQ(floordiv(x, 1), x);
}

TEST(SymInt, DividesBySymbols) {
  const SymInt i = axis("i", B), j = axis("j", S), k = axis("k", 64);
  EXPECT_EQ(floordiv(B * 12, B), 12);
  EXPECT_EQ(mod(B * S, B), 0);
  EXPECT_EQ(floordiv(B * S * 12 + B * 4, B), S * 12 + 4);
  EXPECT_EQ(floordiv(i * S + j, S), i);
  EXPECT_EQ(mod(i * S + j, S), j);
  EXPECT_EQ(floordiv((i * S + j) * 64 + k, S * 64), i);
  EXPECT_EQ(mod((i * S + j) * 64 + k, S * 64), j * 64 + k);
  EXPECT_EQ(floordiv(i * S + j, B * S), 0);
  // A key-value cache's length is a sum.
  const SymInt past = SymInt::symbol("P"), t = axis("t", past + S);
  EXPECT_EQ(floordiv((i * (past + S) + t) * 64 + k, past * 64 + S * 64), i);
  EXPECT_EQ(mod(i * (past + S) + t, past + S), t);
  // Nothing is known about these.
  EXPECT_EQ(floordiv(B, S).to_string(), "(B//S)");
  EXPECT_EQ(mod(B + 1, S).to_string(), "((B+1)%S)");
}

TEST(SymInt, DivisorsMustBePositive) {
  EXPECT_EQ(message_of([] { floordiv(B, 0); }), "'B' is divided by 0, which is not positive");
  EXPECT_EQ(message_of([] { mod(B, -2); }), "'B' is divided by -2, which is not positive");
}

TEST(SymInt, RecombinesDivisions) {
  const SymInt x = SymInt::symbol("x"), y = SymInt::symbol("y");
  EXPECT_EQ(floordiv(x, 8) * 8 + mod(x, 8), x);
  EXPECT_EQ(mod(x, 8) * 3 + B + floordiv(x, 8) * 24, x * 3 + B);
  EXPECT_EQ(mod(x, 4) + mod(floordiv(x, 4), 6) * 4, mod(x, 24));
  EXPECT_EQ(mod(x, 4) + mod(floordiv(x, 4), 6) * 4 + floordiv(x, 24) * 24, x);
  EXPECT_EQ(mod(x, 4) * B + floordiv(x, 4) * B * 4, x * B);
  EXPECT_EQ(floordiv(x, S) * S + mod(x, S), x);
  EXPECT_EQ(floordiv(x, S + 1) * (S + 1) + mod(x, S + 1), x);
  EXPECT_EQ(mod(x, S) + mod(floordiv(x, S), H) * S, mod(x, S * H));
  const SymInt sum = x + y * 3 + 5;
  EXPECT_EQ(floordiv(sum, 6) * 6 + mod(sum, 6), sum);
  // A tile's stride is no reason to take its index apart.
  EXPECT_EQ((floordiv(x, 8) * 768 + mod(x, 8)).terms().size(), 2u);
}

TEST(SymInt, MinimumAndMaximumFold) {
  const SymInt x = axis("x", 10), y = axis("y", 10);
  EXPECT_EQ(min(x, 9), x);
  EXPECT_EQ(max(x, 9), 9);
  EXPECT_EQ(min(x, x + 1), x);
  EXPECT_EQ(max(B, B + S), B + S);
  EXPECT_EQ(min(x, y), min(y, x));
  EXPECT_EQ(min(B, 64).range().hi, 64);
  EXPECT_EQ(max(B, 64).range().lo, 64);
  EXPECT_EQ(max(B, 0), B);
}

TEST(SymInt, RangesAreSoundAtTheEnds) {
  EXPECT_EQ(B.range().lo, 0);
  EXPECT_EQ(B.range().hi, kUnbounded);
  EXPECT_EQ((-B).range().lo, -kUnbounded);
  EXPECT_EQ((B - 5).range().hi, kUnbounded);
  EXPECT_EQ((B * 0).range().hi, 0);
  EXPECT_EQ((B - S).range().lo, -kUnbounded);
  EXPECT_EQ(axis("i", B).range().hi, kUnbounded);
  EXPECT_EQ(axis("i", 7).range().hi, 6);
  EXPECT_EQ(axis("i", min(B, 7)).range().hi, 6);
  EXPECT_EQ(mod(S, 7).range().hi, 6);
  EXPECT_EQ(floordiv(axis("i", 100), 7).range().hi, 14);
  // Beyond what is tracked, nothing is claimed.
  EXPECT_EQ(min(B, SymInt(kMax)).to_string(), "min(9223372036854775807, B)");
}

TEST(SymInt, AxesOfOneElementVanish) {
  EXPECT_TRUE(axis("i", 1).is(0));
  EXPECT_TRUE(axis("i", 0).as_atom());  // an empty loop is still a loop
}

TEST(SymInt, KnowsDivisors) {
  const SymInt x = SymInt::symbol("x");
  EXPECT_TRUE((x * 8 + 16).divisible_by(8));
  EXPECT_FALSE((x * 8 + 4).divisible_by(8));
  EXPECT_EQ((x * 8 + 4).known_power_of_two(64), 4);
  EXPECT_EQ((x * 48).known_power_of_two(8), 8);
  EXPECT_EQ((mod(x, 64) * 2).known_power_of_two(64), 2);
  EXPECT_EQ(min(x * 8, B * 4).known_power_of_two(64), 4);
  EXPECT_EQ(SymInt(0).known_power_of_two(16), 16);
  EXPECT_EQ(SymInt(kMin).known_power_of_two(16), 16);
}

TEST(SymInt, Substitutes) {
  const SymInt i = axis("i", 32), o = axis("o", 8), v = axis("v", 4);
  EXPECT_EQ((floordiv(i, 4) * 100 + mod(i, 4)).substitute(i, o * 4 + v), o * 100 + v);
  EXPECT_EQ((B * S + B).substitute(B, 4), S * 4 + 4);
  EXPECT_EQ((B * B).substitute(B, S + 1), S * S + S * 2 + 1);
  EXPECT_EQ(i.substitute(B, 4), i);
  // An axis of a symbolic extent learns its range.
  const SymInt j = axis("j", B);
  EXPECT_EQ(floordiv(j, 8).substitute(B, 8), 0);
  EXPECT_TRUE(floordiv(i + 1, 4).uses(i.as_atom()));
  EXPECT_FALSE(floordiv(i + 1, 4).uses(o.as_atom()));
}

TEST(SymInt, SubstitutesInIndirectIndices) {
  const SymInt i = axis("i", 32), j = axis("j", 32);
  const SymInt at = SymInt::indirect("at0", load(1, DType::i64, i * 2), {0, 99});
  const SymInt offset = at * 768 + i;
  EXPECT_TRUE(at.uses(i.as_atom()));
  const SymInt moved = offset.substitute(i, j);
  EXPECT_FALSE(moved.uses(i.as_atom()));
  EXPECT_TRUE(moved.uses(j.as_atom()));
  // Another value is another atom, the same value the same one.
  EXPECT_FALSE(moved - j == offset - i);
  EXPECT_EQ(moved, offset.substitute(i, j));
  EXPECT_EQ(offset.substitute(j, i), offset);
  EXPECT_EQ(at.range().hi, moved.substitute(j, 0).range().hi / 768);
}

TEST(SymInt, AxesAreToldApartByIdentityNotByName) {
  const SymInt i = axis("i", 8), same_name = axis("i", 8), wider = axis("i", 32);
  EXPECT_FALSE(i == same_name);
  EXPECT_FALSE((i - same_name).is_const());
  EXPECT_EQ((i + same_name).terms().size(), 2u);
  EXPECT_FALSE(floordiv(i, 16) == floordiv(wider, 16));
  EXPECT_FALSE(mod(i * 3, 16) == mod(wider * 3, 16));
  EXPECT_FALSE(mod(wider, 16).uses(i.as_atom()));
  EXPECT_EQ((i * 8 + wider).substitute(wider, 3), i * 8 + 3);
  EXPECT_FALSE(i == SymInt::symbol("i"));
  // An axis stays what it is when its extent becomes known.
  const SymInt j = axis("j", B);
  EXPECT_EQ((j + B).substitute(B, 4) - 4, j);
  EXPECT_EQ(extent_of((j * 2).substitute(B, 4) - j), 4);
}

// The text must not depend on what was compiled before.
TEST(SymInt, TermsAreOrderedByNameThenByAge) {
  const SymInt late = axis("b", 4), early = axis("a", 4);
  EXPECT_EQ((late + early).to_string(), "a+b");
  for (int round = 0; round < 100; ++round) {
    const SymInt first = axis("x", 10), second = axis("x", 20);
    const SymInt sum = second * 2 + first * 3;
    ASSERT_EQ(sum.to_string(), "x*3+x*2") << round;
    ASSERT_EQ((mod(second, 7) * 2 + mod(first, 7) * 3).to_string(), "(x%7)*3+(x%7)*2") << round;
    const auto numbered = [&](const Atom& atom) {
      return atom == *first.as_atom() ? std::string("first") : std::string("second");
    };
    ASSERT_EQ(min(second, first + 3).to_string(numbered), "min(second, first+3)");
    ASSERT_EQ(min(second, first).to_string(numbered), "min(first, second)");
  }
}

TEST(SymInt, ExtentsOfAxes) {
  EXPECT_EQ(extent_of(axis("i", 1)), 1);
  EXPECT_EQ(extent_of(axis("i", 0)), 0);
  EXPECT_EQ(extent_of(axis("i", B * 2)), B * 2);
  EXPECT_THROW(extent_of(axis("i", 3) * 2), InternalError);
}

TEST(SymInt, VisitsAtomsFromOutside) {
  const SymInt i = axis("i", B);
  std::string seen;
  (floordiv(i + S, 4) + S).visit_atoms([&](const AtomPtr& atom) { seen += atom->text + " "; });
  EXPECT_EQ(seen, "((S+i)//4) S i ");
}

TEST(SymInt, Evaluates) {
  const std::map<std::string, int64_t, std::less<>> values = {{"B", 5}, {"S", 7}};
  const auto lookup = [&](const Atom& atom) -> std::optional<int64_t> {
    const auto found = values.find(atom.name);
    return found == values.end() ? std::nullopt : std::optional<int64_t>(found->second);
  };
  EXPECT_EQ((B * S - 3 + floordiv(B, 2) + mod(S, 4) + min(B, S) + max(B, S)).evaluate(lookup), 49);
  EXPECT_EQ(message_of([&] { (B * H).evaluate(lookup); }), "unknown dim 'H'");
  EXPECT_EQ(message_of([&] { (B * kMax).evaluate(lookup); }), "size overflows");
  EXPECT_EQ(message_of([&] { floordiv(B, S - 7).evaluate(lookup); }),
            "the divisor 'S-7' is 0, not positive");
}

TEST(SymInt, OverflowIsAnError) {
  EXPECT_EQ(message_of([] { SymInt(kMax) + 1; }), "size overflows");
  EXPECT_EQ(message_of([] { B* kMax * 2; }), "size overflows");
  EXPECT_EQ(message_of([] { -SymInt(kMin); }), "size overflows");
  EXPECT_EQ(message_of([] { SymInt(kMax) * (B + 2); }), "size overflows");
  EXPECT_EQ(message_of([] { SymInt(int64_t{1} << 40) * SymInt(int64_t{1} << 40); }),
            "size overflows");
}

// The places of an element in a tensor whose dims have any size below 2^31: as a number, the
// largest leaves 64 bits.
TEST(SymInt, BoundsThatOverflowProveNothing) {
  const auto any = [](const char* name) { return bounded_symbol(name, {0, kMostSize}, 1); };
  const SymInt a = any("A"), b = any("B"), c = any("C");
  const SymInt place = axis("i", a) * axis("j", b) * axis("k", c);
  EXPECT_EQ(mod(place, a * b * c), place);
  EXPECT_EQ(floordiv(place, a * b * c), SymInt(0));
  EXPECT_NE(mod(place, a * b), place);
}

TEST(SymInt, Prints) {
  const SymInt i = axis("i0", 12), j = axis("i1", 768);
  EXPECT_EQ((i * 768 + j).to_string(), "i0*768+i1");
  EXPECT_EQ((7 - i).to_string(), "7-i0");
  EXPECT_EQ((i - 7).to_string(), "i0-7");
  EXPECT_EQ((-i - 7).to_string(), "-i0-7");
  EXPECT_EQ((B * S * -3).to_string(), "-B*S*3");
  EXPECT_EQ((floordiv(i, 8) * 3).to_string(), "(i0//8)*3");
  EXPECT_EQ(mod(i * 5 + j, B * 2).to_string(), "((i0*5+i1)%(B*2))");
  EXPECT_EQ(to_string(Shape{B, 768, S + 1}), "[B, 768, S+1]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(SymInt, Parses) {
  EXPECT_EQ(parse_symint(" 2 * (B + 3) - B "), B + 6);
  EXPECT_EQ(parse_symint("B//2*2+B%2"), B);
  EXPECT_EQ(parse_symint("--B"), B);
  EXPECT_EQ(parse_symint("-B*3"), B * -3);
  EXPECT_EQ(parse_symint("min(B, S) + max(S, B)"), min(B, S) + max(B, S));
  EXPECT_EQ(parse_symint("_a1"), SymInt::symbol("_a1"));
  EXPECT_EQ(parse_symint("-9223372036854775808"), kMin);
  EXPECT_EQ(parse_symint("7 - 4 - 2"), 1);
  EXPECT_EQ(parse_symint("-7 // 2"), -4);
}

TEST(SymInt, ParseErrorsNameTheColumn) {
  const auto error = [](const std::string& text) {
    return message_of([&] { parse_symint(text); });
  };
  EXPECT_EQ(error(""), "expected a number, a name or '(' at column 1 of ''");
  EXPECT_EQ(error("B +"), "expected a number, a name or '(' at column 4 of 'B +'");
  EXPECT_EQ(error("B S"), "expected an operator at column 3 of 'B S'");
  EXPECT_EQ(error("B / 2"), "expected an operator ('//' divides) at column 3 of 'B / 2'");
  EXPECT_EQ(error("(B"), "expected ')' at column 3 of '(B'");
  EXPECT_EQ(error("B*$"), "expected a number, a name or '(' at column 3 of 'B*$'");
  EXPECT_EQ(error("B // (3-3)"), "the divisor is not positive at column 6 of 'B // (3-3)'");
  EXPECT_EQ(error("B % -2"), "the divisor is not positive at column 5 of 'B % -2'");
  EXPECT_EQ(error("9223372036854775808"),
            "the number is too large at column 1 of '9223372036854775808'");
  EXPECT_EQ(error("B + 9223372036854775807 * 2"),
            "size overflows at column 25 of 'B + 9223372036854775807 * 2'");
  EXPECT_EQ(error("abs(B)"), "unknown function 'abs' at column 1 of 'abs(B)'");
  EXPECT_EQ(error("min(B)"), "expected ',' at column 6 of 'min(B)'");
  const std::string opening(100, '('), closing(100, ')'), negations(100, '-');
  for (const std::string& nested : {str(opening, "B", closing), str(negations, "B")})
    EXPECT_NE(error(nested).find("nested more than 64 deep"), std::string::npos) << nested;
  EXPECT_EQ(error(std::string(5000, '1')), "size expression of 5000 characters; the limit is 4096");
}

// Text within the length limit that stands for something enormous.
TEST(SymInt, HostileTextIsRefusedQuickly) {
  std::string product = "1", nested = "(a%7)";
  for (int i = 0; i < 200; ++i)
    product += "*(a" + std::to_string(i) + "+b" + std::to_string(i) + ")";
  for (int i = 0; i < 30; ++i)
    nested = "(" + nested + "*(c+d)%" + std::to_string(1000003 + 2 * i) + ")";
  std::string modulos = "0", powers = "a";
  for (int i = 0; i < 400; ++i) modulos += "+a" + std::to_string(i) + "%3";
  for (int i = 0; i < 1000; ++i) powers += "*a";
  EXPECT_NE(message_of([&] { parse_symint(product); }).find("size expression is too large"),
            std::string::npos);
  EXPECT_NE(message_of([&] { parse_symint(nested); }).find("size expression is too large"),
            std::string::npos);
  EXPECT_NE(message_of([&] { parse_symint(powers); }).find("size expression is too large"),
            std::string::npos);
  EXPECT_EQ(parse_symint(modulos).terms().size(), 400u);
}

TEST(Shape, StridesAndProducts) {
  EXPECT_EQ(product(Shape{}), 1);
  EXPECT_EQ(product(Shape{B, 12, S}), B * S * 12);
  EXPECT_EQ(row_major_strides(Shape{B, S, 64}), (Shape{S * 64, 64, 1}));
  EXPECT_TRUE(row_major_strides(Shape{}).empty());
}

TEST(Shape, LinearizeUndoesDelinearize) {
  const SymInt flat = axis("flat", 2 * 3 * 4 * 5);
  const Shape shape = {2, 3, 4, 5};
  EXPECT_EQ(linearize(delinearize(flat, shape), shape), flat);
  const SymInt any = axis("any", B * S * H);
  EXPECT_EQ(linearize(delinearize(any, Shape{B, S, H}), Shape{B, S, H}), any);
  EXPECT_EQ(delinearize(flat, Shape{1, 120}), (Shape{0, flat}));
  EXPECT_EQ(delinearize(flat, Shape{120, 1}), (Shape{flat, 0}));
  EXPECT_EQ(delinearize(0, Shape{4, 0}), (Shape{0, 0}));
  EXPECT_TRUE(delinearize(0, Shape{}).empty());
}

TEST(Shape, HeadsSplitAndMerge) {
  const auto check = [](const SymInt& batch, const SymInt& length, const SymInt& heads,
                        const SymInt& width) {
    const SymInt b = axis("b", batch), s = axis("s", length), h = axis("h", heads),
                 d = axis("d", width);
    const Shape split = {batch, length, heads, width}, merged = {batch * length, heads * width};
    const std::vector<SymInt> index = {b, s, h, d}, rows = {b * length + s, h * width + d};
    EXPECT_EQ(delinearize(linearize(index, split), merged), rows);
    EXPECT_EQ(delinearize(linearize(rows, merged), split), index);
  };
  check(8, 512, 12, 64);
  check(B, 512, 12, 64);
  check(8, S, 12, 64);
  check(B, S, 12, 64);
  check(B, S, H, SymInt::symbol("D"));
  check(3, 7, 5, 11);
}

TEST(Shape, TransposesThroughReshapes) {
  const SymInt thread = axis("thread", 256), block = axis("block", 3072), v = axis("v", 4);
  const SymInt flat = block * 1024 + thread * 4 + v;
  const Shape heads_first = {8, 12, 512, 64}, tokens_first = {8, 512, 12, 64};
  const auto i = delinearize(flat, heads_first);
  const SymInt offset = linearize(std::vector<SymInt>{i[0], i[2], i[1], i[3]}, tokens_first);
  // A vector of four stays in one piece.
  EXPECT_EQ(offset - offset.substitute(v, 0), v);
  EXPECT_EQ(offset.substitute(v, 0).known_power_of_two(4), 4);
  const auto j = delinearize(offset, tokens_first);
  EXPECT_EQ(linearize(std::vector<SymInt>{j[0], j[2], j[1], j[3]}, heads_first), flat);
}

}  // namespace
}  // namespace tcc::ir
