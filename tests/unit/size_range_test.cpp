// Ranges of sizes that come at run time: their text, and what arithmetic proves by them.
#include "ir/size_range.h"

#include <random>

#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "tests/expect_error.h"

namespace tcc::ir {
namespace {

TEST(SizeRange, IsRead) {
  EXPECT_EQ(parse_dim("B=8", "o").number, 8);
  const auto range = [](const char* text) {
    const DimOption dim = parse_dim(text, "o");
    EXPECT_FALSE(dim.number);
    EXPECT_EQ(dim.name, "S");
    return dim.range;
  };
  EXPECT_EQ(range("S=1..2048"), (SizeRange{1, 2048, 1}));
  EXPECT_EQ(range("S=0..0"), (SizeRange{0, 0, 1}));
  EXPECT_EQ(range("S=8..2048:8"), (SizeRange{8, 2048, 8}));
  EXPECT_EQ(range("S=1..100:8"), (SizeRange{8, 96, 8}));
  EXPECT_EQ(range("S=free"), SizeRange());
  EXPECT_EQ(range("S=free").to_string(), "free");
  EXPECT_EQ(range("S=1..100:8").to_string(), "8..96:8");
  EXPECT_EQ(parse_dim("S=P+2*Q", "S=P+2*Q").expression, parse_symint("P+2*Q"));
  EXPECT_EQ(parse_sizes("S=128,512", "o").second, (std::vector<int64_t>{128, 512}));
}

TEST(SizeRange, WhatIsWrongIsNamed) {
  const auto refused = [](const char* text, const char* words) {
    EXPECT_ERROR(parse_dim(text, std::string("--dim ") + text), words);
  };
  refused("S", "--dim S: must be NAME=NUMBER, NAME=LEAST..MOST");
  refused("=3", "must be NAME=NUMBER");
  refused("S=x+", "must be NAME=NUMBER");
  refused("S=x..9", "must be NAME=NUMBER");
  refused("S=1..", "must be NAME=NUMBER");
  refused("S=..9", "must be NAME=NUMBER");
  refused("S=1...9", "must be NAME=NUMBER");
  refused("S=-1..9", "must be NAME=NUMBER");
  refused("S=9..1", "--dim S=9..1: 9 is more than 1");
  refused("S=1..9:0", "the multiple is 0");
  refused("S=9..15:8", "no multiple of 8 is between 9 and 15");
  refused("S=1..2147483648", "2147483648 is not below 2^31");
  refused("S=99999999999999999999", "is too large");
  EXPECT_ERROR(parse_sizes("S=1,1", "--specialize S=1,1"), "1 is given twice");
  EXPECT_ERROR(parse_sizes("S=1,", "--specialize S=1,"), "must be NAME=NUMBER or");
}

TEST(SizeRange, TellsWhySizesDoNotFit) {
  const SizeRange range{8, 64, 8};
  EXPECT_EQ(range.why_not(64), "");
  EXPECT_EQ(range.why_not(0), "is below 8");
  EXPECT_EQ(range.why_not(72), "is above 64");
  EXPECT_EQ(range.why_not(12), "is no multiple of 8");
  EXPECT_EQ(SizeRange().why_not(int64_t{1} << 31), "is not below 2^31");
}

TEST(SizeRange, UsualSizesAreInTheMiddle) {
  EXPECT_EQ((SizeRange{1, 64, 1}.usual()), 8);
  EXPECT_EQ((SizeRange{8, 2048, 8}.usual()), 128);
  EXPECT_EQ((SizeRange{0, 100, 1}.usual()), 10);
  EXPECT_EQ((SizeRange{5, 5, 1}.usual()), 5);
  EXPECT_EQ((SizeRange{0, 0, 1}.usual()), 0);
  EXPECT_EQ(SizeRange().usual(), std::nullopt);
}

TEST(SizeRange, MultiplesDivide) {
  const SymInt s = open_size("S", {8, 2048, 8}, 128);
  EXPECT_EQ(s.usual(), 128);
  EXPECT_TRUE(s.divisible_by(8));
  EXPECT_FALSE(s.divisible_by(16));
  EXPECT_EQ(s.known_power_of_two(64), 8);
  EXPECT_EQ((s * 3 + 16).known_power_of_two(64), 8);
  EXPECT_TRUE(mod(s, 8).is(0));
  EXPECT_TRUE(mod(s * 6, 16).is(0));
  EXPECT_EQ(floordiv(s, 8) * 8, s);
  EXPECT_FALSE(mod(s, 16).is_const());
}

// The symbol stays, so that kernels of multiples are launched with the same sizes.
TEST(SizeRange, SymbolsAreKnownMultiples) {
  const SymInt s = known_multiple("S", {8, 2048}, 128, 8);
  EXPECT_EQ(s.usual(), 128);
  EXPECT_EQ(s.range().lo, 8);
  EXPECT_EQ(s.range().hi, 2048);
  EXPECT_TRUE(s.divisible_by(8));
  EXPECT_EQ((s * 3 + 16).known_power_of_two(64), 8);
  EXPECT_EQ(floordiv(s, 8) * 8, s);
  EXPECT_EQ(s.evaluate([](const Atom&) { return std::optional<int64_t>(1000); }), 1000);
  EXPECT_EQ(known_multiple("S", {1, 9}, 3, 1), bounded_symbol("S", {1, 9}, 3));
}

TEST(SizeRange, BoundsSimplify) {
  const SymInt s = open_size("S", {1, 64, 1}, 8);
  EXPECT_EQ(s.range().hi, 64);
  EXPECT_EQ(min(s, 64), s);
  EXPECT_EQ(max(s, 1), s);
  EXPECT_TRUE(floordiv(s, 65).is(0));
  EXPECT_EQ(mod(s - 1, 64), s - 1);
  EXPECT_FALSE(mod(s, 64).is_const());
  // A size of at least 2 says no more than its range does.
  const SymInt two = open_size("T", {2, 9, 1}, 2);
  EXPECT_FALSE(floordiv(SymInt(2), two).is_const());
  EXPECT_TRUE(floordiv(SymInt(1), two).is(0));
}

// Whatever arithmetic makes of an expression, its value is that of the parts.
TEST(SizeRange, SimplifiedExpressionsKeepTheirValues) {
  std::mt19937 draw(7);
  const auto number = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(draw);
  };
  for (int round = 0; round < 3000; ++round) {
    const int64_t multiple = number(1, 4), least = number(0, 3) * multiple;
    const SizeRange range{least, least + number(0, 6) * multiple, multiple};
    const SymInt size = open_size("S", range, least), other = open_size("T", {1, 5, 1}, 1);
    // An index below S exists where S is positive.
    const SymInt index = SymInt::axis("i", size);
    const int64_t s = range.least + number(0, (range.most - range.least) / multiple) * multiple;
    const int64_t t = number(1, 5), i = s > 0 ? number(0, s - 1) : 0;
    if (s == 0) continue;
    struct Pair {
      SymInt symbolic;
      int64_t value;
    };
    std::vector<Pair> parts = {{size, s}, {other, t}, {index, i}};
    for (int step = 0; step < 6; ++step) {
      const Pair a = parts[static_cast<size_t>(number(0, std::ssize(parts) - 1))];
      Pair b = parts[static_cast<size_t>(number(0, std::ssize(parts) - 1))];
      if (number(0, 1) == 0) {
        const int64_t constant = number(1, 12);
        b = {constant, constant};
      }
      const auto floor = [](int64_t x, int64_t y) { return x / y - (x % y < 0 ? 1 : 0); };
      const bool divides = b.symbolic.range().lo > 0;
      switch (number(0, 6)) {
        case 0: parts.push_back({a.symbolic + b.symbolic, a.value + b.value}); break;
        case 1: parts.push_back({a.symbolic - b.symbolic, a.value - b.value}); break;
        case 2:
          if (std::abs(a.value) < 1000)
            parts.push_back({a.symbolic * b.symbolic, a.value * b.value});
          break;
        case 3:
          if (divides) parts.push_back({floordiv(a.symbolic, b.symbolic), floor(a.value, b.value)});
          break;
        case 4:
          if (divides)
            parts.push_back(
                {mod(a.symbolic, b.symbolic), a.value - floor(a.value, b.value) * b.value});
          break;
        case 5: parts.push_back({min(a.symbolic, b.symbolic), std::min(a.value, b.value)}); break;
        default: parts.push_back({max(a.symbolic, b.symbolic), std::max(a.value, b.value)}); break;
      }
    }
    for (const Pair& part : parts) {
      const int64_t got = part.symbolic.evaluate([&](const Atom& atom) -> std::optional<int64_t> {
        if (atom.kind == Atom::Kind::axis) return i;
        return atom.name == "T" ? t : s / multiple;
      });
      ASSERT_EQ(got, part.value) << part.symbolic << " with S = " << s << " in "
                                 << range.to_string() << ", T = " << t << ", i = " << i;
      const Interval bounds = part.symbolic.range();
      ASSERT_LE(bounds.lo, part.value) << part.symbolic;
      ASSERT_GE(bounds.hi, part.value) << part.symbolic;
    }
  }
}

TEST(SizeRange, GraphsAreBound) {
  const Graph graph = parse_yaml_graph(
      "tcc: 1\ndims: {B: 4, S: 6, S_by_2: 3}\n"
      "inputs: {x: {dtype: f32, shape: [B, S, S_by_2]}}\n"
      "nodes: [{out: y, op: exp, in: [x]}]\n"
      "outputs: [y]\n",
      "g.yaml", ".");
  const Graph bound = bind_dims(graph, {}, {{"B", {1, 64, 1}}});
  EXPECT_EQ(to_string(bound.outputs[0]->type), "f32[B, 6, 3]");
  EXPECT_EQ(bound.outputs[0]->shape()[0].usual(), 8);
  EXPECT_EQ(bind_dims(graph, {{"B", 3}}, {{"B", {1, 64, 1}}}).outputs[0]->shape()[0].usual(), 3);
  // A state that grows has each of its lengths once.
  const Graph growing = parse_yaml_graph(
      "tcc: 1\nname: g\ndims: {P: 1}\ninputs: {x: {dtype: f32, shape: [1, 4]}}\n"
      "states: {s: {dtype: f32, shape: [P + 1, 4]}}\n"
      "nodes:\n  - {out: all, op: append, in: [s, x], dim: 0, length: P}\n"
      "  - {out: now, op: slice, in: [all], dim: 0, start: 0, end: P + 1}\n"
      "  - {out: y, op: exp, in: [now]}\noutputs: [y]\n",
      "g.yaml", ".");
  EXPECT_EQ(usual_sizes(growing, {}, {{"P", {0, 4095, 1}}}).at("P"), 2047);
  EXPECT_EQ(usual_sizes(growing, {}, {{"P", {8, 4096, 8}}}).at("P"), 2048);
  EXPECT_EQ(usual_sizes(growing, {{"P", 5}}, {{"P", {0, 4095, 1}}}).at("P"), 5);
  // The graph's default, where a range has no end, within it.
  EXPECT_EQ(usual_sizes(growing, {}, {{"P", {64, kMostSize / 8 * 8, 8}}}).at("P"), 64);
  EXPECT_EQ(to_string(bind_dims(graph, {}, {{"S", {4, 64, 4}}}).outputs[0]->type),
            "f32[4, S_by_4*4, 3]");
  EXPECT_ERROR(bind_dims(graph, {{"B", 65}}, {{"B", {1, 64, 1}}}),
               "dim B = 65 is above 64 (B = 1..64)");
  EXPECT_ERROR(bind_dims(graph, {}, {{"T", {}}}), "dim T: the graph has no such dim; there are ");
  EXPECT_ERROR(bind_dims(graph, {}, {{"S", {2, 8, 2}}}), "has a dim 'S_by_2'");
}

}  // namespace
}  // namespace tcc::ir
