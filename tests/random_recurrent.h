// Random recurrent layers: cells, directions, sizes, functions, states, lengths, results. And runs
// of them by a template of the tester's choice.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "frontend/graph_file.h"
#include "ir/text.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "tests/draws.h"
#include "tests/fuzz/random_source.h"
#include "tests/random_configs.h"
#include "tests/run_graph.h"

namespace tcc::test {

struct RecurrentSizes {
  std::vector<int64_t> hidden = {1, 2, 3, 5, 8, 13, 16, 32, 33, 60, 72};
  std::vector<int64_t> batch = {1, 1, 2, 3, 5, 7, 9, 17};
  std::vector<int64_t> steps = {1, 2, 3, 4, 6};
  // These are the dims S and B of the graph.
  bool open_steps = false, open_batch = false;
};

// The same one for the same seed and sizes.
inline ir::Graph random_recurrent_of(uint64_t seed, const RecurrentSizes& sizes) {
  RandomSource random(seed);
  const std::string op = random.one_of({"lstm", "lstm", "gru", "gru", "rnn"});
  const int64_t gates = op == "lstm" ? 4 : op == "gru" ? 3 : 1;
  const int64_t hidden = random.one_of(sizes.hidden), inputs = random.between(1, 9);
  const int64_t batch = random.one_of(sizes.batch);
  const int64_t steps = random.one_of(sizes.steps);
  const std::string direction = random.one_of({"forward", "reverse", "bidirectional"});
  const int64_t d = direction == "bidirectional" ? 2 : 1;
  const std::string dtype = random.one_of({"f32", "f32", "f16", "bf16"});
  const bool batched = random.chance(25);
  const auto shape = [](const auto&... dims) {
    std::string text;
    ((text += str(text.empty() ? "" : ", ", dims)), ...);
    return str("[", text, "]");
  };
  const std::string length = sizes.open_steps ? "S" : str(steps);
  const std::string rows = sizes.open_batch ? "B" : str(batch);
  const auto state = [&] { return batched ? shape(rows, d, hidden) : shape(d, rows, hidden); };
  std::string given =
      str("x: {dtype: ", dtype,
          ", shape: ", batched ? shape(rows, length, inputs) : shape(length, rows, inputs), "}");
  std::string operands = "x, w, r";
  // Weights are so small that differences do not grow from step to step.
  std::string weights = str("w: {dtype: ", dtype, ", shape: ", shape(d, gates * hidden, inputs),
                            ", init: {normal: 0.4}}, r: {dtype: ", dtype,
                            ", shape: ", shape(d, gates * hidden, hidden), ", init: {normal: ",
                            hidden > 100 ? 0.04
                            : hidden > 8 ? 0.1
                                         : 0.3,
                            "}}");
  // Operands that may be omitted; those behind the last one given are left out.
  std::vector<std::string> optional = {"bias", "lengths", "h0"};
  if (op == "lstm") optional.insert(optional.end(), {"c0", "peepholes"});
  std::string omitted;
  for (const std::string& name : optional) {
    if (!random.chance(name == "bias" ? 70 : 30)) {
      omitted += ", null";
      continue;
    }
    operands += omitted + ", " + name;
    omitted.clear();
    if (name == "bias")
      weights += str(", bias: {dtype: ", dtype, ", shape: ", shape(d, 2 * gates * hidden),
                     ", init: {normal: 0.3}}");
    else if (name == "lengths")
      given += str(", lengths: {dtype: ", random.one_of({"i32", "i64"}), ", shape: [", rows, "]}");
    else if (name == "peepholes")
      weights += str(", peepholes: {dtype: ", dtype, ", shape: ", shape(d, 3 * hidden),
                     ", init: {normal: 0.3}}");
    else
      given += str(", ", name, ": {dtype: ", dtype, ", shape: ", state(), "}");
  }
  std::string attrs = str("direction: ", direction, ", layout: ", batched ? 1 : 0);
  if (op == "gru" && random.chance(75)) attrs += ", linear_before_reset: true";
  if (op == "lstm" && random.chance(20)) attrs += ", input_forget: true";
  if (random.chance(20)) attrs += ", clip: 0.75";
  if (random.chance(25)) {
    std::string names;
    const int64_t functions = (op == "lstm" ? 3 : op == "gru" ? 2 : 1) * d;
    for (int64_t k = 0; k < functions; ++k)
      names += str(k ? " " : "", random.one_of({"sigmoid", "tanh", "softsign", "hard_sigmoid"}));
    attrs += str(", activations: \"", names, "\"");
  }
  const std::string results = op == "lstm" ? "out, h, c" : "out, h";
  const std::string outputs = random.chance(50) ? results : random.chance(50) ? "out" : "h";
  std::string dims;
  if (sizes.open_steps) dims += str("S: ", steps);
  if (sizes.open_batch) dims += str(dims.empty() ? "" : ", ", "B: ", batch);
  return parse_yaml_graph(
      str("tcc: 1\nname: g\ndims: {", dims, "}\ninputs: {", given, "}\nweights: {", weights,
          "}\nnodes: [{out: [", results, "], op: ", op, ", in: [", operands, "], ", attrs,
          "}]\noutputs: [", outputs, "]\n"),
      "g.yaml", ".");
}

inline ir::Graph random_recurrent(uint64_t seed) { return random_recurrent_of(seed, {}); }

// Counts the kernels of a template.
class CountedRecurrent : public sched::ConfigSource {
 public:
  // Seed 0: default configs.
  CountedRecurrent(std::string name, uint64_t seed) : name_(std::move(name)), random_(seed) {
    if (seed == 0) configs_ = &sched::analytic_configs();
  }
  sched::ConfigChoice choose(const sched::Candidate& candidate) const override {
    if (candidate.kernel_template().name() == name_) ++kernels_;
    return configs_->choose(candidate);
  }
  int kernels() const { return kernels_; }

