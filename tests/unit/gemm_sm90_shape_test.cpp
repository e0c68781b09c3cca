// Which rows the tiles of gemm_sm90 load and store, and the tensor maps that clip them.
#include <gtest/gtest.h>

#include "backends/compile/nvrtc.h"
#include "backends/device/common/gemm_sm90_shape.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "tests/random_configs.h"

namespace tcc::backends {
namespace {

namespace sm90 = kernels::sm90;

TEST(GemmSm90Shape, LastTilesLieWithinTheOperand) {
  for (const auto load : {kernels::Load::tiles, kernels::Load::computed})
    for (const int64_t block : {8, 64, 96, 192})
      for (int64_t size = 1; size <= 2 * block + 17; ++size) {
        kernels::GemmSm90 g;
        g.product.a.load = load;
        const int64_t unit = load == kernels::Load::tiles ? 8 : 16;
        std::vector<int> stored(static_cast<size_t>(size));
        // A cluster may have tiles of which no row is there.
        for (int64_t at = 0; at < size + block; at += block) {
          const int64_t begin = sm90::first_row(g, at, size, block);
          ASSERT_LE(begin, at);
          ASSERT_TRUE(begin == at || begin % unit == 0) << size << " " << at;
          ASSERT_TRUE(size < block || begin + block < size + unit) << size << " " << at;
          for (int64_t row = std::max(begin, at); row < std::min(begin + block, size); ++row)
            ++stored[static_cast<size_t>(row)];
        }
        for (const int times : stored) ASSERT_EQ(times, 1) << size << " " << block;
      }
}

// The maps of a linear layer's kernel.
std::vector<exec::TensorMap> maps_of(std::map<std::string, int64_t> config, bool open) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: linear\ndims: {M: 72}\n"
      "inputs: {x: {dtype: bf16, shape: [M, 256]}, w: {dtype: bf16, shape: [200, 256]}}\n"
      "nodes:\n  - {out: y, op: linear, in: [x, w]}\noutputs: [y]\n",
      "linear.yaml", ".");
  config.insert(
      {{"block_m", 128}, {"block_n", 64}, {"groups", 2}, {"pingpong", 0}, {"split_k", 1}});
  const test::RandomConfigs configs(1, std::move(config));
  CompileOptions options;
  options.binaries = nvrtc_missing().empty();
  options.configs = &configs;
  if (open) options.open_dims = {{"M", {.least = 1, .most = 100, .multiple = 1}}};
  const ir::Graph bound = graph.bind({});
  const exec::Executable executable =
      compile(open ? graph : bound, sched::target_by_name("cuda:sm_90a"), options);
  std::vector<exec::TensorMap> maps;
  for (const exec::KernelLaunch* launch : exec::usual_launches(executable))
    maps.insert(maps.end(), launch->maps.begin(), launch->maps.end());
  return maps;
}

// Clipped sides of their boxes, by map.
std::multiset<std::vector<int>> clips_of(std::map<std::string, int64_t> config, bool open) {
  std::multiset<std::vector<int>> clips;
  for (const exec::TensorMap& map : maps_of(std::move(config), open)) clips.insert(map.clip);
  return clips;
}

TEST(GemmSm90Shape, BoxesAreClippedToOpenRows) {
  const std::vector<int> as_it_is, clipped = {0, 8};
  for (const int64_t swapped : {0, 1}) {
    const auto clips = [&](int64_t cluster_m, int64_t cluster_n, bool open) {
      return clips_of({{"cluster_m", cluster_m}, {"cluster_n", cluster_n}, {"swapped", swapped}},
                      open);
    };
    using Clips = std::multiset<std::vector<int>>;
    EXPECT_EQ(clips(1, 1, true), Clips({as_it_is, clipped}));
    EXPECT_EQ(clips(1, 1, false), Clips({as_it_is, as_it_is}));
    // Workgroups that copy slices of the open rows for each other copy whole ones.
    EXPECT_EQ(clips(swapped ? 2 : 1, swapped ? 1 : 2, true), Clips({as_it_is, as_it_is}));
  }
}

// A kernel waits for the bytes of as many rows as the boxes have that the host encodes.
TEST(GemmSm90Shape, KernelsWaitForTheRowsOfTheBoxes) {
  const kernels::Operand by_k = {.major_k = true};
  for (const int64_t swapped : {0, 1}) {
    int clipped = 0;
    for (const exec::TensorMap& map :
         maps_of({{"cluster_m", 1}, {"cluster_n", 1}, {"swapped", swapped}}, true)) {
      if (map.clip.empty()) continue;
      ++clipped;
      EXPECT_EQ(map.box.at(1), swapped ? 64 : 128);
      for (int64_t size = 1; size <= 300; ++size)
        ASSERT_EQ(exec::box_side(map, 1, size), sm90::rows_loaded(by_k, size, map.box[1], 1))
            << size;
      EXPECT_EQ(exec::box_side(map, 0, 1), map.box[0]) << "k is not clipped";
    }
    EXPECT_EQ(clipped, 1) << swapped;
  }
}

}  // namespace
}  // namespace tcc::backends
