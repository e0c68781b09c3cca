// Bookkeeping of every op's executable: launches, buffers and outputs on a device that computes
// nothing.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/ops/op_samples.h"
#include "tests/run_graph.h"

namespace tcc::test {
namespace {

TEST(OpsOnTheNullDevice, GiveOutputsOfTheirTypes) {
  for (const ir::OpDef& op : ir::all_ops()) {
    for (const ir::OpSample& sample : op.samples) {
      const ir::Graph graph = sample_graph(op, sample);
      SCOPED_TRACE(ir::print_graph(graph));
      try {
        const std::vector<Tensor> outputs =
            run_on_device(graph, "null", draw_inputs(graph, {}), {});
        ASSERT_EQ(outputs.size(), graph.outputs.size());
        for (size_t i = 0; i < outputs.size(); ++i) {
          ir::Type wanted = graph.outputs[i]->type;
          // It computes no counts: a counted dim has any size.
          for (size_t d = 0; d < wanted.shape.size() && d < outputs[i].shape().size(); ++d)
            if (!wanted.shape[d].is_const()) wanted.shape[d] = outputs[i].shape()[d];
          EXPECT_EQ(type_text(outputs[i].dtype(), outputs[i].shape()), ir::to_string(wanted));
        }
      } catch (const Error& error) { ADD_FAILURE() << error.what(); }
    }
  }
}

}  // namespace
}  // namespace tcc::test
