#include "ir/expr.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/error.h"

namespace tcc::ir {
namespace {

using Kind = ExprNode::Kind;

Expr variable(const char* name, DType dtype) { return read(new_variable(name, dtype)); }

const Expr x = variable("x", DType::f32), y = variable("y", DType::f32);
const Expr m = variable("m", DType::i32), n = variable("n", DType::i32);
const Expr p = variable("p", DType::boolean), q = variable("q", DType::boolean);
const Expr yes = constant_int(DType::boolean, 1), no = constant_int(DType::boolean, 0);

Expr f32(double value) { return constant(DType::f32, value); }
Expr i32(int64_t value) { return constant_int(DType::i32, value); }
Expr i64(int64_t value) { return constant_int(DType::i64, value); }

// ---- the tables

TEST(Scalar, TableHasUniqueNames) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Fn::rand_normal); ++i) {
    const FnInfo& function = info(static_cast<Fn>(i));
    EXPECT_EQ(static_cast<int>(function.fn), i);
    EXPECT_TRUE(names.insert(function.name).second) << function.name;
    EXPECT_TRUE(function.arity >= 1 && function.arity <= 3) << function.name;
  }
  EXPECT_GT(info(Fn::exp).slots, 10 * info(Fn::add).slots);
  EXPECT_GT(info(Fn::rand_normal).slots, info(Fn::exp).slots);
  EXPECT_EQ(name(ReduceKind::argmin), "argmin");
}

TEST(Scalar, IdentitiesChangeNothing) {
  EXPECT_EQ(identity(ReduceKind::max, DType::f32), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(identity(ReduceKind::argmin, DType::bf16), std::numeric_limits<double>::infinity());
  EXPECT_EQ(identity(ReduceKind::max, DType::i8), -128);
  EXPECT_EQ(identity(ReduceKind::min, DType::u64), 0x1p64);
  EXPECT_EQ(identity_int(ReduceKind::min, DType::u64), -1);  // its bits
  EXPECT_EQ(identity_int(ReduceKind::min, DType::u16), 65535);
  EXPECT_EQ(identity_int(ReduceKind::max, DType::i64), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(identity_int(ReduceKind::min, DType::i32), 2147483647);
  EXPECT_EQ(identity_int(ReduceKind::min, DType::boolean), 1);
  EXPECT_EQ(identity_int(ReduceKind::all, DType::boolean), 1);
  EXPECT_EQ(identity_int(ReduceKind::any, DType::boolean), 0);
}

// ---- constants

TEST(Expr, FloatsFoldInTheirOwnPrecision) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    const float a = std::bit_cast<float>(static_cast<uint32_t>(random()));
    const float b = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(a) || std::isnan(b)) continue;
    const auto expect = [&](Fn fn, float expected) {
      const Expr folded = call(fn, {f32(a), f32(b)});
      ASSERT_EQ(folded->kind, Kind::constant);
      const float actual = static_cast<float>(folded->number);
      ASSERT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected)))
          << name(fn) << " of " << a << " and " << b;
    };
    expect(Fn::add, a + b);
    expect(Fn::sub, a - b);
    expect(Fn::mul, a * b);
    expect(Fn::div, a / b);
    expect(Fn::fmod, std::fmod(a, b));
    ASSERT_EQ(call(Fn::lt, {f32(a), f32(b)})->integer, a < b);
    ASSERT_EQ(call(Fn::sqrt, {f32(std::fabs(a))})->number, std::sqrt(std::fabs(a)));
  }
  EXPECT_TRUE(is_const(add(constant(DType::f64, 0.1), constant(DType::f64, 0.2)), 0.1 + 0.2));
  EXPECT_TRUE(is_const(f32(0.1), 0.1f));
  EXPECT_TRUE(is_const(call(Fn::round, {f32(2.5)}), 2));
}

TEST(Expr, NaNPropagates) {
  const Expr nan = f32(std::nan(""));
  EXPECT_TRUE(std::isnan(call(Fn::maximum, {nan, f32(1)})->number));
  EXPECT_TRUE(std::isnan(call(Fn::minimum, {f32(1), nan})->number));
  EXPECT_TRUE(is_true(call(Fn::isnan, {nan})));
  EXPECT_TRUE(is_true(call(Fn::ne, {nan, nan})));
  EXPECT_TRUE(is_const(call(Fn::sign, {nan}), 0));
  EXPECT_TRUE(is_const(cast(nan, DType::i32), 0));
  EXPECT_TRUE(is_true(cast(nan, DType::boolean)));
}

