// sort, topk, searchsorted, gather_nd, scatter_nd, scatter_reduce and their kin against numbers
// written down: those of PyTorch's and ONNX's descriptions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "scheduler/split_sort.h"
#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

using test::f32;
using test::i64;
using test::infer;
using test::run;
using test::run_all;
using test::tensor;
using test::values;
using Values = std::vector<double>;
using Ints = std::vector<int64_t>;

TEST(Sort, KeepsEqualElementsInOrderAndPutsNaNLast) {
  const RefTensor x = f32({6}, {3, NAN, 1, 3, -INFINITY, 1});
  const auto ascending = run_all("sort", {x});
  EXPECT_EQ(ascending[1].i, (Ints{4, 2, 5, 0, 3, 1}));
  EXPECT_EQ(Values(ascending[0].f.begin(), ascending[0].f.end() - 1),
            (Values{-INFINITY, 1, 1, 3, 3}));
  EXPECT_TRUE(std::isnan(ascending[0].f.back()));
  EXPECT_EQ(run("argsort", {x}, {{"descending", true}}).i, (Ints{1, 0, 3, 2, 5, 4}));
  EXPECT_EQ(run("argsort", {f32({3}, {0.0, -0.0, 0.0})}).i, (Ints{0, 1, 2}));
}

TEST(Sort, GoesAlongAnyDimOfAnyType) {
  EXPECT_EQ(run("sort", {i64({2, 3}, {3, 1, 2, 0, 5, 4})}, {{"dim", 0}}).i,
            (Ints{0, 1, 2, 3, 5, 4}));
  EXPECT_EQ(run("sort", {tensor(DType::boolean, {4}, {1, 0, 1, 0})}).i, (Ints{0, 0, 1, 1}));
  const RefTensor large = tensor(DType::u64, {2}, {-1, 1});  // 2^64 - 1 and 1
  EXPECT_EQ(run("argsort", {large}).i, (Ints{1, 0}));
  EXPECT_EQ(run("sort", {f32({}, {3})}, {{"dim", -1}}).f, Values{3});
}

TEST(TopK, TakesTheFirstOfEqualElements) {
  const RefTensor x = f32({2, 4}, {0, 3, 3, 1, 7, NAN, 7, 7});
  const auto top = run_all("topk", {x}, {{"k", 2}});
  EXPECT_EQ(top[1].i, (Ints{1, 2, 1, 0}));
  EXPECT_EQ(top[0].f[0], 3);
  EXPECT_EQ(run_all("topk", {x}, {{"k", 1}, {"dim", 0}, {"largest", false}})[1].i,
            (Ints{0, 0, 0, 0}));
  EXPECT_ERROR(run("topk", {x}, {{"k", 5}}), "k is 5, dim 1 has 4 elements");
  EXPECT_ERROR(run("topk", {x}, {{"k", -1}}), "k must not be negative");
  EXPECT_EQ(infer("topk", {{DType::f16, {SymInt::symbol("B"), 9}}}, {{"k", 3}}), "f16[B, 3]");
}

TEST(SortRuns, SortsAndMergesPartsOfARow) {
  const RefTensor x = f32({7}, {5, 4, 1, 3, 2, 9, 8});
  const auto runs = run_all("sort_runs", {x}, {{"run", 3}, {"keep", 2}});
  EXPECT_EQ(runs[0].f, (Values{1, 4, 2, 3, 8}));
  EXPECT_EQ(runs[1].i, (Ints{2, 1, 4, 3, 6}));
  const auto merged = run_all("sort_runs", runs, {{"run", 4}, {"sorted", 2}});
  EXPECT_EQ(merged[0].f, (Values{1, 2, 3, 4, 8}));
  EXPECT_EQ(merged[1].i, (Ints{2, 4, 3, 1, 6}));
  EXPECT_ERROR(run("sort_runs", {x}, {{"run", 3}, {"sorted", 2}}), "two sorted runs become one");
}

