// Random graphs against the reference.
//
//   TCC_FUZZ_COUNT=500 TCC_FUZZ_SEED=1000 TCC_FUZZ_DEVICE=cuda:0 test_fuzz
//   --gtest_filter='RandomGraphs.*'
//
// runs more of them, from another seed on, on another device. A failure prints the seed, the graph
// and a part of it that still fails.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "ir/text.h"
#include "ir/verify.h"
#include "scheduler/plan.h"
#include "support/hash.h"
#include "tests/fuzz/check_graph.h"
#include "tests/fuzz/random_graphs.h"

namespace tcc::test {
namespace {

void check(uint64_t count, const backends::CompileOptions& options,
           const RandomGraphOptions& shape = {}) {
  if (device().empty()) GTEST_SKIP() << "there is no software device to compare with the reference";
  const uint64_t first = number_from("TCC_FUZZ_SEED", 1);
  count = number_from("TCC_FUZZ_COUNT", count);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const ir::Graph graph = random_graph(seed, shape);
    const std::string reason = difference_of(graph, seed, options);
    if (reason.empty()) continue;
    const ir::Graph part = minimize(
        graph, [&](const ir::Graph& g) { return !difference_of(g, seed, options).empty(); });
    ADD_FAILURE() << "seed " << seed << ": " << reason << ir::print_graph(graph)
                  << "\nsmaller: " << difference_of(part, seed, options) << ir::print_graph(part);
  }
}

TEST(RandomGraphs, AgreeWithTheReference) { check(40, {}); }

TEST(RandomGraphs, AgreeWithoutFusion) {
  backends::CompileOptions options;
  options.fuse = false;
  check(5, options);
}

TEST(RandomGraphs, AgreeWithStrictRounding) {
  backends::CompileOptions options;
  options.strict_rounding = true;
  check(5, options);
}

// Any alternative of every choice, the same for the same seed: plans never change results.
class RandomPlan : public sched::PlanSource {
 public:
  int64_t choose(const sched::PlanSite& site, const sched::Target&) const override {
    const uint64_t digits = hash_of(site.kind + site.key).low;
    return site.alternatives[digits % site.alternatives.size()];
  }
};

TEST(RandomGraphs, AgreeWithRandomPlans) {
  const RandomPlan plan;
  backends::CompileOptions options;
  options.plan = &plan;
  check(8, options);
}

TEST(RandomGraphs, AreValidAndPrintAndParseBack) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const ir::Graph graph = random_graph(seed);
    ir::verify(graph);
    const std::string text = ir::print_graph(graph);
    EXPECT_EQ(ir::print_graph(ir::parse_graph(text)), text) << "seed " << seed;
  }
}

// Ways back to the size of a product, of a part of it.
TEST(RandomGraphs, HavePartsOfProducts) {
  std::map<std::string, int> found;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const ir::Graph graph = random_graph(seed);
    for (const auto& node : graph.nodes())
      for (const ir::Value* input : node->inputs) {
        if (!input) continue;  // an operand that is left out
        if (input->producer && input->producer->op_name() == "unsqueeze")
          input = input->producer->inputs[0];
        const ir::Node* slice = input->producer;
        if (slice && slice->op_name() == "slice" && slice->inputs[0]->producer &&
            slice->inputs[0]->producer->op_name() == "linear")
          ++found[std::string(node->op_name())];
      }
  }
  for (const char* op : {"expand", "pad", "cat", "stack"}) EXPECT_GE(found[op], 3) << op;
}

TEST(RandomGraphs, AreTheSameForTheSameSeed) {
  EXPECT_EQ(ir::print_graph(random_graph(3)), ir::print_graph(random_graph(3)));
  EXPECT_NE(ir::print_graph(random_graph(3)), ir::print_graph(random_graph(4)));
}

}  // namespace
}  // namespace tcc::test
