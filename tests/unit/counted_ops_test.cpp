// compress, unique, topk_counted and non_max_suppression against straightforward code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "ir/counted_dims.h"
#include "ir/verify.h"
#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

using test::f32;
using test::i64;
using test::tensor;
using Ints = std::vector<int64_t>;
using Values = std::vector<double>;

Graph counting_graph(std::string_view op, const std::vector<Type>& inputs, Attrs attrs = {}) {
  attrs["size"] = shape_attr({SymInt::symbol("N")});
  Graph graph = test::op_graph(op, inputs, std::move(attrs));
  graph.dims["N"] = 0;
  verify(graph);
  return graph;
}

std::vector<RefTensor> count(std::string_view op, const std::vector<RefTensor>& inputs,
                             Attrs attrs = {}) {
  std::vector<Type> types;
  for (const RefTensor& x : inputs) types.push_back(test::type_of(x));
  const Graph graph = counting_graph(op, types, std::move(attrs)).bind({});
  return interpret(graph, inputs, RefMode::ideal);
}

class CountedOps : public ::testing::Test {
 protected:
  int64_t draw(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random_);
  }
  RefTensor draw(DType dtype, const Ints& shape, int64_t lo, int64_t hi) {
    RefTensor x(dtype, shape);
    for (double& value : x.f) value = static_cast<double>(draw(lo, hi)) / 2;
    for (int64_t& value : x.i) value = dtype == DType::boolean ? draw(0, 1) : draw(lo, hi);
    return x;
  }
  // Flags of which all, none or about half are set.
  RefTensor flags(int64_t n) {
    RefTensor x(DType::boolean, {n});
    const int64_t share = draw(0, 2);
    for (int64_t& value : x.i) value = share == 1 ? draw(0, 1) : share / 2;
    return x;
  }

 private:
  std::mt19937_64 random_{7};
};

double at(const RefTensor& x, int64_t k) {
  const auto place = static_cast<size_t>(k);
  return x.is_float() ? x.f[place] : static_cast<double>(x.i[place]);
}

// x as slices along `dim`, flattened: rows of [before * after] elements.
std::vector<Values> slices_of(const RefTensor& x, size_t dim) {
  int64_t before = 1, after = 1;
  for (size_t d = 0; d < x.shape.size(); ++d)
    if (d != dim) (d < dim ? before : after) *= x.shape[d];
  std::vector<Values> slices(static_cast<size_t>(x.shape[dim]));
  for (size_t k = 0; k < slices.size(); ++k)
    for (int64_t b = 0; b < before; ++b)
      for (int64_t a = 0; a < after; ++a)
        slices[k].push_back(at(x, (b * x.shape[dim] + static_cast<int64_t>(k)) * after + a));
  return slices;
}

constexpr DType kTypes[] = {DType::f32, DType::f16, DType::i32, DType::i64, DType::boolean};

TEST_F(CountedOps, CompressTakesTheSlicesWhoseConditionIsTrue) {
  for (int round = 0; round < 60; ++round) {
    const Ints shape = {draw(0, 4), draw(0, 5), draw(1, 3)};
    const RefTensor x = draw(kTypes[round % 5], shape, -9, 9);
    const int64_t dim = draw(-3, 2);
    const auto place = static_cast<size_t>(dim < 0 ? dim + 3 : dim);
    const RefTensor condition = flags(draw(0, shape[place]));
    const RefTensor result = count("compress", {x, condition}, {{"dim", ints({dim})}})[0];
    std::vector<Values> wanted;
    const std::vector<Values> slices = slices_of(x, place);
    for (size_t k = 0; k < condition.i.size(); ++k)
      if (condition.i[k]) wanted.push_back(slices[k]);
    Ints wanted_shape = shape;
    wanted_shape[place] = std::ssize(wanted);
    ASSERT_EQ(result.shape, wanted_shape);
    ASSERT_EQ(slices_of(result, place), wanted);
  }
}

