// Programs of open sizes lose little against those of each size, by the cost models.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "backends/pipeline.h"
#include "executable/executable.h"
#include "frontend/graph_file.h"
#include "scheduler/sized_choices.h"
#include "scheduler/template.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

Config parsed(const std::string& text) {
  Config config;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t equal = word.find('=');
    config.set(word.substr(0, equal), std::stoll(word.substr(equal + 1)));
  }
  return config;
}

// The time of the best kernel for each size over that of the kernel which the open program takes.
struct Ratios {
  double mean = 1, worst = 1;  // the geometric mean
};

ir::Graph linear_graph(int64_t k, int64_t n) {
  return parse_yaml_graph(
      str("tcc: 1\nname: linear\ndims: {M: 64}\n"
          "inputs: {x: {dtype: bf16, shape: [M, ",
          k, "]}}\nweights: {w: {dtype: bf16, shape: [", n, ", ", k,
          "], init: {normal: 0.1}}}\nnodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n"),
      "linear.yaml", ".");
}

// An op of rows of M columns, and of weights.
ir::Graph rows_graph(const std::string& op) {
  return parse_yaml_graph(
      str("tcc: 1\nname: rows\ndims: {M: 64}\ninputs: {x: {dtype: bf16, shape: [4096, M]}, "
          "w: {dtype: bf16, shape: [M]}}\nnodes: [{out: y, op: ",
          op, "}]\noutputs: [y]\n"),
      "rows.yaml", ".");
}

exec::Executable open_program(const ir::Graph& graph, int64_t most) {
  backends::CompileOptions options;
  options.binaries = false;
  options.open_dims["M"] = {1, most, 1};
  return backends::compile(graph, target_by_name("cuda:sm_90a"), options);
}

// The kernel that runs at the size.
const exec::KernelBinary& kernel_at(const exec::Executable& open, int64_t m) {
  const int choice = open.tables.at(0).choice({{{"M", m}}});
  for (const exec::KernelLaunch* launch : exec::launches(open))
    if (launch->chosen.choice == choice)
      return open.kernels.at(static_cast<size_t>(launch->kernel));
  throw InternalError("no kernel");
}

Ratios ratios(const ir::Graph& graph, int64_t most) {
  const Target target = target_by_name("cuda:sm_90a");
  const exec::Executable open = open_program(graph, most);
  EXPECT_EQ(open.tables.size(), 1u);
  double sum = 0, largest = 0;
  int count = 0;
  for (double at = 1; at <= static_cast<double>(most); at = std::max(at + 1, at * 1.07)) {
    const auto m = static_cast<int64_t>(at);
    backends::CompileOptions of_size;
    of_size.dims["M"] = m;
    const backends::Scheduled scheduled = backends::schedule(graph, target, of_size);
    const Candidate& best = scheduled.regions.at(0).candidate();
    const exec::KernelBinary& taken = kernel_at(open, m);
    double seconds = 0;
    for (const Template* one : templates()) {
      if (one->name() != taken.template_name) continue;
      const Match match = one->match(best.region(), target);
      if (match) seconds = (*match)->estimate(parsed(taken.config));
    }
    const double fastest = best.estimate(best.default_config());
    if (seconds <= 0 || fastest <= 0) continue;
    sum += std::log(fastest / seconds);
    largest = std::max(largest, seconds / fastest);
    ++count;
  }
  EXPECT_GT(count, 20);
  return {std::exp(sum / count), 1 / largest};
}

// Last waves of workgroups make the best tile another one every few rows: each size takes the best
// of the program's kernels.
TEST(SizedChoices, LoseLittleAtAnySize) {
  for (const auto& [k, n] : {std::pair{4096, 4096}, {3072, 768}, {768, 3072}, {1024, 2816}}) {
    const Ratios found = ratios(linear_graph(k, n), 4096);
    EXPECT_GT(found.mean, 0.88) << k << " x " << n;
    EXPECT_GT(found.worst, 0.5) << k << " x " << n;
  }
}

TEST(SizedChoices, RowsOfAnyLengthLoseLittle) {
  for (const char* op :
       {"softmax, in: [x], dim: -1", "layer_norm, in: [x, w, w], normalized_shape: [M]",
        "sum, in: [x], dim: [1]"}) {
    const Ratios found = ratios(rows_graph(op), 4096);
    EXPECT_GT(found.mean, 0.95) << op;
    EXPECT_GT(found.worst, 0.7) << op;
  }
}

// Rows whose length is a multiple are read in vectors, by kernels that the others do not take, and
// threads keep few vectors more than a row has for them.
TEST(SizedChoices, RowsOfMultiplesAreReadInVectors) {
  const exec::Executable open = open_program(rows_graph("softmax, in: [x], dim: -1"), 4096);
  for (const int64_t m : {136, 512, 516, 1000, 1002, 1024, 2048, 3000, 4095, 4096}) {
    const Config config = parsed(kernel_at(open, m).config);
    EXPECT_GE(config["vector"], m % 2 == 0 ? 2 : 1) << m << ": " << config.to_string();
    EXPECT_EQ(m % config["vector"], 0) << m << ": " << config.to_string();
    EXPECT_EQ(config["keep"], 1) << m << ": " << config.to_string();
    EXPECT_LE(config["kept_vectors"] * config["vector"] * config["row_threads"], 4 * m)
        << m << ": " << config.to_string();
  }
}

