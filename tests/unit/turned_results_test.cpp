// Convolutions between permutes, as exporters of channels-last models write them, whose results are
// computed further in the order of memory: kernels are those of results in the convolution's order.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "support/error.h"

namespace tcc {
namespace {

exec::Executable compiled(const std::string& inputs, const std::string& weights, int64_t groups,
                          const std::string& nodes) {
  const std::string text =
      str("tcc: 1\nname: turned\ninputs: {", inputs, "}\nweights: {", weights,
          "}\nnodes:\n  - {out: image, op: permute, in: [x], dims: [0, 3, 1, 2]}\n"
          "  - {out: c, op: conv2d, in: [image, w], padding: 1, groups: ",
          groups, "}\n  - {out: t, op: permute, in: [c], dims: [0, 2, 3, 1]}\n", nodes,
          "outputs: [y]\n");
  backends::CompileOptions options;
  options.binaries = false;
  return backends::compile(parse_yaml_graph(text, "turned.yaml", "."),
                           sched::target_by_name("cuda:sm_90a"), options);
}

TEST(TurnedResults, OfProductsAreStoredInVectors) {
  const exec::Executable executable =
      compiled("x: {dtype: f16, shape: [8, 56, 56, 64]}, r: {dtype: f16, shape: [8, 56, 56, 256]}",
               "w: {dtype: f16, shape: [256, 64, 3, 3], init: {normal: 0.1}}", 1,
               "  - {out: s, op: add, in: [t, r]}\n  - {out: y, op: relu, in: [s]}\n");
  ASSERT_EQ(executable.kernels.size(), 1U);
  EXPECT_EQ(executable.kernels[0].template_name, "gemm_sm90");
  const std::string& source = executable.kernels[0].source;
  const size_t epilogue = source.find("void epilogue(");
  const std::string body = source.substr(epilogue, source.find("\n}", epilogue) - epilogue);
  EXPECT_EQ(body.find("b3["), std::string::npos) << body;  // the result, element by element
}

TEST(TurnedResults, OfDepthwiseConvolutionsHaveTheirKernels) {
  for (const int64_t side : {56, 64})  // 64: as many rows and columns as channels
    for (const char* nodes : {"  - {out: y, op: relu, in: [t]}\n",
                              "  - {out: m, op: mul, in: [t, s]}\n"
                              "  - {out: y, op: relu, in: [m]}\n"}) {
      const exec::Executable executable =
          compiled(str("x: {dtype: f16, shape: [8, ", side, ", ", side, ", 64]}"),
                   "w: {dtype: f16, shape: [64, 1, 3, 3], init: {normal: 0.1}}, "
                   "s: {dtype: f16, shape: [64], init: {normal: 1}}",
                   64, nodes);
      ASSERT_EQ(executable.kernels.size(), 1U);
      EXPECT_EQ(executable.kernels[0].template_name, "depthwise") << nodes;
    }
}

}  // namespace
}  // namespace tcc
