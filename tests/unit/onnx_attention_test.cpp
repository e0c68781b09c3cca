// The attention operators of ONNX Runtime, against loops over heads, queries and keys.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <onnx.pb.h>
#include "frontend/graph_file.h"
#include "ir/reference/interpreter.h"
#include "ir/verify.h"
#include "support/error.h"

namespace tcc {
namespace {

using ir::RefTensor;
using Index = std::vector<int64_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double at(const RefTensor& x, const Index& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset = offset * x.shape[d] + index[d];
  return x.is_float() ? x.f.at(static_cast<size_t>(offset))
                      : static_cast<double>(x.i.at(static_cast<size_t>(offset)));
}

RefTensor floats(const Index& shape, uint32_t seed) {
  RefTensor x(DType::f32, shape);
  std::mt19937 random(seed);
  for (double& value : x.f) value = static_cast<double>(random() % 257) / 128 - 1;
  return x;
}

RefTensor integers(const Index& shape, const std::vector<int64_t>& values) {
  RefTensor x(DType::i32, shape);
  x.i = values;
  return x;
}

// A model of one node. Its inputs are i0, i1, ...; an empty tensor is an omitted one.
class OneNode {
 public:
  explicit OneNode(const std::string& op, int results = 1) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(17);
    auto& microsoft = *model_.add_opset_import();
    microsoft.set_domain("com.microsoft");
    microsoft.set_version(1);
    graph().set_name("test");
    node_ = graph().add_node();
    node_->set_op_type(op);
    node_->set_domain("com.microsoft");
    for (int k = 0; k < results; ++k) {
      node_->add_output(str("o", k));
      graph().add_output()->set_name(str("o", k));
    }
  }

  OneNode& attribute(const std::string& name, int64_t value) {
    auto& attribute = add_attribute(name, onnx::AttributeProto::INT);
    attribute.set_i(value);
    return *this;
  }
  OneNode& attribute(const std::string& name, int value) { return attribute(name, int64_t{value}); }
  OneNode& attribute(const std::string& name, double value) {
    auto& attribute = add_attribute(name, onnx::AttributeProto::FLOAT);
    attribute.set_f(static_cast<float>(value));
    return *this;
  }
  OneNode& attribute(const std::string& name, const Index& values) {
    auto& attribute = add_attribute(name, onnx::AttributeProto::INTS);
    attribute.mutable_ints()->Add(values.begin(), values.end());
    return *this;
  }

  OneNode& input(const RefTensor& x) {
    const std::string name = str("i", node_->input_size());
    node_->add_input(name);
    auto& info = *graph().add_input();
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(x.is_float() ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT32);
    type.mutable_shape();
    for (int64_t dim : x.shape) type.mutable_shape()->add_dim()->set_dim_value(dim);
    inputs_.push_back(x);
    return *this;
  }
  OneNode& omitted() {
    node_->add_input("");
    return *this;
  }
  OneNode& number(int32_t value) {
    const std::string name = str("i", node_->input_size());
    node_->add_input(name);
    auto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT32);
    tensor.add_int32_data(value);
    return *this;
  }

  std::vector<RefTensor> run() const {
    const ir::Graph graph = parse_onnx_graph(model_.SerializeAsString(), "m.onnx");
    ir::verify(graph);
    return ir::interpret(graph, inputs_, ir::RefMode::ideal);
  }

 private:
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  onnx::AttributeProto& add_attribute(const std::string& name,
                                      onnx::AttributeProto::AttributeType type) {
    auto& attribute = *node_->add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  }

  onnx::ModelProto model_;
  onnx::NodeProto* node_;
  std::vector<RefTensor> inputs_;
};

// x [B, S, N * D], plus a bias from its column `from` on, as [B, N, S, D].
RefTensor heads_of(const RefTensor& x, int64_t heads, const RefTensor* bias = nullptr,
                   int64_t from = 0) {
  const int64_t depth = x.shape[2] / heads;
  RefTensor y(DType::f32, {x.shape[0], heads, x.shape[1], depth});
  size_t k = 0;
  for (int64_t b = 0; b < y.shape[0]; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t s = 0; s < y.shape[2]; ++s)
        for (int64_t d = 0; d < depth; ++d)
          y.f[k++] = at(x, {b, s, h * depth + d}) + (bias ? at(*bias, {from + h * depth + d}) : 0);
  return y;
}