TEST(Expr, IntegersWrapAndNeverTrap) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_TRUE(is_const(add(i32(2147483647), i32(1)), -2147483648.0));
  EXPECT_TRUE(is_const(mul(constant_int(DType::u8, 16), constant_int(DType::u8, 17)), 16));
  EXPECT_TRUE(is_const(div(i32(-7), i32(2)), -3));
  EXPECT_TRUE(is_const(call(Fn::floordiv, {i32(-7), i32(2)}), -4));
  EXPECT_TRUE(is_const(call(Fn::remainder, {i32(-7), i32(2)}), 1));
  EXPECT_TRUE(is_const(call(Fn::fmod, {i32(-7), i32(2)}), -1));
  EXPECT_TRUE(is_const(call(Fn::remainder, {i32(7), i32(-2)}), -1));
  EXPECT_TRUE(is_const(call(Fn::floordiv, {i32(7), i32(0)}), 0));
  EXPECT_TRUE(is_const(call(Fn::remainder, {i32(7), i32(0)}), 7));
  EXPECT_EQ(div(i64(least), i64(-1))->integer, least);
  EXPECT_EQ(call(Fn::remainder, {i64(least), i64(-1)})->integer, 0);
  EXPECT_EQ(call(Fn::abs, {i64(least)})->integer, least);
  EXPECT_TRUE(is_const(call(Fn::shift_left, {i32(1), i32(32)}), 0));
  EXPECT_TRUE(is_const(call(Fn::shift_right, {i32(-8), i32(40)}), -1));
  EXPECT_TRUE(is_const(
      call(Fn::shift_right, {constant_int(DType::u8, 200), constant_int(DType::u8, 3)}), 25));
}

