// The spaces of the templates whose legal configs are given by rules: how many configs are legal,
// which they are, and the default. Records name configs, so that these change with a template's
// version alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "tests/coopmat_devices.h"
#include "tests/random_recurrent.h"

namespace tcc {
namespace {

struct Pinned {
  const char* template_name;
  const char* target;
  const char* inputs;
  const char* nodes;
  int64_t legal;       // configs
  const char* digest;  // of them, in order
  const char* defaults;
  bool is_indifferent = false;  // estimates do not decide whether the template takes it
  bool tf32 = false;            // f32 may be read so
};

constexpr const char* kAttention = "{out: y, op: scaled_dot_product_attention, in: [q, k, v]}";
constexpr const char* kCausal =
    "{out: y, op: scaled_dot_product_attention, in: [q, k, v], is_causal: true}";
constexpr const char* kShared =
    "{out: y, op: scaled_dot_product_attention, in: [q, k, v], enable_gqa: true}";
constexpr const char* kLong16 =
    "q: {dtype: f16, shape: [2, 8, 1000, 64]}, k: {dtype: f16, shape: [2, 8, 1000, 64]}, "
    "v: {dtype: f16, shape: [2, 8, 1000, 72]}";
constexpr const char* kLong32 =
    "q: {dtype: f32, shape: [1, 3, 300, 40]}, k: {dtype: f32, shape: [1, 3, 700, 40]}, "
    "v: {dtype: f32, shape: [1, 3, 700, 33]}";
constexpr const char* kSquare32 =
    "q: {dtype: f32, shape: [2, 4, 500, 64]}, k: {dtype: f32, shape: [2, 4, 500, 64]}, "
    "v: {dtype: f32, shape: [2, 4, 500, 64]}";
constexpr const char* kDecode32 =
    "q: {dtype: f32, shape: [1, 4, 1, 128]}, k: {dtype: f32, shape: [1, 4, 4096, 128]}, "
    "v: {dtype: f32, shape: [1, 4, 4096, 128]}";
constexpr const char* kDecode16 =
    "q: {dtype: bf16, shape: [1, 32, 3, 128]}, k: {dtype: bf16, shape: [1, 4, 4096, 128]}, "
    "v: {dtype: bf16, shape: [1, 4, 4096, 128]}";
constexpr const char* kDecodeF16 =
    "q: {dtype: f16, shape: [1, 32, 3, 64]}, k: {dtype: f16, shape: [1, 4, 4096, 64]}, "
    "v: {dtype: f16, shape: [1, 4, 4096, 64]}";
constexpr const char* kLstm = "{out: y, op: lstm, in: [x, w, r]}";
constexpr const char* kGru =
    "{out: y, op: gru, in: [x, w, r], direction: bidirectional, linear_before_reset: true}";
constexpr const char* kSmallLstm =
    "x: {dtype: f32, shape: [20, 3, 5]}, w: {dtype: f32, shape: [1, 240, 5]}, "
    "r: {dtype: f32, shape: [1, 240, 60]}";
constexpr const char* kLargeLstm =
    "x: {dtype: f16, shape: [50, 24, 64]}, w: {dtype: f16, shape: [1, 2048, 64]}, "
    "r: {dtype: f16, shape: [1, 2048, 512]}";
constexpr const char* kSomeGru =
    "x: {dtype: f32, shape: [30, 9, 16]}, w: {dtype: f32, shape: [2, 600, 16]}, "
    "r: {dtype: f32, shape: [2, 600, 200]}";
constexpr const char* kSmallGru =
    "x: {dtype: bf16, shape: [30, 33, 16]}, w: {dtype: bf16, shape: [2, 72, 16]}, "
    "r: {dtype: bf16, shape: [2, 72, 24]}";
// Images with neighbouring channels.
constexpr const char* kDepthwise =
    "{out: i, op: permute, in: [x], dims: [0, 3, 1, 2]}, "
    "{out: s, op: conv2d, in: [i, w], groups: 96, padding: 3}, "
    "{out: y, op: permute, in: [s], dims: [0, 2, 3, 1]}";
constexpr const char* kStrided =
    "{out: i, op: permute, in: [x], dims: [0, 3, 1, 2]}, "
    "{out: s, op: conv2d, in: [i, w], groups: 20, stride: 2, dilation: 2}, "
    "{out: y, op: permute, in: [s], dims: [0, 2, 3, 1]}";
constexpr const char* kProduct = "{out: y, op: matmul, in: [x, w]}";

const Pinned kPinned[] = {
    {"attention", "cuda:sm_90a", kLong32, kAttention, 2608, "648d223503a3ba2c",
     "block_d=16 block_k=16 block_q=64 split_keys=16 thread_k=2 thread_q=4"},
    {"attention", "cuda:sm_80", kSquare32, kCausal, 1238, "ba84053485ae990d",
     "block_d=32 block_k=32 block_q=32 split_keys=4 thread_k=2 thread_q=4"},
    {"attention", "cuda:sm_90a", kDecode32, kAttention, 3222, "a924ed685ba4213c",
     "block_d=32 block_k=32 block_q=4 split_keys=64 thread_k=1 thread_q=1"},
    {"attention", "vulkan:lavapipe", kLong32, kAttention, 943, "6fa20db728ccdf61",
     "block_d=8 block_k=32 block_q=64 split_keys=1 thread_k=8 thread_q=4"},
    {"attention", "vulkan:mali", kSquare32, kCausal, 532, "99bcb2d93724c68a",
     "block_d=16 block_k=32 block_q=64 split_keys=1 thread_k=4 thread_q=8"},
    {"attention_sm80", "cuda:sm_80", kLong16, kAttention, 224, "6a8937d1fbbf2951",
     "block_k=128 block_q=64 split_keys=1 stages=1 warps_k=1 warps_q=4"},
    {"attention_sm80", "cuda:sm_80", kLong16, kCausal, 224, "6a8937d1fbbf2951",
     "block_k=128 block_q=32 split_keys=1 stages=2 warps_k=4 warps_q=1"},
    {"attention_sm80", "cuda:sm_90a", kDecode16, kShared, 722, "e6249a53e2fd0005",
     "block_k=128 block_q=16 cluster=8 split_keys=1 stages=3 warps_k=4 warps_q=1"},
    {"attention_sm80", "cuda:sm_80", kSquare32, kCausal, 239, "9a2f9d2765c0d544",
     "block_k=128 block_q=32 split_keys=1 stages=2 warps_k=4 warps_q=1", false, true},
    {"attention_sm80", "cuda:sm_90a", kDecode32, kAttention, 616, "2985e5206220d653",
     "block_k=64 block_q=16 cluster=1 split_keys=32 stages=2 warps_k=4 warps_q=1", false, true},
    {"attention_coopmat", "nvidia", kLong16, kAttention, 405, "a8c16b4e0a602ab4",
     "block_k=16 block_q=64 keeps_queries=1 split_keys=1 stages=2 subgroups_k=1 "
     "subgroups_q=2 unit_k=16 unit_m=16 unit_n=16"},
    {"attention_coopmat", "nvidia", kLong16, kCausal, 405, "a8c16b4e0a602ab4",
     "block_k=16 block_q=64 keeps_queries=1 split_keys=1 stages=2 subgroups_k=1 "
     "subgroups_q=2 unit_k=16 unit_m=16 unit_n=16"},
    {"attention_coopmat", "nvidia", kDecodeF16, kShared, 2411, "f4b10a963f318477",
     "block_k=32 block_q=32 keeps_queries=1 split_keys=32 stages=1 subgroups_k=1 "
     "subgroups_q=2 unit_k=16 unit_m=16 unit_n=16"},
    {"attention_coopmat", "amd-wave64", kLong16, kCausal, 192, "c0d0e894c369a620",
     "block_k=16 block_q=64 keeps_queries=1 split_keys=2 stages=2 subgroups_k=1 "
     "subgroups_q=4 unit_k=16 unit_m=16 unit_n=16"},
    {"attention_coopmat", "intel", kLong16, kAttention, 29, "30e8c8a76a694a3e",
     "block_k=16 block_q=64 keeps_queries=1 split_keys=1 stages=2 subgroups_k=1 "
     "subgroups_q=8 unit_k=16 unit_m=8 unit_n=16"},
    {"attention_coopmat", "lavapipe", kDecodeF16, kShared, 454, "64d294c2bbb648ad",
     "block_k=64 block_q=32 keeps_queries=1 split_keys=2 stages=1 subgroups_k=8 "
     "subgroups_q=1 unit_k=8 unit_m=8 unit_n=8"},
    {"attention_sm90", "cuda:sm_90a", kLong16, kAttention, 646, "45b5d615ce993502",
     "block_k=112 groups=2 query_stages=2 split_keys=1 stages=2 turns=1"},
    {"attention_sm90", "cuda:sm_90a", kLong16, kCausal, 646, "45b5d615ce993502",
     "block_k=64 groups=1 query_stages=2 split_keys=1 stages=3 turns=0"},
    {"recurrent", "cuda:sm_90a", kSmallLstm, kLstm, 1060, "ea451db6ea9f9de5",
     "rows=1 shares=4 thread_columns=2 thread_rows=1 threads=512 weights=1"},
    {"recurrent", "cuda:sm_80", kSmallGru, kGru, 1794, "d6e7efc1140af27c",
     "rows=1 shares=2 thread_columns=4 thread_rows=1 threads=64 weights=1"},
    {"recurrent", "vulkan:lavapipe", kSmallLstm, kLstm, 286, "c1388705876fba34",
     "rows=1 shares=1 thread_columns=8 thread_rows=1 threads=32 weights=2", true},
    {"recurrent_steps", "cuda:sm_90a", kLargeLstm, kLstm, 8874, "b83614e8d4bacd90",
     "matrix=1 rows=32 shares=1 thread_columns=1 thread_rows=1 threads=512 units=4 weights=2"},
    {"recurrent_steps", "vulkan:lavapipe", kSmallLstm, kLstm, 2139, "d8c3fca3a83bd9b5",
     "matrix=0 rows=1 shares=4 thread_columns=1 thread_rows=1 threads=32 units=2 weights=2", true},
    {"recurrent_steps", "vulkan:mali", kSomeGru, kGru, 5664, "0190ab9eabd8cc96",
     "matrix=0 rows=16 shares=1 thread_columns=1 thread_rows=1 threads=256 units=16 weights=2",
     true},
    {"recurrent_grid", "cuda:sm_90a", kLargeLstm, kLstm, 2698, "e417bf8b2528ab0d",
     "matrix=1 rows=8 shares=1 thread_columns=1 thread_rows=1 threads=256 units=12 weights=1"},
    {"recurrent_grid", "cuda:sm_80", kSomeGru, kGru, 4687, "4207e864fd30180d",
     "matrix=0 rows=2 shares=8 thread_columns=4 thread_rows=2 threads=256 units=32 weights=1",
     true},
    {"depthwise", "cuda:sm_90a",
     "x: {dtype: bf16, shape: [8, 56, 56, 96]}, w: {dtype: bf16, shape: [96, 1, 7, 7]}", kDepthwise,
     16768, "f4ff607e3e9b6319", "bands=2 channels=96 rows=4 staged=0 strip=8 strips=1 vector=1"},
    {"depthwise", "cuda:sm_80",
     "x: {dtype: f32, shape: [1, 31, 17, 20]}, w: {dtype: f32, shape: [20, 1, 3, 5]}", kStrided,
     825, "dc8c55cb27441d12", "bands=1 channels=20 rows=1 staged=0 strip=1 strips=8 vector=1"},
    {"depthwise", "vulkan:amd-rdna",
     "x: {dtype: f16, shape: [1, 7, 7, 96]}, w: {dtype: f16, shape: [96, 1, 7, 7]}", kDepthwise,
     4558, "46f939cda9bee187", "bands=8 channels=8 rows=1 staged=0 strip=1 strips=1 vector=1"},
    {"contraction", "cuda:sm_90a",
     "x: {dtype: f32, shape: [300, 5000]}, w: {dtype: f32, shape: [5000, 70]}", kProduct, 9832,
     "744879c50a23392c",
     "block_k=64 block_m=32 block_n=32 cluster=8 slices=1 thread_m=8 thread_n=2"},
    {"contraction", "cuda:sm_80",
     "x: {dtype: i8, shape: [33, 512]}, w: {dtype: i8, shape: [512, 1000]}", kProduct, 3814,
     "03c4589653e22762", "block_k=64 block_m=16 block_n=16 slices=4 thread_m=4 thread_n=2"},
    {"contraction", "vulkan:lavapipe",
     "x: {dtype: f32, shape: [64, 96]}, w: {dtype: f32, shape: [96, 40]}", kProduct, 2224,
     "1fcb78a3a85570c1", "block_k=16 block_m=32 block_n=16 slices=1 thread_m=4 thread_n=4"},
    {"contraction", "vulkan:mali",
     "x: {dtype: f16, shape: [200, 96]}, w: {dtype: f16, shape: [96, 140]}", kProduct, 2243,
     "69364e42bbb7aec7", "block_k=16 block_m=64 block_n=32 slices=2 thread_m=8 thread_n=4"},
    {"contraction", "cuda:sm_90a",
     "x: {dtype: f32, shape: [2, 16, 20, 20]}, w: {dtype: f32, shape: [32, 16, 3, 3]}",
     "{out: y, op: conv2d, in: [x, w], padding: 1}", 7265, "180d6b78cb618fac",
     "block_k=16 block_m=32 block_n=32 cluster=4 slices=2 thread_m=8 thread_n=2"},
};

// The target; cooperative matrices are those of coopmat_devices(). Recurrent layers are taken
// whatever they cost.
sched::Target target_of(const Pinned& pinned) {
  for (const test::CoopmatDevice& device : test::coopmat_devices())
    if (pinned.target == std::string(device.name)) return test::coopmat_target(device);
  const sched::Target target = sched::target_by_name(pinned.target);
  return pinned.is_indifferent ? test::indifferent(target) : target;
}

class PinnedSpaces : public test::WithGlslCompiler {
 protected:
  void TearDown() override {
    ::unsetenv("TCC_TEMPLATES");
    WithGlslCompiler::TearDown();
  }

