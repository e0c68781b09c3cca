// ONNX's recurrent layers with a free batch and length, as exporters write them.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "ir/verify.h"
#include "runtime/program.h"
#include "tests/open_graph.h"
#include "tests/unit/onnx_fixture.h"

namespace tcc {
namespace {

using testing::OnnxModel;
namespace pb = testing::pb;

// Some numbers in [-5/16, 5/16].
pb::TensorProto numbers(const std::vector<int64_t>& shape, int64_t k) {
  pb::TensorProto tensor = testing::float_tensor(shape, 0);
  for (int i = 0; i < tensor.float_data_size(); ++i)
    tensor.set_float_data(i, static_cast<float>((i * 7 + k) % 11 - 5) / 16);
  return tensor;
}

// Both directions over x [batch, time, 3], whose initial states are zeros of computed shape: y
// [batch, time, 8 hidden units], h.
OnnxModel layer(const std::string& op, int64_t gates, const testing::OnnxAttributes& more) {
  OnnxModel model;
  model.input("x", {{"batch", "time", 3}}).input("lengths", {{"batch"}}, pb::TensorProto::INT32);
  model.constant("w", numbers({2, gates * 4, 3}, 1)).constant("r", numbers({2, gates * 4, 4}, 2));
  model.constant("bias", numbers({2, gates * 8}, 3));
  model.node("Transpose", {"x"}, {"t"}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
  model.ints("two", {2}).ints("four", {4}).ints("one", {1}).ints("merged", {0, 0, 8});
  model.node("Shape", {"x"}, {"shape"}).ints("zero", {0});
  model.node("Slice", {"shape", "zero", "one"}, {"rows"});
  model.node("Concat", {"two", "rows", "four"}, {"states"}, {{"axis", 0}});
  model.node("ConstantOfShape", {"states"}, {"h0"}, {{"value", testing::float_tensor({1}, 0.5F)}});
  testing::OnnxAttributes attributes = {{"hidden_size", 4}, {"direction", "bidirectional"}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  model.node(op, {"t", "w", "r", "bias", "lengths", "h0"}, {"out", "h"}, attributes);
  model.node("Transpose", {"out"}, {"by_row"}, {{"perm", std::vector<int64_t>{2, 0, 1, 3}}});
  model.node("Reshape", {"by_row", "merged"}, {"y"}).output("y").output("h");
  return model;
}

TEST(OnnxRecurrent, LayersRunAtAnyLength) {
  if (test::devices_present(test::Devices::software).empty())
    GTEST_SKIP() << "there is no software device";
  const testing::OnnxAttributes after = {{"linear_before_reset", 1}};
  for (const auto& [op, gates, attributes] :
       {std::tuple<std::string, int64_t, testing::OnnxAttributes>{"LSTM", 4, {}},
        {"GRU", 3, after},
        {"RNN", 1, {}}}) {
    const ir::Graph graph = layer(op, gates, attributes).import();
    backends::CompileOptions options;
    options.open_dims = {{"batch", {.least = 1, .most = 9}}, {"time", {.least = 1, .most = 16}}};
    std::vector<test::Sizes> sizes;
    for (const auto& [batch, time] :
         {std::pair<int64_t, int64_t>{1, 1}, {1, 16}, {9, 2}, {4, 7}, {9, 16}})
      sizes.push_back({{"batch", batch}, {"time", time}});
    test::DrawOptions draw;
    draw.int_hi = 17;
    EXPECT_EQ(test::difference_at(graph, test::devices_present(test::Devices::software).front(),
                                  options, sizes, draw),
              "")
        << op;
  }
}

}  // namespace
}  // namespace tcc