TEST(Expr, UnsignedIntegersCompareAsSuch) {
  const Expr most = constant_int(DType::u64, -1), one = constant_int(DType::u64, 1);
  EXPECT_TRUE(is_true(call(Fn::gt, {most, one})));
  EXPECT_EQ(div(most, constant_int(DType::u64, 2))->integer, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(call(Fn::maximum, {one, most})->integer, -1);
  EXPECT_EQ(cast(most, DType::f64)->number, 0x1p64);
  EXPECT_EQ(to_string(most), "18446744073709551615");
}

TEST(Expr, CastsOfConstants) {
  EXPECT_TRUE(is_const(cast(f32(-3.9), DType::i32), -3));
  EXPECT_TRUE(is_const(cast(f32(300), DType::u8), 255));
  EXPECT_TRUE(is_const(cast(f32(-1), DType::u8), 0));
  EXPECT_TRUE(is_const(cast(f32(1e30), DType::i32), 2147483647));
  EXPECT_EQ(cast(constant(DType::f64, 1e30), DType::i64)->integer,
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(cast(constant(DType::f64, 1e19), DType::u64)->integer,
            static_cast<int64_t>(10000000000000000000u));
  EXPECT_TRUE(is_const(cast(i32(300), DType::u8), 44));
  EXPECT_TRUE(is_const(cast(i32(300), DType::boolean), 1));
  EXPECT_TRUE(is_const(cast(cast(f32(1.001), DType::bf16), DType::f32), 1));
  EXPECT_TRUE(is_const(cast(i64(16777217), DType::f32), 16777216));
}

// ---- simplification

TEST(Expr, NeutralElementsVanish) {
  EXPECT_EQ(mul(x, f32(1)), x);
  EXPECT_EQ(mul(f32(1), x), x);
  EXPECT_EQ(div(x, f32(1)), x);
  EXPECT_EQ(sub(x, f32(0)), x);
  EXPECT_EQ(add(x, f32(-0.0)), x);
  EXPECT_EQ(add(m, i32(0)), m);
  EXPECT_EQ(add(i32(0), m), m);
  EXPECT_TRUE(is_const(mul(m, i32(0)), 0));
  EXPECT_TRUE(is_const(sub(m, m), 0));
  EXPECT_EQ(call(Fn::neg, {call(Fn::neg, {x})}), x);
  EXPECT_EQ(call(Fn::maximum, {x, x}), x);
  EXPECT_EQ(call(Fn::shift_left, {m, i32(0)}), m);
}

// Each of these changes a result: of -0.0, of infinities or of NaN.
TEST(Expr, FloatsKeepWhatIsNotExact) {
  EXPECT_EQ(add(x, f32(0))->kind, Kind::call);
  EXPECT_EQ(sub(x, f32(-0.0))->kind, Kind::call);
  EXPECT_EQ(mul(x, f32(0))->kind, Kind::call);
  EXPECT_EQ(sub(x, x)->kind, Kind::call);
  EXPECT_EQ(call(Fn::eq, {x, x})->kind, Kind::call);
  EXPECT_EQ(div(x, f32(3))->fn, Fn::div);
}

TEST(Expr, DivisionByPowersOfTwoMultiplies) {
  const Expr e = div(x, f32(8));
  EXPECT_EQ(e->fn, Fn::mul);
  EXPECT_TRUE(is_const(e->args[1], 0.125));
  EXPECT_EQ(div(x, f32(0x1p-140))->fn, Fn::div);
  EXPECT_EQ(div(m, i32(8))->fn, Fn::div);
}

TEST(Expr, LogicFolds) {
  EXPECT_EQ(call(Fn::logical_and, {yes, p}), p);
  EXPECT_EQ(call(Fn::logical_and, {p, no}), no);
  EXPECT_EQ(call(Fn::logical_or, {p, no}), p);
  EXPECT_EQ(call(Fn::logical_or, {yes, p}), yes);
  EXPECT_EQ(call(Fn::logical_and, {p, p}), p);
  EXPECT_EQ(call(Fn::logical_not, {call(Fn::logical_not, {p})}), p);
  EXPECT_EQ(select(yes, x, y), x);
  EXPECT_EQ(select(no, x, y), y);
  EXPECT_EQ(select(p, x, x), x);
  EXPECT_EQ(select(p, f32(2), f32(2))->kind, Kind::constant);
  EXPECT_EQ(select(p, f32(0), f32(-0.0))->kind, Kind::call);
  EXPECT_EQ(select(p, yes, no), p);
  EXPECT_EQ(to_string(select(p, no, yes)), "!p");
  EXPECT_EQ(to_string(select(call(Fn::logical_not, {p}), x, y)), "select(p, y, x)");
}

TEST(Expr, CastsSimplifyOnlyWhereExact) {
  const Expr as_bf16 = cast(x, DType::bf16);
  EXPECT_EQ(cast(x, DType::f32), x);
  EXPECT_EQ(cast(cast(as_bf16, DType::f32), DType::bf16), as_bf16);
  EXPECT_EQ(cast(cast(m, DType::i64), DType::i32), m);
  EXPECT_EQ(to_string(cast(as_bf16, DType::f32)), "f32(bf16(x))");  // rounds
  EXPECT_EQ(to_string(cast(cast(x, DType::f64), DType::bf16)), "bf16(x)");
  EXPECT_EQ(to_string(cast(cast(m, DType::i16), DType::i8)), "i8(m)");
  EXPECT_EQ(to_string(cast(cast(m, DType::i8), DType::i32)), "i32(i8(m))");
  EXPECT_EQ(to_string(cast(cast(m, DType::f32), DType::i32)), "i32(f32(m))");
  EXPECT_EQ(cast(cast(m, DType::f64), DType::i32), m);
  EXPECT_EQ(to_string(cast(cast(x, DType::i32), DType::f32)), "f32(i32(x))");
  EXPECT_EQ(cast(cast(p, DType::f32), DType::boolean), p);
  // A value that lies in memory as bf16 has been rounded already.
  const Expr loaded = load(0, DType::bf16, SymInt::axis("i", 8));
  EXPECT_EQ(cast(cast(loaded, DType::bf16), DType::f32), loaded);
  EXPECT_EQ(cast(cast(loaded, DType::f16), DType::f32)->kind, Kind::cast);
}

TEST(Expr, IndicesFoldByRange) {
  const SymInt i = SymInt::axis("i", 8), j = SymInt::axis("j", 4), B = SymInt::symbol("B");
  EXPECT_TRUE(is_true(index_less(i, 8)));
  EXPECT_TRUE(is_const(index_less(i, 0), 0));
  EXPECT_EQ(index_less(i, 7)->kind, Kind::call);
  EXPECT_TRUE(is_true(in_range(i * 4 + j, 0, 32)));
  EXPECT_EQ(to_string(in_range(i - 1, 0, 8)), "(0 <= [i-1])");
  EXPECT_TRUE(is_true(index_less(SymInt::axis("k", B), B)));
  // B may be 0, where no axis says that it is not.
  EXPECT_FALSE(is_true(index_less(0, B)));
  EXPECT_FALSE(is_true(index_less(SymInt::axis("k", max(B, 1)), B)));
  EXPECT_TRUE(is_true(call(Fn::ge, {index_value(i), i64(0)})));
  EXPECT_TRUE(is_true(call(Fn::ne, {index_value(i), i64(9)})));
  EXPECT_EQ(to_string(add(mul(index_value(i), i64(4)), index_value(j))), "[i*4+j]");
  EXPECT_EQ(to_string(call(Fn::floordiv, {index_value(i * 4 + j), i64(4)})), "[i]");
  EXPECT_EQ(index_value(SymInt(3))->kind, Kind::constant);
  // An index may be computed in 32 bits, an i64 value not.
  EXPECT_EQ(mul(index_value(i), i64(int64_t{1} << 40))->kind, Kind::call);
  EXPECT_EQ(add(index_value(i), i64(std::numeric_limits<int64_t>::max()))->kind, Kind::call);
  EXPECT_EQ(add(index_value(B), i64(1))->kind, Kind::call);
}

TEST(Expr, AllOfSkipsWhatIsTrue) {
  EXPECT_EQ(all_of({}), nullptr);
  EXPECT_EQ(all_of(std::vector<Expr>{nullptr, yes}), nullptr);
  EXPECT_EQ(all_of(std::vector<Expr>{nullptr, p, yes}), p);
  EXPECT_EQ(to_string(all_of(std::vector<Expr>{p, q})), "(p && q)");
}

TEST(Expr, ReduceDropsAxesOfOneElement) {
  const SymInt k = SymInt::axis("k", 64), one = SymInt::axis("one", 1);
  EXPECT_EQ(reduce(ReduceKind::sum, {one}, x), x);
  EXPECT_TRUE(is_const(reduce(ReduceKind::argmax, {one}, x), 0));
  const Expr sum = reduce(ReduceKind::sum, {one, k}, x);
  EXPECT_EQ(to_string(sum), "sum[k < 64](x)");
  EXPECT_EQ(reduce(ReduceKind::argmax, {k}, x)->dtype, DType::i64);
  EXPECT_THROW(reduce(ReduceKind::sum, {k * 2}, x), InternalError);
}

// ---- types

TEST(Expr, CallsCheckTheirOperands) {
  EXPECT_EQ(call(Fn::lt, {x, y})->dtype, DType::boolean);
  EXPECT_EQ(select(p, m, n)->dtype, DType::i32);
  EXPECT_EQ(call(Fn::rand_uniform, {i64(1), i64(2), i64(3)})->dtype, DType::f32);
  EXPECT_EQ(load(0, DType::f16, 0)->dtype, DType::f32);
  EXPECT_EQ(load(0, DType::boolean, 0)->dtype, DType::boolean);
  EXPECT_THROW(add(x, m), InternalError);
  EXPECT_THROW(call(Fn::add, {x}), InternalError);
  EXPECT_THROW(select(x, x, y), InternalError);
  EXPECT_THROW(call(Fn::logical_and, {m, n}), InternalError);
  EXPECT_THROW(call(Fn::shift_left, {m, i64(1)}), InternalError);
  EXPECT_THROW(add(cast(x, DType::bf16), cast(y, DType::bf16)), InternalError);
}

// ---- walks

// A chain of squares: 2^64 nodes as a tree.
Expr deep_dag() {
  Expr e = x;
  for (int i = 0; i < 64; ++i) e = add(e, e);
  return e;
}

TEST(Expr, WalksAreLinearInTheDag) {
  const Expr e = deep_dag();
  int nodes = 0;
  visit(e, [&](const Expr&) { ++nodes; });
  EXPECT_EQ(nodes, 65);
  EXPECT_EQ(compare(e, deep_dag()), 0);
  EXPECT_LT(to_string(e).size(), 20000u);
  const Expr moved = rewrite(e, [](const Expr& node) { return node == x ? y : nullptr; });
  nodes = 0;
  visit(moved, [&](const Expr& node) {
    ++nodes;
    EXPECT_NE(node, x);
  });
  EXPECT_EQ(nodes, 65);
}

TEST(Expr, ComparisonTellsExpressionsApart) {
  const SymInt i = SymInt::axis("i", 8), wider = SymInt::axis("i", 9);
  const Variable a = new_variable("a", DType::f32), other = new_variable("a", DType::f32);
  const std::vector<Expr> different = {x,
                                       y,
                                       f32(0),
                                       f32(-0.0),
                                       f32(1),
                                       i32(1),
                                       i64(1),
                                       add(x, y),
                                       add(y, x),
                                       sub(x, y),
                                       cast(x, DType::bf16),
                                       load(0, DType::f32, i),
                                       load(1, DType::f32, i),
                                       load(0, DType::bf16, i),
                                       load(0, DType::f32, i + 1),
                                       load(0, DType::f32, wider),
                                       element(a, i),
                                       element(a, i + 1),
                                       element(other, i),
                                       read(a),
                                       read(other),
                                       shuffle_xor(x, 1),
                                       shuffle_xor(x, 2),
                                       reduce(ReduceKind::sum, {i}, x),
                                       reduce(ReduceKind::max, {i}, x),
                                       reduce(ReduceKind::sum, {wider}, x),
                                       index_value(i)};
  for (size_t j = 0; j < different.size(); ++j)
    for (size_t k = 0; k < different.size(); ++k) {
      const int order = compare(different[j], different[k]);
      EXPECT_EQ(order == 0, j == k) << to_string(different[j]) << " " << to_string(different[k]);
      EXPECT_EQ(order > 0, compare(different[k], different[j]) < 0);
    }
  EXPECT_EQ(compare(add(load(0, DType::f32, i * 2), y), add(load(0, DType::f32, i + i), y)), 0);
}

TEST(Expr, RewriteKeepsWhatDoesNotChange) {
  const Expr e = add(mul(x, y), load(0, DType::f32, SymInt::axis("i", 8)));
  EXPECT_EQ(rewrite(e, [](const Expr&) { return Expr(); }), e);
  EXPECT_EQ(rewrite(e, {}, [](const SymInt& index) { return index; }), e);
}

TEST(Expr, RewriteSimplifiesOnTheWay) {
  const Expr e = add(mul(x, y), call(Fn::neg, {x}));
  const Expr result = rewrite(e, [](const Expr& node) { return node == y ? f32(1) : nullptr; });
  EXPECT_EQ(to_string(result), "(x + -x)");
}

TEST(Expr, RewriteMapsIndicesEverywhere) {
  const SymInt i = SymInt::axis("i", 8), j = SymInt::axis("j", 8), k = SymInt::axis("k", 4);
  const SymInt at = SymInt::indirect("at0", load(1, DType::i64, i * 3), {0, 99});
  const Expr e = reduce(ReduceKind::sum, {k}, load(0, DType::f32, at * 32 + i * 4 + k));
  // The change is not idempotent: if it was applied twice anywhere, it would show.
  const Expr moved =
      rewrite(e, {}, [&](const SymInt& index) { return index.substitute(i, i + j); });
  std::vector<std::string> loads;
  visit(moved, [&](const Expr& node) {
    if (node->kind == Kind::load) loads.push_back(node->index.to_string());
  });
  ASSERT_EQ(loads.size(), 2u);
  EXPECT_EQ(loads[0], "i*3+j*3");
  EXPECT_EQ(loads[1], "at0*32+i*4+j*4+k");
}

TEST(Expr, RewriteReplacesInsideIndirectIndices) {
  const SymInt i = SymInt::axis("i", 8);
  const Expr index = load(1, DType::i64, i), replacement = variable("h", DType::i64);
  const Expr e = load(0, DType::f32, SymInt::indirect("at0", index, {0, 99}));
  const Expr moved =
      rewrite(e, [&](const Expr& node) { return node == index ? replacement : nullptr; });
  std::vector<Expr> nodes;
  visit(moved, [&](const Expr& node) { nodes.push_back(node); });
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0], replacement);
  EXPECT_FALSE(nodes[1]->index.uses(i.as_atom()));
}

