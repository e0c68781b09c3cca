// Movement ops: shape rules, messages and where elements go.
#include <gtest/gtest.h>

#include <limits>

#include "ir/ops/_movement.h"
#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

using test::counting;
using test::f32;
using test::infer;
using test::run;
using test::run_all;
using Values = std::vector<double>;
using Dims = std::vector<int64_t>;

const SymInt B = SymInt::symbol("B"), S = SymInt::symbol("S");

Type f(Shape shape) { return {DType::f32, std::move(shape)}; }

TEST(Reshape, InfersTheMissingDim) {
  EXPECT_EQ(infer("reshape", {f({2, 6})}, {{"shape", ints({3, -1})}}), "f32[3, 4]");
  EXPECT_EQ(infer("reshape", {f({B, 12, 64})}, {{"shape", Shape{B, -1}}}), "f32[B, 768]");
  EXPECT_EQ(infer("reshape", {f({B, S, 768})}, {{"shape", Shape{B, S, 12, 64}}}),
            "f32[B, S, 12, 64]");
  EXPECT_EQ(infer("reshape", {f({0, 4})}, {{"shape", ints({-1, 2})}}), "f32[0, 2]");
  EXPECT_EQ(infer("flatten", {f({B, 3, 4})}, {{"start_dim", 1}}), "f32[B, 12]");
  EXPECT_EQ(infer("unflatten", {f({B, 12})}, {{"dim", 1}, {"sizes", ints({3, -1})}}),
            "f32[B, 3, 4]");
  EXPECT_EQ(infer("squeeze", {f({1, 3, 1})}), "f32[3]");
  EXPECT_EQ(infer("squeeze", {f({1, 3, 1})}, {{"dim", ints({0, 1})}}), "f32[3, 1]");
  EXPECT_EQ(infer("unsqueeze", {f({3})}, {{"dim", -1}}), "f32[3, 1]");
}

TEST(Reshape, RefusesOtherSizes) {
  EXPECT_ERROR(infer("reshape", {f({2, 5})}, {{"shape", ints({3, -1})}}),
               "reshape: shape [3, -1] does not fit the elements of [2, 5]");
  EXPECT_ERROR(infer("reshape", {f({2, 5})}, {{"shape", ints({11})}}), "shape [11] does not fit");
  EXPECT_ERROR(infer("reshape", {f({2, 5})}, {{"shape", ints({-1, -1})}}),
               "shape [-1, -1] has more than one -1");
  EXPECT_ERROR(infer("reshape", {f({2, 5})}, {{"shape", ints({-2, -5})}}), "has a negative dim");
  EXPECT_ERROR(infer("reshape", {f({2, 5})}, {{"shape", ints({1LL << 40, 1LL << 40})}}),
               "overflows");
  EXPECT_ERROR(infer("flatten", {f({2, 5})}, {{"start_dim", 1}, {"end_dim", 0}}),
               "start_dim 1 is after end_dim 0");
  EXPECT_ERROR(infer("unsqueeze", {f({2})}, {{"dim", 2}}), "dim 2 is out of range for rank 2");
}

TEST(Reshape, MapsSharedDimsOneToOne) {
  const auto axis = [](const char* name, const SymInt& extent) {
    return SymInt::axis(name, extent);
  };
  const SymInt b = axis("b", B), s = axis("s", S), h = axis("h", 12), d = axis("d", 64);
  EXPECT_EQ(ops::reshaped_index(std::vector{b, s, h, d}, {B, S, 12, 64}, {B, S, 768}),
            (std::vector{b, s, h * 64 + d}));
  const SymInt c = axis("c", 768);
  EXPECT_EQ(ops::reshaped_index(std::vector{b, s, c}, {B, S, 768}, {B, S, 12, 64}),
            (std::vector{b, s, floordiv(c, 64), mod(c, 64)}));
  EXPECT_EQ(ops::reshaped_index(std::vector{b, SymInt(0), s}, {B, 1, S}, {1, B, S}),
            (std::vector{SymInt(0), b, s}));
}