TEST_F(CountedOps, CompressWithoutADimTakesElements) {
  const RefTensor x = i64({2, 3}, {1, 2, 3, 4, 5, 6});
  const RefTensor some = tensor(DType::boolean, {5}, {0, 1, 0, 0, 1});
  EXPECT_EQ(count("compress", {x, some})[0].i, (Ints{2, 5}));
  EXPECT_EQ(count("compress", {i64({}, {7}), tensor(DType::boolean, {1}, {1})})[0].i, (Ints{7}));
  EXPECT_ERROR(count("compress", {x, flags(7)}), "condition has 7 elements for 6");
  EXPECT_ERROR(count("compress", {x, i64({1}, {1})}), "condition is i64[1], not bool");
  EXPECT_ERROR(count("compress", {x, some}, {{"dim", ints({2})}}), "out of range");
}

struct Unique {
  std::vector<Values> values;
  Ints indices, inverse, counts;
};

// NaN equals NaN, and comes last.
int compare_slices(const Values& a, const Values& b) {
  for (size_t k = 0; k < a.size(); ++k) {
    const bool a_nan = std::isnan(a[k]), b_nan = std::isnan(b[k]);
    if (a_nan && b_nan) continue;
    if (a_nan || b_nan) return a_nan ? 1 : -1;
    if (a[k] != b[k]) return a[k] < b[k] ? -1 : 1;
  }
  return 0;
}

Unique unique_of(const std::vector<Values>& slices, bool sorted) {
  Unique result;
  for (size_t k = 0; k < slices.size(); ++k) {
    const bool is_new = std::ranges::none_of(
        result.values, [&](const Values& v) { return compare_slices(v, slices[k]) == 0; });
    if (!is_new) continue;
    result.values.push_back(slices[k]);
    result.indices.push_back(static_cast<int64_t>(k));
  }
  if (sorted) {
    std::ranges::sort(result.indices, [&](int64_t a, int64_t b) {
      return compare_slices(slices[static_cast<size_t>(a)], slices[static_cast<size_t>(b)]) < 0;
    });
    for (size_t k = 0; k < result.indices.size(); ++k)
      result.values[k] = slices[static_cast<size_t>(result.indices[k])];
  }
  result.counts.resize(result.values.size());
  for (const Values& slice : slices)
    for (size_t k = 0; k < result.values.size(); ++k)
      if (compare_slices(result.values[k], slice) == 0) {
        result.inverse.push_back(static_cast<int64_t>(k));
        ++result.counts[k];
      }
  return result;
}

void expect_unique(const RefTensor& x, size_t dim, bool sorted,
                   const std::vector<RefTensor>& results) {
  const Unique wanted = unique_of(slices_of(x, dim), sorted);
  Ints shape = x.shape;
  shape[dim] = std::ssize(wanted.values);
  ASSERT_EQ(results[0].shape, shape);
  const std::vector<Values> values = slices_of(results[0], dim);
  for (size_t k = 0; k < values.size(); ++k)
    ASSERT_EQ(compare_slices(values[k], wanted.values[k]), 0);
  ASSERT_EQ(results[1].i, wanted.indices);
  ASSERT_EQ(results[2].i, wanted.inverse);
  ASSERT_EQ(results[3].i, wanted.counts);
}

TEST_F(CountedOps, UniqueElements) {
  for (int round = 0; round < 100; ++round) {
    const int64_t n = round < 10 ? round % 3 : draw(0, 40), most = draw(0, 12);
    RefTensor x = draw(kTypes[round % 5], {n}, -most, most);
    if (round % 3 == 0)
      for (double& value : x.f) value = draw(0, 3) == 0 ? NAN : value;
    const bool sorted = draw(0, 1) == 1;
    const auto results = count("unique", {x}, {{"sorted", sorted}});
    ASSERT_NO_FATAL_FAILURE(expect_unique(x, 0, sorted, results)) << round;
  }
}

TEST_F(CountedOps, UniqueSlices) {
  for (int round = 0; round < 100; ++round) {
    const Ints shape = {draw(0, 6), draw(0, 4), draw(1, 2)};
    RefTensor x = draw(kTypes[round % 5], shape, 0, 1);
    if (round % 3 == 0)
      for (double& value : x.f) value = draw(0, 3) == 0 ? NAN : value;
    const int64_t dim = draw(-3, 2);
    const bool sorted = draw(0, 1) == 1;
    const auto results = count("unique", {x}, {{"sorted", sorted}, {"dim", ints({dim})}});
    const auto place = static_cast<size_t>(dim < 0 ? dim + 3 : dim);
    ASSERT_NO_FATAL_FAILURE(expect_unique(x, place, sorted, results)) << round;
  }
}