 private:
  const std::string name_;
  const RandomConfigs random_;
  const sched::ConfigSource* configs_ = &random_;
  mutable std::atomic<int> kernels_ = 0;
};

// Has the template `name` of the three for recurrent layers alone as long as it lives.
class OnlyRecurrent {
 public:
  explicit OnlyRecurrent(const std::string& name) {
    std::string list = name;
    for (const std::string other : {"recurrent", "recurrent_steps", "recurrent_grid"})
      if (other != name) list += ",-" + other;
    ::setenv("TCC_TEMPLATES", list.c_str(), 1);
  }
  ~OnlyRecurrent() { ::unsetenv("TCC_TEMPLATES"); }
};

struct RecurrentSizesLarge : RecurrentSizes {
  RecurrentSizesLarge() {
    hidden = {96, 128, 200, 256, 330, 512, 650, 1024};
    batch = {1, 1, 3, 8, 17, 33, 64};
    steps = {1, 2, 7, 20};
  }
};

// The target without a price for work: estimates do not decide.
inline sched::Target indifferent(sched::Target target) {
  target.flops_f32 = target.flops_matrix = 1e18;
  target.bandwidth = 1e16;
  if (target.is_cpu) target.compute_units = 1000;
  return target;
}

// Runs random layers by one template, with default and random configs, on the first device of the
// kind.
inline void check_recurrent(Devices kind, const std::string& name, const RecurrentSizes& sizes,
                            uint64_t first, uint64_t count) {
  if (devices_present(kind).empty()) GTEST_SKIP() << "there is no such device";
  count = draws(count);
  const std::shared_ptr<runtime::Device> device = open_once(devices_present(kind).front());
  const sched::Target target = indifferent(device->target());
  const OnlyRecurrent only(name);
  int taken = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const ir::Graph graph = random_recurrent_of(seed, sizes);
    DrawOptions draw;
    draw.seed = seed;
    const std::vector<Tensor> inputs = draw_inputs(graph, draw);
    for (const uint64_t config : {uint64_t{0}, seed}) {
      const CountedRecurrent configs(name, config);
      backends::CompileOptions options;
      options.configs = &configs;
      std::string wrong;
      try {
        runtime::Context context(std::make_shared<const runtime::Program>(
            device, backends::compile(graph, target, options)));
        // Counters and states begin anew at each run.
        for (int run = 0; run < 2; ++run)
          wrong += compare_with_reference(graph, inputs, context.run(inputs));
      } catch (const std::exception& error) { wrong = str("throws: ", error.what()); }
      taken += configs.kernels();
      EXPECT_EQ(wrong, "") << name << ", seed " << seed << ", configs " << config << "\n"
                           << ir::print_graph(graph);
    }
  }
  // `recurrent_grid` refuses weights that are too many.
  EXPECT_GE(taken, static_cast<int>(count)) << name;
}

