// Structs that templates and device sources share: their text has every member, by name.
#include "scheduler/templates/kernel_parameters.h"

#include <map>

#include <gtest/gtest.h>

#include "backends/device/common/attention_coopmat_shape.h"
#include "backends/device/common/attention_sm80_shape.h"
#include "backends/device/common/attention_sm90_shape.h"
#include "backends/device/common/depthwise_sm80_shape.h"
#include "backends/device/common/gemm_coopmat_shape.h"
#include "backends/device/common/gemm_sm80_shape.h"
#include "backends/device/common/gemm_sm90_shape.h"
#include "backends/device/common/gemv_shape.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using kernels::GemmCoopmat;
using kernels::GemmSm80;
using kernels::GemmSm90;

struct Anything {
  template <class T>
  operator T() const;
};

// The number of members of an aggregate.
template <class T, class... Members>
constexpr int members() {
  if constexpr (requires { T{Members{}..., Anything{}}; })
    return members<T, Members..., Anything>();
  else
    return sizeof...(Members);
}

template <class T>
int visited() {
  int count = 0;
  T{}.each_field([&](const char*, const auto&) { ++count; });
  return count;
}

TEST(KernelParameters, EveryMemberIsVisited) {
  EXPECT_EQ(visited<kernels::Operand>(), members<kernels::Operand>());
  EXPECT_EQ(visited<kernels::Product>(), members<kernels::Product>());
  EXPECT_EQ(visited<kernels::Image>(), members<kernels::Image>());
  EXPECT_EQ(visited<kernels::ImageDim>(), members<kernels::ImageDim>());
  EXPECT_EQ(visited<GemmSm80>(), members<GemmSm80>());
  EXPECT_EQ(visited<GemmCoopmat>(), members<GemmCoopmat>());
  EXPECT_EQ(visited<kernels::CoopmatTile>(), members<kernels::CoopmatTile>());
  EXPECT_EQ(visited<kernels::GemmCoopmatSizes>(), members<kernels::GemmCoopmatSizes>());
  EXPECT_EQ(visited<GemmSm90>(), members<GemmSm90>());
  EXPECT_EQ(visited<kernels::AttentionOperand>(), members<kernels::AttentionOperand>());
  EXPECT_EQ(visited<kernels::AttentionCoopmat>(), members<kernels::AttentionCoopmat>());
  EXPECT_EQ(visited<kernels::AttentionCoopmatSizes>(), members<kernels::AttentionCoopmatSizes>());
  EXPECT_EQ(visited<kernels::AttentionSm80>(), members<kernels::AttentionSm80>());
  EXPECT_EQ(visited<kernels::AttentionSm90>(), members<kernels::AttentionSm90>());
  EXPECT_EQ(visited<kernels::Gemv>(), members<kernels::Gemv>());
  EXPECT_EQ(visited<kernels::ChannelView>(), members<kernels::ChannelView>());
  EXPECT_EQ(visited<kernels::WindowDim>(), members<kernels::WindowDim>());
  EXPECT_EQ(visited<kernels::DepthwiseSm80>(), members<kernels::DepthwiseSm80>());
}

TEST(KernelParameters, ValuesAreSpelledAsCpp) {
  GemmSm90 g;
  g.product.m = 4096;
  g.product.b.load = kernels::Load::computed;
  g.product.b.element = kernels::Element::e5m2;
  g.pingpong = true;
  const Parameters parameters = parameters_of(g, "GemmSm90", "common/gemm_sm90_shape.h");
  const std::map<std::string, std::string> fields(parameters.fields.begin(),
                                                  parameters.fields.end());
  EXPECT_EQ(fields.size(), parameters.fields.size()) << "a name is there twice";
  EXPECT_EQ(fields.at("product.m"), "4096");
  EXPECT_EQ(fields.at("product.b.load"), "Load::computed");
  EXPECT_EQ(fields.at("product.b.element"), "Element::e5m2");
  EXPECT_EQ(fields.at("product.sum"), "Sum::f32");
  EXPECT_EQ(fields.at("pingpong"), "true");
  EXPECT_EQ(parameters.enumerators.size(), 4u + 8u + 3u);
  EXPECT_EQ(parameters.enumerators.at("Load::computed"), static_cast<int>(kernels::Load::computed));
  EXPECT_EQ(parameters.enumerators.at("Element::e5m2"), static_cast<int>(kernels::Element::e5m2));
  EXPECT_THROW(element_of(DType::f64), InternalError);
  EXPECT_THROW(sum_of(DType::i64), InternalError);
}

TEST(GemmShapes, SharedBytesAreTheSumOfTheParts) {
  GemmSm90 g;
  g.product.m = 128;
  g.product.n = 512;
  g.product.k = 4096;
  g.block_m = 128;
  g.block_n = 64;
  g.split_k = 4;
  g.clusters = 8;
  g.stages = 3;
  // A tile of A and one of B; two eights of columns for each of four ranks, 64 rows of a group.
  const int64_t stage = (128 + 64) * 128, staging = 16 * 16 * 4, inbox = 3 * 2 * 512;
  EXPECT_EQ(kernels::sm90::tiles(g), 8);
  EXPECT_EQ(kernels::sm90::inboxes(g), 1);
  EXPECT_EQ(kernels::sm90::shared_bytes(g), 1024 + 3 * (stage + 16) + 8 * (staging + inbox + 8));
  g.clusters = 4;  // two rounds
  EXPECT_EQ(kernels::sm90::shared_bytes(g),
            1024 + 3 * (stage + 16) + 8 * (staging + 2 * (inbox + 8)));
  // With as many stages as fit, one more does not fit.
  g.stages = kernels::sm90::stages_within(g, 232448);
  EXPECT_GE(g.stages, 2);
  EXPECT_LE(kernels::sm90::shared_bytes(g), 232448);
  EXPECT_GT(kernels::sm90::shared_bytes(g) + stage, 232448 - 12 * 16);
}

}  // namespace
}  // namespace tcc::sched