// `past` and then `fresh` along dim 2.
RefTensor joined(const RefTensor& past, const RefTensor& fresh) {
  RefTensor y(DType::f32, fresh.shape);
  y.shape[2] += past.shape[2];
  y.f.clear();
  for (int64_t b = 0; b < y.shape[0]; ++b)
    for (int64_t h = 0; h < y.shape[1]; ++h)
      for (int64_t t = 0; t < y.shape[2]; ++t)
        for (int64_t d = 0; d < y.shape[3]; ++d)
          y.f.push_back(t < past.shape[2] ? at(past, {b, h, t, d})
                                          : at(fresh, {b, h, t - past.shape[2], d}));
  return y;
}

using Addend = std::function<double(int64_t b, int64_t h, int64_t s, int64_t t)>;

RefTensor attended(const RefTensor& q, const RefTensor& k, const RefTensor& v, double scale,
                   const Addend& addend) {
  const int64_t heads = q.shape[1], group = heads / k.shape[1], depth = v.shape[3];
  RefTensor y(DType::f32, {q.shape[0], q.shape[2], heads * depth});
  for (int64_t b = 0; b < q.shape[0]; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t s = 0; s < q.shape[2]; ++s) {
        std::vector<double> weights;
        double largest = -kInfinity, total = 0;
        for (int64_t t = 0; t < k.shape[2]; ++t) {
          double score = 0;
          for (int64_t d = 0; d < q.shape[3]; ++d)
            score += at(q, {b, h, s, d}) * at(k, {b, h / group, t, d});
          weights.push_back(score * scale + addend(b, h, s, t));
          largest = std::max(largest, weights.back());
        }
        for (double& w : weights) total += w = std::exp(w - largest);
        for (int64_t d = 0; d < depth; ++d)
          for (int64_t t = 0; t < k.shape[2]; ++t)
            y.f[static_cast<size_t>(((b * y.shape[1] + s) * heads + h) * depth + d)] +=
                weights[static_cast<size_t>(t)] / total * at(v, {b, h / group, t, d});
      }
  return y;
}

void expect_near(const RefTensor& found, const RefTensor& expected) {
  ASSERT_EQ(found.shape, expected.shape);
  for (size_t k = 0; k < expected.f.size(); ++k)
    ASSERT_NEAR(found.f[k], expected.f[k], 1e-6) << "element " << k;
}

// ---- Attention

// x W + bias, the columns from `from` to `to`.
RefTensor projected(const RefTensor& x, const RefTensor& w, const RefTensor& bias, int64_t from,
                    int64_t to) {
  RefTensor y(DType::f32, {x.shape[0], x.shape[1], to - from});
  size_t k = 0;
  for (int64_t b = 0; b < x.shape[0]; ++b)
    for (int64_t s = 0; s < x.shape[1]; ++s)
      for (int64_t c = from; c < to; ++c, ++k) {
        y.f[k] = at(bias, {c});
        for (int64_t i = 0; i < x.shape[2]; ++i) y.f[k] += at(x, {b, s, i}) * at(w, {i, c});
      }
  return y;
}

class PackedAttention : public ::testing::Test {
 protected:
  const RefTensor x = floats({2, 3, 5}, 1), w = floats({5, 24}, 2), bias = floats({24}, 3);
  const RefTensor q = heads_of(projected(x, w, bias, 0, 8), 2);
  const RefTensor k = heads_of(projected(x, w, bias, 8, 16), 2);
  const RefTensor v = heads_of(projected(x, w, bias, 16, 24), 2);

  OneNode node(int results = 1) const {
    OneNode model("Attention", results);
    model.attribute("num_heads", 2).input(x).input(w).input(bias);
    return model;
  }
  // Checks a mask whose value for query s and key t is 0 or -10000.
  void expect_mask(const RefTensor& mask, const Addend& addend) const {
    expect_near(node().input(mask).run()[0], attended(q, k, v, 0.5, addend));
  }
};