TEST_F(CountedOps, UniqueOfAnyShape) {
  const auto results = count("unique", {i64({2, 2}, {3, 1, 3, 3})});
  EXPECT_EQ(results[0].i, (Ints{1, 3}));
  EXPECT_EQ(results[2].i, (Ints{1, 0, 1, 1}));
  EXPECT_EQ(count("unique", {i64({}, {3})})[0].i, (Ints{3}));
  const RefTensor wide(DType::f32, {2, 257});
  EXPECT_ERROR(count("unique", {wide}, {{"dim", ints({0})}}),
               "slices along dim 0 have 257 elements; at most 256 are supported");
}

TEST_F(CountedOps, TopKOfAComputedK) {
  for (int round = 0; round < 40; ++round) {
    const RefTensor x = draw(kTypes[round % 5], {2, draw(1, 30), 3}, -5, 5);
    const int64_t k = draw(0, x.shape[1]);
    const Attrs attrs = {{"dim", int64_t{round % 2 ? 1 : -2}}, {"largest", draw(0, 1) == 1}};
    const RefTensor number = i64(round % 2 ? Ints{1} : Ints{}, {static_cast<double>(k)});
    const auto results = count("topk_counted", {x, number}, attrs);
    Attrs with_k = attrs;
    with_k["k"] = k;
    const auto wanted = test::run_all("topk", {x}, with_k);
    ASSERT_EQ(results[0].shape, (Ints{2, k, 3}));
    ASSERT_EQ(test::values(results[0]), test::values(wanted[0]));
    ASSERT_EQ(results[1].i, wanted[1].i);
  }
  const RefTensor x(DType::f32, {4});
  EXPECT_ERROR(count("topk_counted", {x, i64({}, {5})}), "is 5, which is not from 0 to 4");
  EXPECT_ERROR(count("topk_counted", {x, i64({}, {-1})}), "is -1, which is not from 0 to 4");
  EXPECT_ERROR(count("topk_counted", {x, i64({2}, {1, 1})}), "k is i64[2], not one i64");
}

// ---- non_max_suppression

struct Sides {
  float low[2], high[2];
  float area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

Sides sides_of(const double* box, bool center) {
  Sides sides{};
  for (int d = 0; d < 2; ++d) {
    const auto a = static_cast<float>(box[d]), b = static_cast<float>(box[d + 2]);
    sides.low[d] = center ? a - b / 2 : std::min(a, b);
    sides.high[d] = center ? a + b / 2 : std::max(a, b);
  }
  return sides;
}

bool overlap(const Sides& a, const Sides& b, float threshold) {
  float both = 1;
  for (int d = 0; d < 2; ++d) {
    const float side = std::min(a.high[d], b.high[d]) - std::max(a.low[d], b.low[d]);
    if (side <= 0) return false;
    both *= side;
  }
  return both / (a.area() + b.area() - both) > threshold;
}

struct NmsCase {
  RefTensor boxes, scores;
  std::optional<int64_t> most = {};
  std::optional<double> iou = {}, score = {};
  bool center = false;
};

Ints nms(const NmsCase& c) {
  Ints rows;
  const int64_t batches = c.boxes.shape[0], n = c.boxes.shape[1], classes = c.scores.shape[1];
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t of_class = 0; of_class < classes; ++of_class) {
      const double* scores = c.scores.f.data() + (batch * classes + of_class) * n;
      Ints order(static_cast<size_t>(n)), kept;
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
      for (const int64_t box : order) {
        if (std::ssize(kept) >= c.most.value_or(0)) break;
        if (c.score && !(scores[box] > *c.score)) continue;
        const auto sides = [&](int64_t k) {
          return sides_of(c.boxes.f.data() + (batch * n + k) * 4, c.center);
        };
        if (std::ranges::any_of(kept, [&](int64_t other) {
              return overlap(sides(other), sides(box), static_cast<float>(c.iou.value_or(0)));
            }))
          continue;
        kept.push_back(box);
        rows.insert(rows.end(), {batch, of_class, box});
      }
    }
  return rows;
}