  // Switches off all templates of the kind but one.
  static void take_only(const std::string& name) {
    std::string list = name;
    for (const char* other :
         {"attention", "attention_sm80", "attention_sm90", "attention_coopmat", "recurrent",
          "recurrent_steps", "recurrent_grid", "depthwise", "depthwise_sm80", "contraction", "gemv",
          "gemm_sm80", "gemm_sm90", "gemm_coopmat", "fma_sm90"})
      if (other != name) list += str(",-", other);
    ::setenv("TCC_TEMPLATES", list.c_str(), 1);
  }
};

TEST_F(PinnedSpaces, KeepTheirLegalConfigsAndDefaults) {
  use(true);
  for (const Pinned& pinned : kPinned) {
    SCOPED_TRACE(
        str(pinned.template_name, " ", pinned.target, " ", pinned.inputs, " ", pinned.nodes));
    take_only(pinned.template_name);
    backends::CompileOptions options;
    if (pinned.tf32) options.matmul_precision = backends::MatmulPrecision::high;
    const backends::Scheduled scheduled =
        backends::schedule(parse_yaml_graph(str("tcc: 1\nname: g\ninputs: {", pinned.inputs,
                                                "}\nnodes: [", pinned.nodes, "]\noutputs: [y]\n"),
                                            "g.yaml", "."),
                           target_of(pinned), options);
    const auto found = std::ranges::find_if(scheduled.regions, [&](const auto& region) {
      return region.candidate().kernel_template().name() == pinned.template_name;
    });
    if (found == scheduled.regions.end()) {
      ADD_FAILURE() << "no kernel of the template";
      continue;
    }
    const sched::Candidate& candidate = found->candidate();
    int64_t legal = 0;
    uint64_t digest = candidate.space().hash();
    candidate.space().enumerate([&](const sched::Config& config) {
      ++legal;
      digest = digest * 0x100000001b3 ^ config.hash();
      return true;
    });
    char text[32];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
    EXPECT_EQ(legal, pinned.legal);
    EXPECT_STREQ(text, pinned.digest);
    EXPECT_EQ(candidate.default_config().to_string(), pinned.defaults);
    if (std::getenv("TCC_PRINT_PINNED"))
      std::printf("%lld, \"%s\",\n     \"%s\"\n", static_cast<long long>(legal), text,
                  candidate.default_config().to_string().c_str());
  }
}

}  // namespace
}  // namespace tcc