// Which sizes of random layers come at run time: that of their length, their batch, or both.
inline RecurrentSizes opened(RecurrentSizes sizes, uint64_t seed) {
  sizes.open_steps = seed % 3 != 1;
  sizes.open_batch = seed % 3 != 0;
  return sizes;
}

inline backends::CompileOptions open_options(const RecurrentSizes& sizes, uint64_t seed,
                                             int64_t most_steps, int64_t most_rows) {
  backends::CompileOptions options;
  const int64_t least = seed % 2;
  if (sizes.open_steps) options.open_dims["S"] = {.least = least, .most = most_steps};
  if (sizes.open_batch) options.open_dims["B"] = {.least = least, .most = most_rows};
  return options;
}

// Runs one program of each random layer at several lengths and batches, with default and random
// configs, on the first device of the kind.
inline void check_open_recurrent(Devices kind, const std::string& name, const RecurrentSizes& all,
                                 uint64_t first, uint64_t count) {
  if (devices_present(kind).empty()) GTEST_SKIP() << "there is no such device";
  count = draws(count);
  const std::shared_ptr<runtime::Device> device = open_once(devices_present(kind).front());
  const sched::Target target = indifferent(device->target());
  const OnlyRecurrent only(name);
  constexpr int64_t kMostSteps = 9, kMostRows = 20;
  int taken = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const RecurrentSizes sizes = opened(all, seed);
    const ir::Graph graph = random_recurrent_of(seed, sizes);
    for (const uint64_t config : {uint64_t{0}, seed}) {
      SCOPED_TRACE(str(name, ", seed ", seed, ", configs ", config, "\n", ir::print_graph(graph)));
      const CountedRecurrent configs(name, config);
      backends::CompileOptions options = open_options(sizes, seed, kMostSteps, kMostRows);
      options.configs = &configs;
      std::shared_ptr<const runtime::Program> program;
      try {
        program = std::make_shared<const runtime::Program>(
            device, backends::compile(graph, target, options));
      } catch (const Error& error) {
        const std::string why = error.what();
        EXPECT_TRUE(name == "recurrent_grid" && why.find("do not fit the workgroups") != why.npos)
            << why;
        continue;
      }
      taken += std::ranges::count(program->executable().kernels, name,
                                  &exec::KernelBinary::template_name) > 0;
      runtime::Context context(program);
      for (const auto& [steps, rows] : {std::pair<int64_t, int64_t>{1, 1},
                                        {kMostSteps, 3},
                                        {2, kMostRows},
                                        {5, 7},
                                        {0, 2},
                                        {3, 0}}) {
        std::map<std::string, int64_t, std::less<>> at;
        bool is_within = true;
        for (const auto& [dim, range] : options.open_dims) {
          at[dim] = dim == "S" ? steps : rows;
          is_within &= range.least <= at[dim];
        }
        if (!is_within) continue;
        const ir::Graph bound = graph.bind(at);
        DrawOptions draw;
        draw.seed = seed;
        draw.int_hi = kMostSteps + 2;
        const std::vector<Tensor> inputs = draw_inputs(bound, draw);
        std::string wrong;
        try {
          context.set_dims(at);
          // Counters and states begin anew at each run.
          for (int run = 0; run < 2; ++run)
            wrong += compare_with_reference(bound, inputs, context.run(inputs));
        } catch (const std::exception& error) { wrong = str("throws: ", error.what()); }
        EXPECT_EQ(wrong, "") << steps << " steps of " << rows << " rows";
      }
    }
  }
  EXPECT_GE(taken, static_cast<int>(count)) << name;
}

}  // namespace tcc::test