TEST_F(PackedAttention, ProjectsAndAttends) {
  expect_near(node().run()[0], attended(q, k, v, 0.5, [](auto...) { return 0.0; }));
}

TEST_F(PackedAttention, TakesMasksInEveryForm) {
  const auto hidden = [](bool visible) { return visible ? 0.0 : -10000.0; };
  const RefTensor rows = integers({2, 3}, {1, 1, 0, 0, 1, 1});
  expect_mask(rows, [&](int64_t b, int64_t, int64_t, int64_t t) {
    return hidden(at(rows, {b, t}) > 0);
  });
  const RefTensor lengths = integers({2}, {2, 3});
  expect_mask(lengths, [&](int64_t b, int64_t, int64_t, int64_t t) {
    return hidden(t < lengths.i[static_cast<size_t>(b)]);
  });
  const RefTensor ranges = integers({4}, {3, 2, 1, 0});
  expect_mask(ranges, [&](int64_t b, int64_t, int64_t, int64_t t) {
    return hidden(b == 0 ? t >= 1 : t < 2);
  });
  const RefTensor full =
      integers({2, 3, 3}, {1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 0, 1});
  expect_mask(full, [&](int64_t b, int64_t, int64_t s, int64_t t) {
    return hidden(at(full, {b, s, t}) > 0);
  });
  RefTensor largest = integers({2, 1, 4, 4}, {});
  for (int64_t i = 0; i < 32; ++i) largest.i.push_back(i % 3 != 0 || i % 5 == 0);
  expect_mask(largest, [&](int64_t b, int64_t, int64_t s, int64_t t) {
    return hidden(at(largest, {b, 0, s, t}) > 0);
  });
}

TEST_F(PackedAttention, ContinuesAPast) {
  const RefTensor past = floats({2, 2, 2, 4, 4}, 4);
  RefTensor past_k(DType::f32, {2, 2, 4, 4}), past_v = past_k;
  std::copy_n(past.f.begin(), past_k.f.size(), past_k.f.begin());
  std::copy(past.f.begin() + static_cast<std::ptrdiff_t>(past_k.f.size()), past.f.end(),
            past_v.f.begin());
  const RefTensor keys = joined(past_k, k), values = joined(past_v, v);
  const auto found =
      node(2).attribute("unidirectional", 1).attribute("scale", 0.25).omitted().input(past).run();
  expect_near(found[0], attended(q, keys, values, 0.25, [](int64_t, int64_t, int64_t s, int64_t t) {
                return t <= s + 4 ? 0 : -kInfinity;
              }));
  RefTensor present(DType::f32, {2, 2, 2, 7, 4});
  present.f = keys.f;
  present.f.insert(present.f.end(), values.f.begin(), values.f.end());
  expect_near(found[1], present);
}

TEST_F(PackedAttention, TakesSizesAndABias) {
  const RefTensor added = floats({1, 2, 3, 3}, 5);
  OneNode model("Attention");
  model.attribute("num_heads", 2).attribute("qkv_hidden_sizes", Index{6, 6, 12});
  model.attribute("mask_filter_value", -3.0);
  const RefTensor rows = integers({2, 3}, {1, 0, 1, 0, 1, 1});
  model.input(x).input(w).input(bias).input(rows).omitted().input(added);
  expect_near(
      model.run()[0],
      attended(heads_of(projected(x, w, bias, 0, 6), 2), heads_of(projected(x, w, bias, 6, 12), 2),
               heads_of(projected(x, w, bias, 12, 24), 2), 1 / std::sqrt(3.0),
               [&](int64_t b, int64_t h, int64_t s, int64_t t) {
                 return at(added, {0, h, s, t}) + (at(rows, {b, t}) > 0 ? 0 : -3);
               }));
}

// ---- MultiHeadAttention