// The parts that long rows are split into give what the whole gives.
TEST(SortRuns, SplitRowsGiveTheSame) {
  for (const int64_t keep : {0, 1, 50, 3000, 19999})
    for (const bool descending : {false, true}) {
      Graph graph = test::op_graph("sort_runs", {{DType::f32, {2, 20000}}},
                                   {{"keep", keep}, {"descending", descending}});
      RefTensor x(DType::f32, {2, 20000});
      for (size_t k = 0; k < x.f.size(); ++k)
        x.f[k] = static_cast<double>((k * 7919 + k / 13) % 4001);  // with ties
      const auto whole = interpret(graph, std::vector<RefTensor>{x}, RefMode::ideal);
      ir::rewrite_nodes(graph, [&](ir::Builder& b, const ir::Node& node) {
        return node.attr<int64_t>("run") == 0 ? sched::split_sort(b, node, 2304)
                                              : ir::Replacement{};
      });
      EXPECT_GT(graph.nodes().size(), 1u);
      const auto steps = interpret(graph, std::vector<RefTensor>{x}, RefMode::ideal);
      EXPECT_EQ(whole[0].f, steps[0].f) << keep;
      EXPECT_EQ(whole[1].i, steps[1].i) << keep;
    }
}

TEST(SearchSorted, CountsWhatComesBefore) {
  const RefTensor row = f32({4}, {1, 3, 3, NAN}), x = f32({5}, {0, 3, 4, NAN, 1});
  EXPECT_EQ(run("searchsorted", {row, x}).i, (Ints{0, 1, 3, 3, 0}));
  EXPECT_EQ(run("searchsorted", {row, x}, {{"right", true}}).i, (Ints{0, 3, 3, 4, 1}));
  const RefTensor rows = i64({2, 2}, {0, 1, 5, 6}), y = i64({2, 1}, {1, 6});
  EXPECT_EQ(run("searchsorted", {rows, y}).i, (Ints{1, 1}));
}

TEST(SearchSorted, FindsPlacesInRowsOfAnyLength) {
  uint64_t state = 1;
  const auto draw = [&](int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(below));
  };
  for (const int64_t n : {0, 1, 2, 31, 32, 33, 1023, 1024, 1025, 32768, 32769, 70000}) {
    Ints row, values, before, behind;
    for (int64_t i = 0; i < n; ++i) row.push_back(draw(n));
    std::ranges::sort(row);
    for (int i = 0; i < 50; ++i) values.push_back(draw(n + 3) - 1);
    for (const int64_t value : values) {
      before.push_back(std::ranges::lower_bound(row, value) - row.begin());
      behind.push_back(std::ranges::upper_bound(row, value) - row.begin());
    }
    const auto tensor = [](const Ints& of) {
      return i64({std::ssize(of)}, std::vector<double>(of.begin(), of.end()));
    };
    const RefTensor sorted = tensor(row), x = tensor(values);
    EXPECT_EQ(run("searchsorted", {sorted, x}).i, before) << n;
    EXPECT_EQ(run("searchsorted", {sorted, x}, {{"right", true}}).i, behind) << n;
  }
}

TEST(Scans, LeaveOutTheirOwnElementAndGoBackwards) {
  const RefTensor x = f32({4}, {1, 2, 3, 4});
  const auto sums = [&](bool exclusive, bool reverse) {
    return run("cumsum", {x}, {{"dim", 0}, {"exclusive", exclusive}, {"reverse", reverse}}).f;
  };
  EXPECT_EQ(sums(true, false), (Values{0, 1, 3, 6}));
  EXPECT_EQ(sums(false, true), (Values{10, 9, 7, 4}));
  EXPECT_EQ(sums(true, true), (Values{9, 7, 4, 0}));
  EXPECT_EQ(run("cumprod", {x}, {{"dim", 0}, {"exclusive", true}}).f, (Values{1, 1, 2, 6}));
}

// ONNX's examples.
TEST(GatherNd, ReadsElementsAndSlices) {
  const RefTensor x = f32({2, 2}, {0, 1, 2, 3});
  EXPECT_EQ(run("gather_nd", {x, i64({2, 2}, {0, 0, 1, 1})}).f, (Values{0, 3}));
  EXPECT_EQ(run("gather_nd", {x, i64({2, 1}, {-1, 0})}).f, (Values{2, 3, 0, 1}));
  const RefTensor cube = test::counting({2, 2, 2});
  EXPECT_EQ(run("gather_nd", {cube, i64({2, 1, 2}, {0, 1, 1, 0})}).f, (Values{2, 3, 4, 5}));
  EXPECT_EQ(run("gather_nd", {cube, i64({2, 1}, {1, 0})}, {{"batch_dims", 1}}).f,
            (Values{2, 3, 4, 5}));
  EXPECT_ERROR(run("gather_nd", {x, i64({1, 3}, {0, 0, 0})}), "name 3 dims, x has 2");
}