TEST(Permute, MovesDims) {
  const RefTensor x = counting({2, 3});
  EXPECT_EQ(run("permute", {x}, {{"dims", ints({1, 0})}}).f, (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(run("transpose", {x}, {{"dim0", -1}, {"dim1", 0}}).f, (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(infer("permute", {f({2, B, 4})}, {{"dims", ints({-1, 0, 1})}}), "f32[4, 2, B]");
  EXPECT_EQ(infer("movedim", {f({2, 3, 4})}, {{"source", 0}, {"destination", -1}}), "f32[3, 4, 2]");
  EXPECT_ERROR(infer("permute", {f({2, 3})}, {{"dims", ints({0})}}),
               "dims must name each of the 2 dims once, not [0]");
  EXPECT_ERROR(infer("permute", {f({2, 3})}, {{"dims", ints({0, -2})}}), "dims names dim 0 twice");
}

TEST(Expand, RepeatsDimsOfExtentOne) {
  EXPECT_EQ(run("expand", {f32({2, 1}, {5, 6})}, {{"size", ints({2, -1, 3})}}).f,
            (Values{5, 5, 5, 6, 6, 6, 5, 5, 5, 6, 6, 6}));
  EXPECT_EQ(infer("expand", {f({1, 3})}, {{"size", Shape{B, 3}}}), "f32[B, 3]");
  EXPECT_EQ(infer("broadcast_to", {f({3, 1})}, {{"shape", ints({2, 3, 4})}}), "f32[2, 3, 4]");
  EXPECT_ERROR(infer("expand", {f({2})}, {{"size", ints({3})}}),
               "[2] does not expand to [3]: dim 0 is not 1");
  EXPECT_ERROR(infer("expand", {f({2, 1})}, {{"size", ints({2})}}), "it has too few dims");
  EXPECT_ERROR(infer("expand", {f({2})}, {{"size", ints({-1, 2})}}), "a new dim cannot be -1");
}

Values sliced(int64_t start, int64_t end, int64_t step = 1) {
  return run("slice", {counting({6})}, {{"start", start}, {"end", end}, {"step", step}}).f;
}

TEST(Slice, FollowsPythonSlices) {
  EXPECT_EQ(sliced(1, 4), (Values{1, 2, 3}));
  EXPECT_EQ(sliced(-3, -1), (Values{3, 4}));
  EXPECT_EQ(sliced(-99, 2), (Values{0, 1}));
  EXPECT_EQ(sliced(4, 99), (Values{4, 5}));
  EXPECT_EQ(sliced(4, std::numeric_limits<int64_t>::max()), (Values{4, 5}));
  EXPECT_EQ(sliced(4, 2), Values{});
  EXPECT_EQ(sliced(99, 100), Values{});
  EXPECT_EQ(sliced(0, 6, 4), (Values{0, 4}));
  EXPECT_EQ(sliced(1, 6, 2), (Values{1, 3, 5}));
  EXPECT_ERROR(sliced(0, 6, 0), "slice: step must be positive, not 0");
  EXPECT_ERROR(sliced(0, 6, -1), "step must be positive, not -1");
}

TEST(Slice, TakesSymbolicBounds) {
  const auto slice = [](const Type& x, const SymInt& start, const SymInt& end) {
    return infer("slice", {x}, {{"start", Shape{start}}, {"end", Shape{end}}});
  };
  const int64_t to_the_end = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(slice(f({1024, 8}), 0, S), "f32[" + min(S, 1024).to_string() + ", 8]");
  EXPECT_EQ(slice(f({S, 8}), 0, S), "f32[S, 8]");
  EXPECT_EQ(slice(f({S, 8}), 1, to_the_end), "f32[S-1, 8]");
  EXPECT_EQ(slice(f({S, 8}), 0, -1), "f32[S-1, 8]");
  EXPECT_EQ(slice(f({S, 8}), S - 1, to_the_end), "f32[1, 8]");
  EXPECT_EQ(slice(f({S, 8}), -1, to_the_end), "f32[1, 8]");
  EXPECT_EQ(infer("narrow", {f({S + 4})}, {{"dim", 0}, {"start", Shape{S}}, {"length", 4}}),
            "f32[4]");
}

TEST(Slice, SelectAndNarrow) {
  const RefTensor x = counting({2, 3});
  EXPECT_EQ(run("select", {x}, {{"dim", 1}, {"index", -1}}).f, (Values{2, 5}));
  EXPECT_EQ(run("narrow", {x}, {{"dim", 1}, {"start", 1}, {"length", 2}}).f, (Values{1, 2, 4, 5}));
  EXPECT_ERROR(run("select", {x}, {{"dim", 1}, {"index", 3}}),
               "index 3 is out of range for dim 1 of [2, 3]");
  EXPECT_ERROR(run("select", {x}, {{"dim", 0}, {"index", -3}}), "index -3 is out of range");
  EXPECT_ERROR(run("narrow", {x}, {{"dim", 1}, {"start", 2}, {"length", 2}}),
               "start 2 and length 2 go beyond dim 1 of [2, 3]");
}

TEST(Slice, SplitAndChunk) {
  const auto pieces = run_all("split", {counting({7})}, {{"split_size_or_sections", 3}});
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[1].f, (Values{3, 4, 5}));
  EXPECT_EQ(pieces[2].f, (Values{6}));
  const auto sections =
      run_all("split", {counting({2, 3})}, {{"split_size_or_sections", ints({1, 2})}, {"dim", 1}});
  EXPECT_EQ(sections[1].f, (Values{1, 2, 4, 5}));
  EXPECT_EQ(run_all("chunk", {counting({5})}, {{"chunks", 4}}).size(), 3u) << "2, 2, 1";
  const Graph graph = test::op_graph("chunk", {f({B, 3 * S})}, {{"chunks", 3}, {"dim", 1}});
  ASSERT_EQ(graph.outputs.size(), 3u);
  EXPECT_EQ(to_string(graph.outputs[2]->type), "f32[B, S]");
  EXPECT_ERROR(run("split", {counting({7})}, {{"split_size_or_sections", ints({3, 3})}}),
               "split: sections [3, 3] do not add up to dim 0 of [7]");
  EXPECT_ERROR(run("split", {counting({7})}, {{"split_size_or_sections", 0}}),
               "a piece must have a positive size, not 0");
  EXPECT_ERROR(infer("split", {f({S})}, {{"split_size_or_sections", 3}}),
               "the number of pieces of size 3 in S is not known");
}

TEST(Movement, FlipRollRepeat) {
  const RefTensor x = counting({2, 3});
  EXPECT_EQ(run("flip", {x}, {{"dims", ints({1})}}).f, (Values{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(run("roll", {x}, {{"shifts", 1}, {"dims", 1}}).f, (Values{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(run("roll", {x}, {{"shifts", -2}}).f, (Values{2, 3, 4, 5, 0, 1}));
  EXPECT_EQ(run("repeat", {f32({2}, {1, 2})}, {{"repeats", ints({2, 2})}}).f,
            (Values{1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(run("tile", {f32({2, 1}, {1, 2})}, {{"dims", 2}}).f, (Values{1, 1, 2, 2}));
  EXPECT_EQ(run("repeat_interleave", {x}, {{"repeats", 2}, {"dim", 0}}).f,
            (Values{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(run("repeat_interleave", {f32({2}, {1, 2})}, {{"repeats", 2}}).f, (Values{1, 1, 2, 2}));
  EXPECT_EQ(run("diagonal", {counting({3, 3})}, {{"offset", 1}}).f, (Values{1, 5}));
  EXPECT_EQ(run("pixel_shuffle", {counting({4, 1, 2})}, {{"upscale_factor", 2}}).f,
            (Values{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_ERROR(infer("repeat", {f({2, 2})}, {{"repeats", ints({2})}}), "has fewer entries than");
  EXPECT_ERROR(infer("repeat", {f({1LL << 40})}, {{"repeats", ints({1LL << 40})}}), "overflows");
}

TEST(Movement, CatAndStack) {
  const RefTensor a = counting({2, 1}), b = f32({2, 2}, {7, 8, 9, 10});
  EXPECT_EQ(run("cat", {a, b}, {{"dim", 1}}).f, (Values{0, 7, 8, 1, 9, 10}));
  EXPECT_EQ(run("concat", {a, b}, {{"dim", -1}}).f, (Values{0, 7, 8, 1, 9, 10}));
  EXPECT_EQ(run("stack", {f32({2}, {1, 2}), f32({2}, {3, 4})}, {{"dim", 1}}).f,
            (Values{1, 3, 2, 4}));
  EXPECT_EQ(infer("cat", {f({B, 1}), f({B, S})}, {{"dim", 1}}), "f32[B, S+1]");
  EXPECT_EQ(infer("cat", {{DType::f16, {1}}, {DType::i64, {2}}}), "f16[3]");
  EXPECT_ERROR(run("cat", {a, b}), "cat: shapes [2, 1] and [2, 2] differ beyond dim 0");
  EXPECT_ERROR(run("stack", {a, b}), "stack: shapes [2, 1] and [2, 2] differ");
}

Values padded(std::vector<int64_t> pad, const char* mode, double value = 0) {
  return run("pad", {counting({4})}, {{"pad", ints(pad)}, {"mode", mode}, {"value", value}}).f;
}

TEST(Movement, Pad) {
  EXPECT_EQ(padded({1, 2}, "constant", 9), (Values{9, 0, 1, 2, 3, 9, 9}));
  EXPECT_EQ(padded({-1, 1}, "constant", 9), (Values{1, 2, 3, 9}));
  EXPECT_EQ(padded({3, 2}, "reflect"), (Values{3, 2, 1, 0, 1, 2, 3, 2, 1}));
  EXPECT_EQ(padded({2, 1}, "replicate"), (Values{0, 0, 0, 1, 2, 3, 3}));
  EXPECT_EQ(padded({2, 1}, "circular"), (Values{2, 3, 0, 1, 2, 3, 0}));
  const RefTensor rows = run("pad", {counting({1, 2})}, {{"pad", ints({0, 1, 1, 0})}});
  EXPECT_EQ(rows.shape, (Dims{2, 3})) << "the last dim's pair comes first";
  EXPECT_EQ(rows.f, (Values{0, 0, 0, 0, 1, 0}));
  EXPECT_ERROR(padded({4, 0}, "reflect"), "cannot pad a dim of 4 by 4 in mode reflect");
  EXPECT_ERROR(padded({0, 5}, "circular"), "cannot pad a dim of 4 by 5 in mode circular");
  EXPECT_ERROR(padded({-3, -3}, "constant"), "has a negative dim");
  EXPECT_ERROR(padded({1}, "constant"),
               "pad must hold two numbers for each of up to 1 dims, not 1");
}

TEST(Movement, Triangles) {
  const RefTensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run("tril", {x}).f, (Values{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(run("triu", {x}).f, (Values{1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(run("tril", {x}, {{"diagonal", 1}}).f, (Values{1, 2, 0, 4, 5, 6}));
  EXPECT_EQ(run("triu", {x}, {{"diagonal", 1}}).f, (Values{0, 2, 3, 0, 0, 6}));
}

}  // namespace
}  // namespace tcc::ir