TEST(Expr, VisitsOperandsFirst) {
  const Expr e = call(Fn::exp, {add(x, mul(x, y))});
  std::string order;
  visit(e, [&](const Expr& node) { order += to_string(node) + " | "; });
  EXPECT_EQ(order, "x | y | (x * y) | (x + (x * y)) | exp((x + (x * y))) | ");
}

TEST(Expr, Prints) {
  const SymInt i = SymInt::axis("i0", 12), j = SymInt::axis("i1", 768);
  EXPECT_EQ(to_string(load(0, DType::f32, i * 768 + j)), "load(b0, i0*768+i1)");
  EXPECT_EQ(to_string(select(call(Fn::lt, {x, f32(0.5)}), x, f32(-1))), "select((x < 0.5), x, -1)");
  EXPECT_EQ(to_string(element(new_variable("row", DType::f32), i)), "row[i0]");
  EXPECT_EQ(to_string(shuffle_xor(x, 16)), "shuffle_xor16(x)");
  EXPECT_EQ(to_string(call(Fn::pow, {x, y})), "pow(x, y)");
  EXPECT_EQ(to_string(f32(-std::numeric_limits<double>::infinity())), "-inf");
  EXPECT_EQ(to_string(call(Fn::logical_or, {p, call(Fn::logical_not, {q})})), "(p || !q)");
}

}  // namespace
}  // namespace tcc::ir
