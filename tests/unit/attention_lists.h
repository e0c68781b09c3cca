// Attention behind masks that are inputs, and configs that have a parameter.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backends/pipeline.h"
#include "scheduler/tuning.h"
#include "tests/unit/attention_cases.h"

namespace tcc::test {

// Masks of blocks of 64 queries and 64 keys, and documents that are compared.
inline std::vector<AttentionCase> attention_cases_of_lists(const std::string& dtype) {
  const auto inputs = [&](int64_t queries, int64_t keys) {
    return attention_inputs({2, 3, 3, queries, keys, 64, 64}, dtype);
  };
  const auto mask = [](int64_t heads) {
    return str("  m: {dtype: bool, shape: [2, ", heads, ", 3, 1, 5, 1]}\n");
  };
  const auto blocks = [](int64_t heads) {
    return str("  - {out: e, op: expand, in: [m], size: [2, ", heads,
               ", 3, 64, 5, 64]}\n  - {out: n, op: reshape, in: [e], shape: [2, ", heads,
               ", 192, 320]}\n");
  };
  const std::string score =
      "  - {out: kt, op: transpose, in: [k], dim0: -1, dim1: -2}\n"
      "  - {out: s0, op: matmul, in: [q, kt]}\n  - {out: s, op: mul, in: [s0, 0.1]}\n";
  const std::string hidden = "  - {out: x, op: where, in: [n, s, -.inf]}\n";
  const std::string result =
      "  - {out: p, op: softmax, in: [x], dim: -1}\n  - {out: z, op: isnan, in: [p]}\n"
      "  - {out: w, op: where, in: [z, 0.0, p]}\n  - {out: a, op: matmul, in: [w, v]}\n";
  return {
      {dtype + "_blocks", inputs(192, 320) + mask(1), score + blocks(1) + hidden + result},
      {dtype + "_blocks_of_heads", inputs(192, 320) + mask(3), score + blocks(3) + hidden + result},
      {dtype + "_added_blocks",
       attention_inputs({1, 1, 1, 1024, 320, 16, 16}, dtype) +
           "  m: {dtype: bool, shape: [1, 1, 16, 1, 5, 1]}\n"
           "  b: {dtype: " +
           dtype + ", shape: [1024, 320]}\n",
       score +
           "  - {out: e, op: expand, in: [m], size: [1, 1, 16, 64, 5, 64]}\n"
           "  - {out: n, op: reshape, in: [e], shape: [1, 1, 1024, 320]}\n"
           "  - {out: c, op: where, in: [n, b, -.inf]}\n  - {out: x, op: add, in: [s, c]}\n" +
           result},
      {dtype + "_documents",
       inputs(130, 333) + "  d: {dtype: i32, shape: [2, 1, 130, 1], range: [0, 9]}\n"
                          "  e: {dtype: i32, shape: [2, 1, 1, 333], range: [0, 9]}\n",
       score + "  - {out: n, op: eq, in: [d, e]}\n" + hidden + result},
      {dtype + "_keys", inputs(100, 320) + "  m: {dtype: bool, shape: [2, 1, 1, 5, 1]}\n",
       score +
           "  - {out: e, op: expand, in: [m], size: [2, 1, 1, 5, 64]}\n"
           "  - {out: n, op: reshape, in: [e], shape: [2, 1, 1, 320]}\n" +
           hidden + result},
  };
}

// Configs drawn at random of which a parameter, where there is one, has so much at least.
class ConfigsWith : public sched::ConfigSource {
 public:
  ConfigsWith(std::string name, int64_t least, uint64_t seed)
      : name_(std::move(name)), least_(least), seed_(seed) {}
  sched::ConfigChoice choose(const sched::Candidate& candidate) const override {
    const sched::ConfigSpace& space = candidate.space();
    if (std::ranges::none_of(space.parameters,
                             [&](const sched::Parameter& p) { return p.name == name_; }))
      return {candidate.default_config(), sched::Tier::analytic};
    std::mt19937_64 random(seed_);
    for (int tries = 0; tries < 20000; ++tries) {
      sched::Config config;
      for (const sched::Parameter& p : space.parameters)
        config.set(p.name, p.values[random() % p.values.size()]);
      if (config[name_] >= least_ && space.violation(config).empty())
        return {config, sched::Tier::exact};
    }
    ADD_FAILURE() << candidate.region().name() << " has no config with " << name_;
    return {candidate.default_config(), sched::Tier::analytic};
  }

 private:
  std::string name_;
  int64_t least_;
  uint64_t seed_;
};

// "" when the device computes the graph right by so many configs whose kernels skip tiles that a
// list says; else why not.
inline std::string check_lists(const AttentionCase& c, const std::string& device, uint64_t seeds) {
  const ir::Graph graph = attention_graph(c);
  const std::vector<Tensor> inputs = draw_inputs(graph, {});
  std::string wrong;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const ConfigsWith configs("lists", 1, seed);
    backends::CompileOptions options;
    options.configs = &configs;
    wrong += difference(graph, device, inputs, options);
  }
  return wrong;
}

}  // namespace tcc::test