RefTensor count_nms(const NmsCase& c) {
  Graph graph;
  std::vector<Value*> operands;
  std::vector<RefTensor> inputs;
  const auto add = [&](const RefTensor& x) {
    operands.push_back(graph.add_input("x" + std::to_string(operands.size()), test::type_of(x)));
    inputs.push_back(x);
  };
  add(c.boxes);
  add(c.scores);
  c.most ? add(i64({1}, {static_cast<double>(*c.most)})) : operands.push_back(nullptr);
  c.iou ? add(f32({1}, {*c.iou})) : operands.push_back(nullptr);
  c.score ? add(f32({}, {*c.score})) : operands.push_back(nullptr);
  graph.dims["N"] = 0;
  graph.outputs = {Builder(graph).op(
      "non_max_suppression", operands,
      {{"size", shape_attr({SymInt::symbol("N")})}, {"center_point_box", int64_t{c.center}}})};
  graph.output_names = {"rows"};
  return interpret(graph.bind({}), inputs, RefMode::ideal)[0];
}

TEST_F(CountedOps, NonMaxSuppression) {
  for (int round = 0; round < 120; ++round) {
    const int64_t batches = draw(1, 3), classes = draw(1, 3);
    const int64_t n = round < 12 ? round % 2 : draw(0, 30);
    NmsCase c{.boxes = draw(DType::f32, {batches, n, 4}, 0, 16),
              .scores = draw(DType::f32, {batches, classes, n}, 0, 12)};
    if (draw(0, 5) > 0) c.most = draw(0, 3) > 0 ? draw(0, 30) : 1000;
    if (draw(0, 3) > 0) c.iou = static_cast<double>(draw(0, 4)) / 4;
    if (draw(0, 1) > 0) c.score = static_cast<double>(draw(-1, 13)) / 2;
    c.center = draw(0, 1) == 1;
    const Ints wanted = nms(c);
    const RefTensor rows = count_nms(c);
    ASSERT_EQ(rows.shape, (Ints{std::ssize(wanted) / 3, 3}));
    ASSERT_EQ(rows.i, wanted) << round;
  }
}

// Memory for the largest result needs no room for what a constant excludes.
TEST_F(CountedOps, NonMaxSuppressionKnowsHowManyRowsAreTheMost) {
  Graph graph;
  std::vector<Value*> operands = {graph.add_input("boxes", {DType::f32, {2, 50, 4}}),
                                  graph.add_input("scores", {DType::f32, {2, 3, 50}})};
  const auto most = [&](Value* limit) {
    operands.resize(2);
    if (limit) operands.push_back(limit);
    const Value* rows = Builder(graph).op("non_max_suppression", operands,
                                          {{"size", shape_attr({SymInt::symbol("N")})}});
    return counted_dim(*rows->producer)->most.value();
  };
  EXPECT_EQ(most(graph.add_input("most", {DType::i64, {1}})), 300);
  const auto constant = [&](int64_t k) {
    return graph.add_constant("", {DType::i64, {}}, make_scalar_int(DType::i64, k));
  };
  EXPECT_EQ(most(constant(10)), 60);
  EXPECT_EQ(most(constant(1000)), 300);
  EXPECT_EQ(most(constant(-1)), 0);
  EXPECT_EQ(most(nullptr), 0);
}

TEST_F(CountedOps, NonMaxSuppressionChecksItsOperands) {
  const Type boxes{DType::f32, {1, 5, 4}}, scores{DType::f32, {1, 2, 5}};
  EXPECT_ERROR(counting_graph("non_max_suppression", {{DType::f32, {5, 4}}, scores}),
               "boxes must be [batch, n, 4], not [5, 4]");
  EXPECT_ERROR(counting_graph("non_max_suppression", {boxes, {DType::f32, {1, 2, 6}}}),
               "scores must be [batch, classes, n] with the boxes' batch and n, not [1, 2, 6]");
  EXPECT_ERROR(counting_graph("non_max_suppression", {boxes, scores, {DType::f32, {1}}}),
               "max_output_boxes_per_class is f32[1], not one integer");
}

}  // namespace
}  // namespace tcc::ir