TEST(MultiHeadAttention, AddsBiasesAndMasks) {
  const RefTensor q = floats({2, 3, 8}, 1), k = floats({2, 5, 8}, 2), v = floats({2, 5, 6}, 3);
  const RefTensor bias = floats({22}, 4), added = floats({2, 1, 3, 5}, 5);
  const RefTensor padding = integers({2, 5}, {1, 1, 1, 0, 0, 1, 0, 1, 1, 1});
  OneNode model("MultiHeadAttention");
  model.attribute("num_heads", 2).input(q).input(k).input(v).input(bias);
  model.input(padding).input(added);
  expect_near(model.run()[0],
              attended(heads_of(q, 2, &bias), heads_of(k, 2, &bias, 8), heads_of(v, 2, &bias, 16),
                       0.5, [&](int64_t b, int64_t, int64_t s, int64_t t) {
                         return at(added, {b, 0, s, t}) + (at(padding, {b, t}) > 0 ? 0 : -10000);
                       }));
}

TEST(MultiHeadAttention, ContinuesAPast) {
  const RefTensor q = floats({1, 2, 8}, 1), k = floats({1, 2, 8}, 2), v = floats({1, 2, 8}, 3);
  const RefTensor past_k = floats({1, 2, 3, 4}, 4), past_v = floats({1, 2, 3, 4}, 5);
  OneNode model("MultiHeadAttention", 3);
  model.attribute("num_heads", 2).attribute("unidirectional", 1);
  model.input(q).input(k).input(v).omitted().omitted().omitted().input(past_k).input(past_v);
  const RefTensor keys = joined(past_k, heads_of(k, 2)), values = joined(past_v, heads_of(v, 2));
  const auto found = model.run();
  expect_near(found[0], attended(heads_of(q, 2), keys, values, 0.5,
                                 [](int64_t, int64_t, int64_t s, int64_t t) {
                                   return t <= s + 3 ? 0 : -kInfinity;
                                 }));
  expect_near(found[1], keys);
  expect_near(found[2], values);
}

// [B, S, N, count, D]: member `which` as [B, S, N * D].
RefTensor member(const RefTensor& packed, int64_t which) {
  const Index& shape = packed.shape;
  RefTensor y(DType::f32, {shape[0], shape[1], shape[2] * shape[4]});
  size_t k = 0;
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t s = 0; s < shape[1]; ++s)
      for (int64_t h = 0; h < shape[2]; ++h)
        for (int64_t d = 0; d < shape[4]; ++d) y.f[k++] = at(packed, {b, s, h, which, d});
  return y;
}

TEST(MultiHeadAttention, UnpacksItsInputs) {
  const auto nothing = [](auto...) { return 0.0; };
  const RefTensor all = floats({2, 3, 2, 3, 4}, 1);
  OneNode packed("MultiHeadAttention");
  packed.attribute("num_heads", 2).input(all);
  expect_near(packed.run()[0], attended(heads_of(member(all, 0), 2), heads_of(member(all, 1), 2),
                                        heads_of(member(all, 2), 2), 0.5, nothing));
  const RefTensor q = floats({2, 2, 8}, 2), pair = floats({2, 3, 2, 2, 4}, 3);
  OneNode half("MultiHeadAttention");
  half.attribute("num_heads", 2).input(q).input(pair);
  expect_near(half.run()[0], attended(heads_of(q, 2), heads_of(member(pair, 0), 2),
                                      heads_of(member(pair, 1), 2), 0.5, nothing));
  const RefTensor k = floats({2, 2, 5, 4}, 4), v = floats({2, 2, 5, 3}, 5);
  OneNode cross("MultiHeadAttention");
  cross.attribute("num_heads", 2).input(q).input(k).input(v);
  expect_near(cross.run()[0], attended(heads_of(q, 2), k, v, 0.5, nothing));
}

// ---- RotaryEmbedding

