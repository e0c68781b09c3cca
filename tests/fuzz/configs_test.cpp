// Random legal configs over random graphs: none may be refused, and none may be wrong.
//
//   export TCC_FUZZ_COUNT=2000
//   for width in 128 256 512; do  # subgroups of 4, 8 and 16
//     export LP_NATIVE_VECTOR_WIDTH=$width TCC_FUZZ_SEED=${width}0
//     test_fuzz --gtest_filter=RandomConfigs.AgreeWithTheReference
//   done
//   TCC_FUZZ_COUNT=500 test_fuzz --gtest_filter=RandomConfigs.CompileForCuda
//
// are 6,000 pairs of a graph and a config of each of its kernels, run, and 500 compiled. A failure
// prints the seed, the configs, the graph and a part of it that still fails.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "backends/compile/nvrtc.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "ir/text.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "tests/fuzz/check_graph.h"
#include "tests/fuzz/random_attention.h"
#include "tests/fuzz/random_graphs.h"
#include "tests/fuzz/random_source.h"
#include "tests/random_configs.h"
#include "tests/random_recurrent.h"

namespace tcc::test {
namespace {

// Counts which templates were asked for a config, and remembers the configs.
class Counted : public sched::ConfigSource {
 public:
  Counted(uint64_t seed, std::map<std::string, int>& templates)
      : configs_(seed), templates_(templates) {}
  sched::ConfigChoice choose(const sched::Candidate& candidate) const override {
    sched::ConfigChoice choice = configs_.choose(candidate);
    const std::string_view by = candidate.kernel_template().name();
    const std::lock_guard lock(mutex_);
    ++templates_[std::string(by)];
    chosen_ +=
        str("  ", candidate.region().name(), " [", by, "] ", choice.config.to_string(), "\n");
    return choice;
  }
  std::string chosen() const { return std::exchange(chosen_, ""); }

 private:
  RandomConfigs configs_;
  std::map<std::string, int>& templates_;
  mutable std::mutex mutex_;
  mutable std::string chosen_;
};

// Tiny tensors, odd ones and larger ones in turn: tails, guards and single elements.
RandomGraphOptions shape_of(uint64_t seed) {
  constexpr int64_t kElements[] = {8, 64, 512, 2048};
  RandomGraphOptions shape;
  shape.min_nodes = 2;
  shape.max_nodes = 8;
  shape.max_elements = kElements[seed % 4];
  return shape;
}

// Makes kernels that random graphs seldom have: of the templates for products, transposes, scans
// and sorts, of any size.
ir::Graph kernel_graph(uint64_t seed) {
  RandomSource random(seed);
  const std::vector<int64_t> sizes = {1, 2, 3, 7, 8, 16, 17, 33, 64, 100, 128, 136};
  const int64_t m = random.one_of(sizes), n = random.one_of(sizes), k = random.one_of(sizes);
  const char* dtype = random.one_of({"f32", "f16", "bf16", "f64"});
  const char* epilogue = random.one_of({"relu", "tanh", "square"});
  std::string inputs, node;
  if (random.chance(50)) {
    inputs = str("a: {dtype: ", dtype, ", shape: [", m, ", ", k, "]}, w: {dtype: ", dtype,
                 ", shape: [", n, ", ", k, "]}, b: {dtype: ", dtype, ", shape: [", n, "]}");
    node = "{out: x, op: linear, in: [a, w, b]}";
  } else {
    const std::string_view op = random.one_of({"permute", "cumsum", "sort", "softmax"});
    inputs = str("a: {dtype: ", dtype, ", shape: [", random.between(1, 3), ", ", m, ", ", n, "]}");
    node = str("{out: ", op == "sort" ? "[x, order]" : "x", ", op: ", op, ", in: [a], ",
               op == "permute" ? "dims: [0, 2, 1]" : str("dim: ", random.between(1, 2)), "}");
  }
  return parse_yaml_graph(str("tcc: 1\nname: g\ninputs: {", inputs, "}\nnodes: [", node,
                              ", {out: y, op: ", epilogue, ", in: [x]}]\noutputs: [y]\n"),
                          "g.yaml", ".");
}

ir::Graph graph_of(uint64_t seed) {
  if (seed % 8 == 5) return random_attention(seed);
  if (seed % 8 == 3) return random_recurrent(seed);
  return seed % 3 == 0 ? kernel_graph(seed) : random_graph(seed, shape_of(seed));
}

using Difference = std::function<std::string(const ir::Graph&, const backends::CompileOptions&)>;

void check_pairs(uint64_t count, const Difference& difference,
                 ir::Graph (*make)(uint64_t seed) = graph_of) {
  std::map<std::string, int> templates;
  const uint64_t first = number_from("TCC_FUZZ_SEED", 1);
  count = number_from("TCC_FUZZ_COUNT", count);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Counted configs(seed, templates);
    backends::CompileOptions options;
    options.configs = &configs;
    const ir::Graph graph = make(seed);
    const std::string reason = difference(graph, options), chosen = configs.chosen();
    if (reason.empty()) continue;
    const ir::Graph part =
        minimize(graph, [&](const ir::Graph& g) { return !difference(g, options).empty(); });
    configs.chosen();
    const std::string smaller = difference(part, options);
    ADD_FAILURE() << "seed " << seed << ": " << reason << chosen << ir::print_graph(graph)
                  << "\nsmaller: " << smaller << configs.chosen() << ir::print_graph(part);
  }
  for (const auto& [name, kernels] : templates)
    std::printf("%s: %d kernels\n", name.c_str(), kernels);
}

TEST(RandomConfigs, AgreeWithTheReference) {
  if (device().empty()) GTEST_SKIP() << "there is no software device to compare with the reference";
  check_pairs(45, [](const ir::Graph& graph, const backends::CompileOptions& options) {
    return difference_of(graph, 1, options);
  });
}

TEST(RandomConfigs, OfRecurrentLayersAgreeWithTheReference) {
  if (device().empty()) GTEST_SKIP() << "there is no software device to compare with the reference";
  check_pairs(
      16,
      [](const ir::Graph& graph, const backends::CompileOptions& options) {
        return difference_of(graph, 1, options);
      },
      random_recurrent);
}

std::string cuda_failure(const ir::Graph& graph, const backends::CompileOptions& options) {
  try {
    for (const char* target : {"cuda:sm_90a", "cuda:sm_80"})
      backends::compile(graph, sched::target_by_name(target), options);
  } catch (const std::exception& error) { return str("throws: ", error.what(), "\n"); }
  return "";
}

TEST(RandomConfigs, CompileForCuda) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  check_pairs(6, cuda_failure);
  check_pairs(4, cuda_failure, random_recurrent);
}

}  // namespace
}  // namespace tcc::test
