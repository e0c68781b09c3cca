// Attention in forms drawn at random: recognised, and with the results that it had.
#include <cmath>
#include <limits>
#include <random>

#include "ir/builder.h"
#include "ir/reference/interpreter.h"
#include "support/error.h"
#include "tests/check/attention_graphs.h"

namespace tcc::ir {
namespace {

class RandomAttention {
 public:
  explicit RandomAttention(uint32_t seed) : random_(seed), b_(graph_) {}

  Graph make() {
    dtype_ = one_of({DType::f32, DType::f32, DType::f16});
    shared_ = pick(1, 3);
    group_ = pick(1, 3);
    batch_ = pick(1, 3);
    rows_ = pick(1, 5);
    keys_ = coin() ? rows_ : pick(1, 5);
    depth_ = pick(1, 6);
    flat_ = group_ == 1 && coin();
    Value* query = heads("q", heads_count(), rows_, depth_);
    Value* key = repeated(heads("k", shared_, keys_, depth_));
    Value* value = repeated(heads("v", shared_, keys_, pick(1, 4)));
    Value* scores = scaled_product(flattened(query), flattened(key));
    if (flat_) scores = b_.reshape(scores, scores_shape());
    if (dtype_ == DType::f16 && coin()) scores = b_.cast(scores, DType::f32);
    scores = masked(scores);
    if (flat_) scores = flattened(scores);
    Value* weights = b_.op("softmax", {scores}, {{"dim", -1}});
    weights = b_.cast(weights, dtype_);
    if (coin())
      weights = b_.op("where", {b_.unary("isnan", weights), b_.scalar(dtype_, 0), weights});
    if (coin()) weights = b_.op("dropout", {weights}, {{"p", 0.1}});
    graph_.outputs = {b_.op(flat_ && coin() ? "bmm" : "matmul", {weights, flattened(value)})};
    graph_.output_names = {"y"};
    graph_.make_names_unique();
    return std::move(graph_);
  }

 private:
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint32_t>(high - low + 1));
  }
  bool coin() { return pick(0, 1) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[pick(0, static_cast<int64_t>(choices.size()) - 1)];
  }
  int64_t heads_count() const { return shared_ * group_; }
  Shape scores_shape() const { return {batch_, heads_count(), rows_, keys_}; }

  // [batch, heads, length, depth], as a projection or as it is.
  Value* heads(const std::string& name, int64_t heads, int64_t length, int64_t depth) {
    if (coin()) return graph_.add_input(name, {dtype_, {batch_, heads, length, depth}});
    Value* flat = graph_.add_input(name, {dtype_, {batch_, length, heads * depth}});
    return b_.permute(b_.reshape(flat, {batch_, length, heads, depth}), {0, 2, 1, 3});
  }

  Value* repeated(Value* x) {
    if (group_ == 1) return x;
    if (coin()) return b_.op("repeat_interleave", {x}, {{"repeats", group_}, {"dim", 1}});
    Shape shape = x->shape();
    shape.insert(shape.begin() + 2, group_);
    Value* all = b_.expand(b_.unsqueeze(x, 2), shape);
    shape.erase(shape.begin() + 2);
    shape[1] = heads_count();
    return b_.reshape(all, shape);
  }

  Value* flattened(Value* x) {
    const Shape& shape = x->shape();
    return flat_ ? b_.reshape(x, {shape[0] * shape[1], shape[2], shape[3]}) : x;
  }

  Value* scaled_product(Value* query, Value* key) {
    const auto times = [&](Value* x, double c) {
      Value* factor = b_.scalar(dtype_, coin() ? c : 1 / c);
      return known_splat_is(factor, c) ? b_.mul(factor, x) : b_.div(x, factor);
    };
    const int64_t form = pick(0, 4);
    if (form == 1 || form == 2) query = times(query, 0.5);
    if (form == 2) key = times(key, 0.25);
    const bool by_equation = !flat_ && coin();
    Value* scores = by_equation ? b_.op("einsum", {query, key}, {{"equation", "bhid,bhjd->bhij"}})
                                : b_.matmul(query, b_.transpose(key, -2, -1));
    if (form >= 3) scores = times(scores, 0.25);
    return scores;
  }

