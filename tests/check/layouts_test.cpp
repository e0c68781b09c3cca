// Graph text in, the layouts of the buffers between its kernels out.
#include "scheduler/layout.h"

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace tcc::sched {
namespace {

// A line for each kernel: its name, then its buffers as "name(order of dims) rows of so many
// elements", where they are padded.
std::string layouts_of(std::string_view text, std::string_view target) {
  const ir::Graph graph = ir::parse_graph(text);
  ir::verify(graph);
  const backends::Scheduled scheduled =
      backends::schedule(graph, target_by_name(target), backends::CompileOptions());
  std::string lines;
  for (const ScheduledRegion& scheduled_region : scheduled.regions) {
    const Region& region = scheduled_region.region();
    lines += region.name() + ":";
    const auto add = [&](const ir::Value* value) {
      if (value->rank() < 2) return;
      const Layout& layout = region.layout(value);
      std::string order;
      for (const int dim : layout.order()) order += std::to_string(dim);
      lines += str(" ", order);
      const int64_t elements = ir::product(value->shape()).usual();
      if (layout.elements.usual() != elements)
        lines += str("[", layout.elements.usual(), " for ", elements, "]");
    };
    for (const ir::Value* value : region.inputs) add(value);
    lines += " ->";
    for (const ir::Value* value : region.outputs) add(value);
    lines += "\n";
  }
  return lines;
}

constexpr std::string_view kConvolutions = R"(graph @g {
  %x: bf16[8, 64, 14, 14] = input
  %v: bf16[64, 64, 3, 3] = weight
  %w: bf16[64, 64, 1, 1] = weight
  %a = conv2d(%x, %v) {padding = 1}
  %r = relu(%a)
  %b = conv2d(%r, %w)
  return %b
})";

TEST(Layouts, ValuesBetweenConvolutionsHaveTheirChannelsInnermost) {
  EXPECT_EQ(layouts_of(kConvolutions, "cuda:sm_90a"),
            "identity: 0123 -> 0231\n"
            "convolution_relu: 0231 2310 -> 0231\n"
            "convolution: 0231 2310 -> 0123\n");
}

// FMA units read the graph's input as it comes.
TEST(Layouts, CopiesAreMadeForUnitsAlone) {
  EXPECT_EQ(layouts_of(kConvolutions, "cuda:sm_70"),
            "convolution_relu: 0123 2310 -> 0231\n"
            "convolution: 0231 2310 -> 0123\n");
}

// Rows of 99 elements are 104 apart, which are 208 bytes.
TEST(Layouts, RowsAreAsLongAsUnitsRead) {
  EXPECT_EQ(layouts_of(R"(graph @g {
    %x: bf16[256, 256] = input
    %v: bf16[256, 99] = weight
    %w: bf16[99, 256] = weight
    %a = matmul(%x, %v)
    %b = matmul(%a, %w)
    return %b
  })",
                       "cuda:sm_90a"),
            "matmul: 01 01[26624 for 25344] -> 01[26624 for 25344]\n"
            "matmul: 01[26624 for 25344] 01 -> 01\n");
}

// A norm whose result is read with dims exchanged stores it as it reads: wgmma takes either order.
TEST(Layouts, NormsStoreAlongTheirRows) {
  EXPECT_EQ(layouts_of(R"(graph @g {
    %x: bf16[8, 192, 768] = input
    %w: bf16[192, 384] = weight
    %n = rms_norm(%x) {normalized_shape = [768]}
    %t = permute(%n) {dims = [0, 2, 1]}
    %y = matmul(%t, %w)
    return %y
  })",
                       "cuda:sm_90a"),
            "mul_sum_div_add_rsqrt: 012 -> 021\n"
            "matmul: 021 01 -> 012\n");
}

}  // namespace
}  // namespace tcc::sched