// x [B, N, S, D] by the angles of position(b, s).
RefTensor rotated(const RefTensor& x, const RefTensor& cos, const RefTensor& sin, bool interleaved,
                  const std::function<int64_t(int64_t b, int64_t s)>& position) {
  RefTensor y = x;
  const int64_t half = cos.shape[1], depth = x.shape[3];
  for (size_t k = 0; k < x.f.size(); ++k) {
    const auto e = static_cast<int64_t>(k), d = e % depth, s = e / depth % x.shape[2];
    if (d >= 2 * half) continue;
    const int64_t angle = interleaved ? d / 2 : d % half;
    const bool first = interleaved ? d % 2 == 0 : d < half;
    const int64_t step = interleaved ? 1 : half;
    const int64_t row = position(e / (depth * x.shape[2] * x.shape[1]), s);
    const double partner = x.f[static_cast<size_t>(first ? e + step : e - step)];
    y.f[k] = x.f[k] * at(cos, {row, angle}) + (first ? -partner : partner) * at(sin, {row, angle});
  }
  return y;
}

RefTensor merged(const RefTensor& x) {  // [B, N, S, D] as [B, S, N * D]
  RefTensor y(DType::f32, {x.shape[0], x.shape[2], x.shape[1] * x.shape[3]});
  size_t k = 0;
  for (int64_t b = 0; b < x.shape[0]; ++b)
    for (int64_t s = 0; s < x.shape[2]; ++s)
      for (int64_t h = 0; h < x.shape[1]; ++h)
        for (int64_t d = 0; d < x.shape[3]; ++d) y.f[k++] = at(x, {b, h, s, d});
  return y;
}

TEST(RotaryEmbedding, RotatesHalvesAndPairs) {
  const RefTensor x = floats({2, 3, 8}, 1), cos = floats({10, 2}, 2), sin = floats({10, 2}, 3);
  const RefTensor ids = integers({2, 3}, {0, 4, 9, 3, 2, 1});
  for (const bool interleaved : {false, true}) {
    OneNode model("RotaryEmbedding");
    model.attribute("interleaved", interleaved ? 1 : 0).input(x).input(ids).input(cos).input(sin);
    expect_near(model.run()[0],
                merged(rotated(heads_of(x, 2), cos, sin, interleaved, [&](int64_t b, int64_t s) {
                  return static_cast<int64_t>(at(ids, {b, s}));
                })));
  }
}

TEST(RotaryEmbedding, CountsFromAnOffsetAndLeavesTheRestOfAHead) {
  const RefTensor x = floats({2, 2, 3, 6}, 1), cos = floats({10, 2}, 2), sin = floats({10, 2}, 3);
  OneNode model("RotaryEmbedding");
  model.attribute("rotary_embedding_dim", 4).attribute("num_heads", 2);
  model.input(x).input(integers({1}, {5})).input(cos).input(sin);
  expect_near(model.run()[0],
              rotated(x, cos, sin, false, [](int64_t, int64_t s) { return s + 5; }));
}

// ---- GroupQueryAttention

struct Groups {
  RefTensor q = floats({2, 2, 16}, 1), k = floats({2, 2, 8}, 2), v = floats({2, 2, 8}, 3);
  RefTensor past_k = floats({2, 2, 4, 4}, 4), past_v = floats({2, 2, 4, 4}, 5);
  RefTensor cos = floats({8, 2}, 6), sin = floats({8, 2}, 7);
  std::vector<int64_t> first = {4, 2};  // positions of the new tokens, in all 6 and 4
};

// The first rows of the past, and behind them the new ones.
double cached(const RefTensor& past, const RefTensor& fresh, int64_t first, const Index& index) {
  Index row = index;
  row[2] = index[2] < first ? index[2] : index[2] - first;
  return at(index[2] < first ? past : fresh, row);
}