  static bool known_splat_is(const Value* value, double c) { return *value->data->splat() == c; }

  Shape mask_shape() {
    Shape shape = scores_shape();
    for (SymInt& dim : shape)
      if (coin()) dim = 1;
    return Shape(shape.begin() + pick(0, 2), shape.end());
  }

  Value* seen() {
    if (coin())
      return b_.op("causal_mask", {}, {{"size", Shape{rows_, keys_}}, {"diagonal", pick(0, 1)}});
    return graph_.add_input(str("seen", graph_.inputs.size()), {DType::boolean, mask_shape()});
  }

  Value* masked(Value* scores) {
    const DType dtype = scores->dtype();
    // Numbers that f32 holds, and one for all: rows in which everything is hidden see what is
    // hidden least.
    const double infinity = std::numeric_limits<double>::infinity();
    const double low = dtype == DType::f16 ? -infinity : one_of({-infinity, -0x1p127, -0x1p100});
    for (int64_t count = pick(0, 3); count > 0; --count) switch (pick(0, 3)) {
        case 0:
          scores = b_.add(
              scores, graph_.add_input(str("bias", graph_.inputs.size()), {dtype, mask_shape()}));
          break;
        case 1: scores = b_.op("where", {seen(), scores, b_.scalar(dtype, low)}); break;
        case 2:
          scores =
              b_.op("masked_fill", {scores, b_.unary("logical_not", seen())}, {{"value", low}});
          break;
        default:
          scores =
              b_.add(scores, b_.op("where", {seen(), b_.scalar(dtype, 0), b_.scalar(dtype, low)}));
      }
    return scores;
  }

  std::mt19937 random_;
  Graph graph_;
  Builder b_;
  DType dtype_ = DType::f32;
  int64_t batch_ = 1, shared_ = 1, group_ = 1, rows_ = 1, keys_ = 1, depth_ = 1;
  bool flat_ = false;
};

std::vector<RefTensor> draw(const Graph& graph, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<RefTensor> tensors;
  for (const Value* input : graph.inputs) {
    RefTensor tensor(input->dtype(), const_shape(*input));
    for (double& x : tensor.f) x = static_cast<double>(random() % 4001) / 1000 - 2;
    for (int64_t& x : tensor.i) x = random() % 4 != 0;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::string difference(const RefTensor& a, const RefTensor& b) {
  if (a.shape != b.shape || a.dtype != b.dtype) return "another type";
  for (size_t k = 0; k < a.f.size(); ++k) {
    if (std::isnan(a.f[k]) && std::isnan(b.f[k])) continue;
    if (!(std::fabs(a.f[k] - b.f[k]) <= 1e-9)) return str(k, ": ", a.f[k], " became ", b.f[k]);
  }
  return "";
}

TEST(AttentionForms, AreRecognisedAndKeepTheirResults) {
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    Graph graph = RandomAttention(seed).make();
    const std::string text = print_graph(graph);
    const std::vector<RefTensor> inputs = draw(graph, seed);
    const RefTensor before = interpret(graph, inputs, RefMode::ideal)[0];
    recognize_attention(graph);
    verify(graph);
    bool is_left = false;
    for (const auto& node : graph.nodes()) is_left |= node->op_name() == "softmax";
    EXPECT_FALSE(is_left) << "seed " << seed << text << print_graph(graph);
    EXPECT_EQ(difference(before, interpret(graph, inputs, RefMode::ideal)[0]), "")
        << "seed " << seed << text << print_graph(graph);
  }
}

}  // namespace
}  // namespace tcc::ir
