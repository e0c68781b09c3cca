// Attention spelled out launches what the op scaled_dot_product_attention does.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "support/file.h"
#include "tests/source_dir.h"

namespace tcc {
namespace {

constexpr std::string_view kSpelledOut =
    R"(  - {out: kT, op: permute, in: [kt], dims: [0, 1, 3, 2]}
  - {out: product, op: matmul, in: [qt, kT]}
  - {out: scaled, op: mul, in: [product, 0.125]}
  - {out: masked, op: add, in: [scaled, mask]}
  - {out: p, op: softmax, in: [masked], dim: -1}
  - {out: a, op: matmul, in: [p, vt]}
)";
// The exporters of PyTorch write this: the root of the scale on both sides, keys transposed in
// another batch, and a guard against rows that see nothing.
constexpr std::string_view kExported =
    R"(  - {out: qs, op: mul, in: [qt, 0.3535533845424652]}
  - {out: k3, op: reshape, in: [kt], shape: [B*12, S, 64]}
  - {out: kT3, op: permute, in: [k3], dims: [0, 2, 1]}
  - {out: kT, op: reshape, in: [kT3], shape: [B, 12, 64, S]}
  - {out: ks, op: mul, in: [kT, 0.3535533845424652]}
  - {out: product, op: matmul, in: [qs, ks]}
  - {out: masked, op: add, in: [product, mask]}
  - {out: p, op: softmax, in: [masked], dim: -1}
  - {out: bad, op: isnan, in: [p]}
  - {out: safe, op: where, in: [bad, 0.0, p]}
  - {out: a, op: matmul, in: [safe, vt]}
)";

size_t launches(std::string_view text, const std::string& target, DType dtype) {
  const auto folder = testing::source_dir() / "configs/models";
  const ir::Graph graph = parse_yaml_graph(text, "layer.yaml", folder);
  backends::CompileOptions options;
  options.dtype = dtype;
  options.binaries = false;
  return backends::compile(graph, sched::target_by_name(target), options).steps.size();
}

TEST(AttentionLaunches, AreThoseOfTheOp) {
  const std::string with_op =
      read_file(testing::source_dir() / "configs/models/transformer-encoder-layer.yaml");
  const size_t line = with_op.find("  - {out: a, op: scaled_dot_product_attention");
  ASSERT_NE(line, std::string::npos);
  for (const std::string_view nodes : {kSpelledOut, kExported}) {
    std::string text = with_op;
    text.replace(line, with_op.find('\n', line) + 1 - line, nodes);
    for (const std::string target : {"vulkan", "cuda:sm_90a"})
      for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
        // In f16, the query is scaled on its own.
        EXPECT_LE(launches(text, target, dtype),
                  launches(with_op, target, dtype) + (nodes == kExported && dtype == DType::f16))
            << target << " " << name(dtype) << "\n"
            << nodes;
  }
}

}  // namespace
}  // namespace tcc