// All vectors of a thread are asked for at once: none stands in a branch with what it is used for.
TEST(SizedChoices, KeptVectorsAreLoadedFirst) {
  const exec::Executable open = open_program(rows_graph("softmax, in: [x], dim: -1"), 4096);
  const exec::KernelBinary& kernel = kernel_at(open, 1000);
  const int64_t vector = parsed(kernel.config)["vector"];
  EXPECT_GE(vector, 4);
  EXPECT_NE(kernel.source.find(str(") w = ((const uint", vector / 2, "*)b0)[")), std::string::npos)
      << kernel.source;
}

// Vectors of elements read what all rows share in vectors, where rows are whole ones.
TEST(SizedChoices, ElementsOfMultiplesHaveTheirOwnKernels) {
  const exec::Executable open = open_program(rows_graph("mul, in: [x, w]"), 4096);
  EXPECT_NE(&kernel_at(open, 1000), &kernel_at(open, 1001));
  EXPECT_EQ(&kernel_at(open, 1000), &kernel_at(open, 1008));
}

// Sizes at which another region's values are larger than any memory are none of the program's.
TEST(SizedChoices, RegionsHaveSizesTogether) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: outer\ndims: {M: 4000}\ninputs: {x: {dtype: f32, shape: [M, 1, 1]}, "
      "y: {dtype: f32, shape: [M, 1]}, z: {dtype: f32, shape: [M]}}\nnodes:\n"
      "  - {out: s, op: cumsum, in: [z], dim: 0}\n  - {out: a, op: add, in: [x, y]}\n"
      "  - {out: b, op: mul, in: [a, s]}\noutputs: [b]\n",
      "outer.yaml", ".");
  const Target target = target_by_name("cuda:sm_90a");
  backends::CompileOptions options;
  options.dims["M"] = 4000;
  options.open_dims["M"] = {1, ir::kMostSize, 1};
  const backends::Scheduled scheduled = backends::schedule(graph, target, options);
  ASSERT_GT(scheduled.regions.size(), 1u);
  std::vector<const Region*> all;
  for (const ScheduledRegion& one : scheduled.regions) all.push_back(&one.region());
  const ScheduledRegion& lines = scheduled.regions.front();
  ASSERT_EQ(lines.region().name(), "cumsum");
  const auto most = [&](std::span<const Region* const> regions) {
    const SizedChoices choices(*scheduled.graph, regions, target, analytic_configs());
    int64_t size = 0;
    for (const SizedKernel& kernel : choices.measured(lines.shared()))
      size = std::max(size, kernel.numbers.values.at("M"));
    return size;
  };
  EXPECT_GT(most({{&lines.region()}}), 100000);
  EXPECT_LT(most(all), 30000);
}

TEST(SizedChoices, MultiplesOfACell) {
  EXPECT_EQ(multiples_in({3, 30, 10}, 8), (SizeCell{8, 24, 8, 8}));
  EXPECT_EQ(multiples_in({9, 15, 12}, 8), std::nullopt);
  EXPECT_EQ(multiples_in({0, 7, 3}, 8), std::nullopt) << "0 is no size to choose a kernel for";
  EXPECT_EQ(multiples_in({3, 30, 10}, 1), (SizeCell{3, 30, 10, 1}));
}

TEST(SizedChoices, FineCellsArePartsOfCells) {
  std::vector<size_t> part_of;
  const std::vector<SizeCell> cells = {
      {1, 1, 1}, {2, 8, 4}, {9, 1536, 400}, {1537, 99999, 3000}};
  const std::vector<SizeCell> fine = fine_cells(cells, part_of);
  ASSERT_EQ(fine.size(), part_of.size());
  EXPECT_EQ(std::ranges::count(part_of, 0u), 1);
  EXPECT_EQ(std::ranges::count(part_of, 1u), 1) << "too few sizes";
  EXPECT_EQ(std::ranges::count(part_of, 2u), 8);
  EXPECT_EQ(std::ranges::count(part_of, 3u), 1) << "sizes far from the usual one are one cell";
  int64_t next = 1;
  for (size_t i = 0; i < fine.size(); ++i) {
    EXPECT_EQ(fine[i].least, next);
    EXPECT_LE(fine[i].least, fine[i].usual);
    EXPECT_LE(fine[i].usual, fine[i].most);
    if (part_of[i] == 2) { EXPECT_EQ(fine[i].most % 4, 0); }
    next = fine[i].most + 1;
  }
  EXPECT_EQ(next, 100000);
}

// Each fine cell may become a condition, of which a file has no more.
TEST(SizedChoices, FineCellsAreNoMoreThanConditions) {
  std::vector<size_t> part_of;
  const std::vector<SizeCell> cells = size_cells({1000, 1 << 20}, 100000, 24);
  EXPECT_GT(8 * std::ssize(cells), exec::kMostConditions);
  const std::vector<SizeCell> fine = fine_cells(cells, part_of);
  EXPECT_GT(fine.size(), cells.size());
  EXPECT_LE(std::ssize(fine), exec::kMostConditions);
}

}  // namespace
}  // namespace tcc::sched