TEST(GroupQueryAttention, AppendsToEverySequenceWhereItEnds) {
  const Groups g;
  OneNode model("GroupQueryAttention", 3);
  model.attribute("num_heads", 4).attribute("kv_num_heads", 2).attribute("do_rotary", 1);
  model.attribute("local_window_size", 3);
  model.input(g.q).input(g.k).input(g.v).input(g.past_k).input(g.past_v);
  model.input(integers({2}, {5, 3})).number(6).input(g.cos).input(g.sin);
  const auto found = model.run();
  const auto position = [&](int64_t b, int64_t s) { return g.first[static_cast<size_t>(b)] + s; };
  const RefTensor q = rotated(heads_of(g.q, 4), g.cos, g.sin, false, position);
  const RefTensor k = rotated(heads_of(g.k, 2), g.cos, g.sin, false, position);
  const RefTensor v = heads_of(g.v, 2);
  RefTensor keys(DType::f32, {2, 2, 6, 4}), values = keys;
  size_t e = 0;
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t t = 0; t < 6; ++t)
        for (int64_t d = 0; d < 4; ++d, ++e) {
          if (t >= position(b, 2)) continue;  // elements after the end are not used
          keys.f[e] = cached(g.past_k, k, position(b, 0), {b, h, t, d});
          values.f[e] = cached(g.past_v, v, position(b, 0), {b, h, t, d});
          EXPECT_NEAR(found[1].f[e], keys.f[e], 1e-6);
          EXPECT_NEAR(found[2].f[e], values.f[e], 1e-6);
        }
  ASSERT_EQ(found[1].shape, keys.shape);
  expect_near(found[0],
              attended(q, keys, values, 0.5, [&](int64_t b, int64_t, int64_t s, int64_t t) {
                const int64_t back = position(b, s) - t;
                return back >= 0 && back < 3 ? 0 : -kInfinity;
              }));
}

TEST(GroupQueryAttention, ReadsAPackedPrompt) {
  const RefTensor all = floats({2, 3, 16}, 1);
  const auto part = [&](int64_t from, int64_t to) {
    RefTensor y(DType::f32, {2, 3, to - from});
    size_t k = 0;
    for (int64_t row = 0; row < 6; ++row)
      for (int64_t c = from; c < to; ++c) y.f[k++] = at(all, {row / 3, row % 3, c});
    return y;
  };
  OneNode model("GroupQueryAttention", 3);
  model.attribute("num_heads", 2).attribute("kv_num_heads", 1).attribute("scale", 0.3);
  model.input(all).omitted().omitted().omitted().omitted();
  model.input(integers({2}, {2, 1})).number(3);
  expect_near(model.run()[0],
              attended(heads_of(part(0, 8), 2), heads_of(part(8, 12), 1), heads_of(part(12, 16), 1),
                       static_cast<double>(0.3F), [](int64_t, int64_t, int64_t s, int64_t t) {
                         return t <= s ? 0 : -kInfinity;
                       }));
}

// ---- what is refused

void expect_refused(const OneNode& model, const std::string& reason) {
  try {
    (void)model.run();
    ADD_FAILURE() << "was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

TEST(AttentionOperators, SayWhatTheyLack) {
  const RefTensor x = floats({2, 3, 8}, 1), w = floats({8, 24}, 2);
  expect_refused(OneNode("Attention").attribute("num_heads", 3).input(x).input(w),
                 "no multiple of 3 heads");
  expect_refused(
      OneNode("Attention").attribute("num_heads", 2).attribute("do_rotary", 1).input(x).input(w),
      "do_rotary is not supported");
  expect_refused(OneNode("Attention")
                     .attribute("num_heads", 2)
                     .input(x)
                     .input(w)
                     .omitted()
                     .input(integers({8}, Index(8, 1))),
                 "a mask [8] for 3 keys is not supported");
  expect_refused(OneNode("MultiHeadAttention").attribute("num_heads", 2).input(x),
                 "key and value are missing");
  const RefTensor half = floats({2, 3, 4}, 3);
  expect_refused(OneNode("GroupQueryAttention")
                     .attribute("num_heads", 2)
                     .attribute("kv_num_heads", 1)
                     .attribute("softcap", 30.0)
                     .input(x)
                     .input(half)
                     .input(half)
                     .omitted()
                     .omitted()
                     .input(integers({2}, {2, 2}))
                     .number(3),
                 "softcap is not supported");
  expect_refused(OneNode("GroupQueryAttention")
                     .attribute("num_heads", 2)
                     .attribute("kv_num_heads", 1)
                     .input(x)
                     .input(half)
                     .input(half)
                     .omitted()
                     .omitted()
                     .input(integers({2}, {2, 2}))
                     .input(integers({}, {3})),
                 "must be known when the graph is compiled");
}

}  // namespace
}  // namespace tcc