TEST(ScatterNd, ReplacesOrCombines) {
  const RefTensor x = test::counting({8}), at = i64({4, 1}, {4, 3, 1, -1}),
                  updates = f32({4}, {9, 10, 11, 12});
  EXPECT_EQ(run("scatter_nd", {x, at, updates}).f, (Values{0, 11, 2, 10, 9, 5, 6, 12}));
  const auto combined = [&](const char* reduction) {
    return run("scatter_nd", {f32({2}, {1, 5}), i64({3, 1}, {0, 0, 1}), f32({3}, {3, 2, 4})},
               {{"reduction", std::string(reduction)}})
        .f;
  };
  EXPECT_EQ(combined("none"), (Values{2, 4}));  // the last
  EXPECT_EQ(combined("add"), (Values{6, 9}));
  EXPECT_EQ(combined("mul"), (Values{6, 20}));
  EXPECT_EQ(combined("max"), (Values{3, 5}));
  EXPECT_EQ(combined("min"), (Values{1, 4}));
  EXPECT_ERROR(run("scatter_nd", {x, at, f32({3}, {0, 0, 0})}), "updates must be of shape [4]");
}

TEST(ScatterReduce, TakesTheElementItselfInOrNot) {
  const RefTensor x = f32({3}, {10, 20, 30}), at = i64({3}, {0, 0, 2}), src = f32({3}, {2, 4, 40});
  const auto reduced = [&](const char* reduce, bool with_self) {
    return run("scatter_reduce", {x, at, src},
               {{"dim", 0}, {"reduce", std::string(reduce)}, {"include_self", with_self}})
        .f;
  };
  EXPECT_EQ(reduced("sum", true), (Values{16, 20, 70}));
  EXPECT_EQ(reduced("sum", false), (Values{6, 20, 40}));
  EXPECT_EQ(reduced("prod", false), (Values{8, 20, 40}));
  EXPECT_EQ(reduced("mean", true), (Values{16.0 / 3, 20, 35}));
  EXPECT_EQ(reduced("mean", false), (Values{3, 20, 40}));
  EXPECT_EQ(reduced("amax", true), (Values{10, 20, 40}));
  EXPECT_EQ(reduced("amin", false), (Values{2, 20, 40}));
}

TEST(OneHot, TakesNegativeIndicesValuesAndADim) {
  const RefTensor x = i64({4}, {1, -1, 3, -4});
  EXPECT_EQ(run("one_hot", {x}, {{"num_classes", 3}}).i,
            (Ints{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(
      run("one_hot", {i64({2}, {0, 1}), f32({2}, {-1, 5})}, {{"num_classes", 2}, {"dim", 0}}).f,
      (Values{5, -1, -1, 5}));
}

TEST(ReverseSequence, ReversesTheBeginning) {
  const RefTensor x = test::counting({2, 4});
  EXPECT_EQ(run("reverse_sequence", {x, i64({2}, {3, 1})}, {{"dim", 1}, {"batch_dim", 0}}).f,
            (Values{2, 1, 0, 3, 4, 5, 6, 7}));
  EXPECT_ERROR(run("reverse_sequence", {x, i64({2}, {3, 1})}, {{"dim", 1}, {"batch_dim", 1}}),
               "dim and batch_dim are both 1");
}

TEST(Hardmax, MarksTheFirstOfTheLargest) {
  EXPECT_EQ(run("hardmax", {f32({2, 3}, {1, 3, 3, 0, -1, -2})}).f, (Values{0, 1, 0, 1, 0, 0}));
}

// ONNX's select_last_index: the first from the other end.
TEST(ArgMax, OfTheFlippedFindsTheLast) {
  Graph graph;
  Builder b(graph);
  Value* x = graph.add_input("x", {DType::f32, {5}});
  Value* first = b.op("argmax", {b.op("flip", {x}, {{"dims", ints({0})}})}, {{"dim", ints({0})}});
  graph.outputs = {b.sub(b.scalar(DType::i64, 4), first)};
  graph.output_names = {"y"};
  const std::vector<RefTensor> given = {f32({5}, {1, 7, 3, 7, 0})};
  EXPECT_EQ(interpret(graph, given, RefMode::ideal)[0].i, Ints{3});
}

}  // namespace
}  // namespace tcc::ir
