// The templates' analytic models: sane everywhere, and right where the order is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autotune/random_words.h"
#include "frontend/graph_file.h"
#include "scheduler/cost.h"
#include "scheduler/templates/contraction_tile.h"
#include "tests/unit/search_fixture.h"

namespace tcc::autotune {
namespace {

const char* const kMatrices =
    "x: {dtype: f32, shape: [4096, 4096]}, w: {dtype: f32, shape: [4096, 4096]}";
const char* const kImage =
    "x: {dtype: f32, shape: [1, 64, 56, 56]}, w: {dtype: f32, shape: [64, 64, 3, 3]}";

TEST(CostModelTest, EveryLegalConfigHasATime) {
  const std::pair<const char*, const char*> cases[] = {
      {kMatrices, "op: matmul, in: [x, w]"},
      {kImage, "op: conv2d, in: [x, w], padding: 1"},
      {"x: {dtype: f16, shape: [3, 5]}, w: {dtype: f16, shape: [5, 1]}", "op: matmul, in: [x, w]"},
      {"x: {dtype: f32, shape: [1024, 1000]}", "op: softmax, in: [x], dim: -1"},
      {"x: {dtype: f32, shape: [1, 1]}", "op: softmax, in: [x], dim: -1"},
      {"x: {dtype: bf16, shape: [512, 640]}", "op: sum, in: [x], dim: 0"},
      {"x: {dtype: f32, shape: [512, 640]}", "op: permute, in: [x], dims: [1, 0]"},
      {"x: {dtype: f32, shape: [100003]}", "op: gelu, in: [x]"},
      {"x: {dtype: f32, shape: [64, 640]}", "op: cumsum, in: [x], dim: 1"},
      {"x: {dtype: bf16, shape: [640, 50]}", "op: cumsum, in: [x], dim: 0, reverse: true"},
      {"x: {dtype: f32, shape: [64, 640]}", "op: argsort, in: [x], dim: 1"},
      {"x: {dtype: f32, shape: [8, 5000, 4]}, v: {dtype: bool, shape: [8, 5000]}",
       "op: suppress, in: [x, v, 0.5]"},
  };
  for (const char* target : {"cuda:sm_90a", "vulkan", "vulkan:lavapipe", "vulkan:mali"})
    for (const auto& [inputs, node] : cases) {
      const TemplateCase made(inputs, node, target);
      double slowest = 0, fastest = 1e9;
      made.space.enumerate([&](const sched::Config& config) {
        const double seconds = made.model(config);
        EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << config.to_string();
        EXPECT_EQ(seconds, made.candidate().estimate(config));
        slowest = std::max(slowest, seconds);
        fastest = std::min(fastest, seconds);
        return true;
      });
      EXPECT_LT(fastest, slowest) << target << " " << node << ": it tells nothing apart";
    }
}

// Where columns are neighbours, a warp that asks for few of them wastes parts of lines: such
// configs are not the model's first choice. The default is close to it.
TEST(CostModelTest, ProductsOfOneRowReadWholePartsOfLines) {
  for (const auto& [k, n] : {std::pair(2048, 512), std::pair(2048, 2048), std::pair(8192, 2048),
                             std::pair(2048, 8192), std::pair(2048, 128256)}) {
    const TemplateCase made(
        str("x: {dtype: bf16, shape: [1, ", k, "]}, w: {dtype: bf16, shape: [", k, ", ", n, "]}"),
        "op: matmul, in: [x, w]", "cuda:sm_90a");
    sched::Config best = made.default_config;
    made.space.enumerate([&](const sched::Config& config) {
      if (made.model(config) < made.model(best)) best = config;
      return true;
    });
    EXPECT_GE(best["columns"] * best["lanes_n"] * 2, 64) << k << " " << n << best.to_string();
    EXPECT_LE(made.model(made.default_config), 1.5 * made.model(best))
        << k << " " << n << " " << best.to_string() << ", not " << made.default_config.to_string();
  }
}

// The roofline of a look-up is what it reads, not the table.
TEST(CostModelTest, LookUpsNeedNotMoveTheTable) {
  const TemplateCase made(
      "x: {dtype: f32, shape: [1000, 64]}, i: {dtype: i64, shape: [8], range: [0, 1000]}",
      "op: embedding, in: [i, x]", "cuda:sm_90a");
  const sched::Kernel kernel = made.candidate().lower(made.default_config).only();
  EXPECT_EQ(kernel.bytes.usual(), 8 * 64 * 4 + 8 * 64 * 4 + 8 * 8);
  const TemplateCase sums("x: {dtype: f32, shape: [64, 640]}", "op: sum, in: [x], dim: 1",
                          "cuda:sm_90a");
  EXPECT_EQ(sched::least_bytes(sums.region()), 64 * 640 * 4 + 64 * 4);
}

// It has clusters, and no bulk copies of tiles: products of f32 are contractions.
const char* const kNoCopies = "cuda:sm_90";

TEST(CostModelTest, SpacesOfContractionsAreLarge) {
  EXPECT_GE(TemplateCase(kMatrices, "op: matmul, in: [x, w]", kNoCopies).space.size(), 500);
  EXPECT_GE(TemplateCase(kImage, "op: conv2d, in: [x, w], padding: 1", kNoCopies).space.size(),
            500);
}

TEST(CostModelTest, LargeProductsWantLargeTiles) {
  const TemplateCase made(kMatrices, "op: matmul, in: [x, w]", kNoCopies);
  auto seconds = [&](int64_t m, int64_t n, int64_t k, int64_t tm, int64_t tn) {
    return made.model({{"block_m", m},
                       {"block_n", n},
                       {"block_k", k},
                       {"thread_m", tm},
                       {"thread_n", tn},
                       {"slices", 1},
                       {"cluster", 1}});
  };
  const double ideal = 2 * std::pow(4096.0, 3) / made.target.flops_f32;
  EXPECT_GT(seconds(128, 128, 8, 8, 16), ideal);
  EXPECT_LT(seconds(128, 128, 8, 8, 16), 2 * ideal);
  EXPECT_LT(seconds(128, 128, 8, 8, 16), seconds(64, 64, 16, 8, 4));
  // In the order of what they reach on an H200.
  EXPECT_LT(seconds(64, 64, 16, 8, 4), seconds(64, 32, 16, 4, 4));
  EXPECT_LT(seconds(64, 32, 16, 4, 4), seconds(32, 32, 16, 4, 2));
  EXPECT_LT(seconds(32, 32, 16, 4, 2), seconds(16, 32, 16, 2, 2));
  EXPECT_LT(seconds(16, 32, 16, 2, 2), seconds(8, 32, 16, 1, 1));
}

TEST(CostModelTest, SmallProductsWantManyWorkgroups) {
  const TemplateCase made("x: {dtype: f32, shape: [32, 784]}, w: {dtype: f32, shape: [784, 512]}",
                          "op: matmul, in: [x, w]", kNoCopies);
  auto seconds = [&](int64_t m, int64_t n, int64_t tm, int64_t tn, int64_t cluster) {
    return made.model({{"block_m", m},
                       {"block_n", n},
                       {"block_k", 16},
                       {"thread_m", tm},
                       {"thread_n", tn},
                       {"slices", 1},
                       {"cluster", cluster}});
  };
  EXPECT_LT(seconds(16, 16, 2, 2, 1), seconds(64, 64, 8, 4, 1));
  EXPECT_LT(seconds(64, 64, 8, 4, 1), seconds(256, 128, 8, 8, 1));  // rows that are not there
  EXPECT_LT(seconds(32, 32, 4, 4, 4), seconds(32, 32, 4, 4, 1));
}

TEST(CostModelTest, MemoryBoundKernelsComeCloseToTheBandwidth) {
  const TemplateCase wide("x: {dtype: f32, shape: [67108864]}", "op: relu, in: [x]", "cuda:sm_90a");
  const double ideal = 2 * 4 * 67108864.0 / wide.target.bandwidth;
  const double good = wide.model({{"threads", 256}, {"vector", 4}, {"vectors", 1}});
  EXPECT_GT(good, ideal);
  EXPECT_LT(good, 1.3 * ideal);
  const TemplateCase rows("x: {dtype: f32, shape: [8192, 8192]}", "op: softmax, in: [x], dim: -1",
                          "cuda:sm_90a");
  auto seconds = [&](int64_t threads, int64_t rows_at_once, int64_t vector, int64_t keep) {
    return rows.model(
        {{"row_threads", threads}, {"rows", rows_at_once}, {"vector", vector}, {"keep", keep}});
  };
  EXPECT_LT(seconds(256, 1, 4, 1), seconds(256, 1, 4, 0));  // read once, not three times
  EXPECT_LT(seconds(256, 1, 4, 0), seconds(1, 32, 1, 0));   // a thread to itself: scattered
  EXPECT_LT(seconds(256, 1, 4, 1), seconds(1024, 1, 1, 1));
}

TEST(CostModelTest, ClustersBeyondThoseThatFitIntoGroupsOfUnitsWait) {
  const sched::Target target = test_target("cuda:sm_90a");
  const int64_t at_once = target.concurrent_clusters(8);
  ASSERT_LT(8 * at_once, target.compute_units);
  sched::LaunchCost cost;
  cost.threads = 128;
  const auto seconds = [&](int64_t clusters, int64_t size) {
    cost.cluster = size;
    cost.workgroups = static_cast<double>(8 * clusters);
    cost.arithmetic = 1e6 * cost.workgroups;  // one workgroup keeps the issue slots busy
    return predicted_seconds(cost, target);
  };
  EXPECT_DOUBLE_EQ(seconds(at_once, 8), seconds(at_once, 1));
  EXPECT_DOUBLE_EQ(seconds(at_once + 1, 1), seconds(at_once, 1));  // units are left for it
  EXPECT_GT(seconds(at_once + 1, 8), 1.5 * seconds(at_once, 8));
}

TEST(CostModelTest, FirstTilesAndSumsOfPeersAreWaitedFor) {
  const sched::Target target = test_target("cuda:sm_90a");
  sched::LaunchCost cost;
  cost.workgroups = target.compute_units;
  cost.threads = 128;
  cost.cache_bytes = 50e6;
  const double all_ahead = predicted_seconds(cost, target);
  cost.first_share = 1;
  EXPECT_NEAR(predicted_seconds(cost, target) - all_ahead, 50e6 / sched::cache_bandwidth(target),
              1e-9);
  cost.first_share = 0;
  cost.peer_bytes = 10e6;
  const double sent = predicted_seconds(cost, target) - all_ahead;
  EXPECT_GT(sent, 10e6 / sched::cache_bandwidth(target)) << "peers are no nearer than the cache";
  cost.peer_bytes *= 2;
  EXPECT_NEAR(predicted_seconds(cost, target) - all_ahead, 2 * sent, 1e-9);
}

// Linear layers that an H200 has run: each pair's first tile was faster by a fifth and more.
TEST(CostModelTest, FmaTilesAreInTheOrderThatWasMeasured) {
  const sched::Target target = test_target("cuda:sm_90a");
  struct Pair {
    int64_t m, n, k;
    sched::FmaTile fast, slow;
  };
  const Pair pairs[] = {
      {197, 768, 3072, {32, 128, 32, 8, 4, 1, 8}, {64, 64, 32, 8, 4, 1, 8}},
      {3136, 96, 384, {64, 32, 16, 8, 4, 2, 4}, {64, 128, 16, 8, 8, 1, 8}},
      {16, 4096, 1024, {16, 64, 64, 8, 2, 4, 2}, {32, 128, 64, 8, 4, 1, 8}},
      {32, 1024, 4096, {32, 32, 64, 8, 2, 1, 8}, {64, 64, 64, 8, 4, 1, 8}},
  };
  for (const Pair& pair : pairs) {
    sched::FmaProduct product;
    product.m = pair.m;
    product.n = pair.n;
    product.k = pair.k;
    product.a.vector = product.b.vector = 4;
    product.fold = true;
    product.bytes = 4 * static_cast<double>(pair.m * pair.k + pair.n * pair.k + pair.m * pair.n);
    EXPECT_LT(1.1 * predicted_seconds(pair.fast, product, target),
              predicted_seconds(pair.slow, product, target))
        << pair.m << " x " << pair.n << " x " << pair.k;
  }
}

TEST(CostModelTest, SoftwareDevicesHideNothing) {
  const sched::Target cpu = test_target("vulkan:lavapipe");
  sched::LaunchCost cost;
  cost.workgroups = 64;
  cost.threads = 64;
  cost.arithmetic = 1e8;
  cost.memory_bytes = 1e6;
  const double alone = predicted_seconds(cost, cpu);
  cost.memory_bytes = 1e8;
  EXPECT_NEAR(predicted_seconds(cost, cpu) - alone, 99e6 / cpu.bandwidth, 1e-6);
  cost.barriers = 100;
  EXPECT_GT(predicted_seconds(cost, cpu), alone + 99e6 / cpu.bandwidth);
}

}  // namespace
}  // namespace tcc::autotune
