// The elements that the reference computes for the tuner's gate: for every op, and for fused
// regions, they are what the interpreter says.
#include "autotune/reference_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>

#include "autotune/gate.h"
#include "autotune/input_data.h"
#include "autotune/whole_op_samples.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "ir/append.h"
#include "ir/ops/_elementwise.h"
#include "ir/ops/_index_loop.h"
#include "ir/reference/interpreter.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "tests/sanitized.h"
#include "tests/unit/op_runner.h"

namespace tcc::autotune {
namespace {

int64_t place(const sched::Layout& layout, std::span<const int64_t> index) {
  return layout.offset(std::vector<ir::SymInt>(index.begin(), index.end())).value();
}

// An input buffer as the tensor that it holds.
ir::RefTensor logical_input(const BenchJob& job, size_t i, const sched::Region& region) {
  const ExprBuffer pattern = input_pattern(job, i);
  ir::RefTensor tensor(pattern.dtype, const_shape(*region.inputs[i]));
  std::vector<int64_t> index(tensor.shape.size(), 0);
  for (int64_t n = 0; n < tensor.numel(); ++n, ir::ops::advance(index, tensor.shape)) {
    const auto at = static_cast<size_t>(place(region.layout(region.inputs[i]), index));
    if (tensor.is_float())
      tensor.f[static_cast<size_t>(n)] = pattern.floats[at % pattern.floats.size()];
    else
      tensor.i[static_cast<size_t>(n)] = pattern.integers[at % pattern.integers.size()];
  }
  return tensor;
}

// The number of samples that agree with the interpreter; fails on those that do not.
size_t check_region(const sched::Region& region) {
  const BenchJob job = bench_job(region, 3);
  const ir::Graph graph = graph_of(region);
  std::vector<ir::RefTensor> inputs;
  for (size_t i = 0; i < job.inputs.size(); ++i) inputs.push_back(logical_input(job, i, region));
  const auto expected = interpret(graph, inputs, ir::RefMode::ideal);
  std::vector<std::map<int64_t, double>> by_place(expected.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    const ir::RefTensor& tensor = expected[k];
    std::vector<int64_t> index(tensor.shape.size(), 0);
    for (int64_t n = 0; n < tensor.numel(); ++n, ir::ops::advance(index, tensor.shape)) {
      by_place[k][place(region.layout(region.outputs[k]), index)] = ir::ops::float_at(tensor, n);
    }
  }
  for (const ReferenceSample& sample : job.reference) {
    const auto k = static_cast<size_t>(sample.output);
    const double value = by_place.at(k).at(sample.element);
    if (std::isnan(value) || std::isinf(value)) {
      EXPECT_TRUE(same_special(sample.value, value)) << sample.value << " for " << value;
      continue;
    }
    // Constants of expressions are rounded to f32.
    const std::optional<DType> rounded = job.outputs[k].rounded;
    const double tolerance =
        rounded ? std::max(1e-2, std::ldexp(1.0, -info(*rounded).mantissa_bits)) : 2e-6;
    EXPECT_NEAR(sample.value, value, tolerance * (1 + std::fabs(value)))
        << "element " << sample.element << " of output " << k;
  }
  return job.reference.size();
}

struct Fixture {
  ir::Graph graph;
  backends::Scheduled scheduled;
  explicit Fixture(ir::Graph given)
      : graph(std::move(given)), scheduled(backends::schedule(graph, {})) {}
  Fixture(const std::string& inputs, const std::string& nodes)
      : Fixture(parse_yaml_graph(
            "tcc: 1\nname: g\ninputs: {" + inputs + "}\nnodes: [" + nodes + "]\noutputs: [y]\n",
            "g.yaml", ".")) {}
  const sched::Region& region() const {
    EXPECT_EQ(scheduled.regions.size(), 1u);
    return scheduled.regions.at(0);
  }
};

size_t expected_samples(const ir::Value& output) {
  const auto elements = static_cast<size_t>(ir::product(ir::stored_part(output).shape()).value());
  return elements <= 512 ? elements : 200;
}

TEST(ReferenceSamplesTest, EveryOpAgreesWithTheInterpreter) {
  size_t samples = 0, elements = 0;
  for (const ir::OpDef& op : ir::all_ops())
    for (const ir::OpSample& sample : op.samples) {
      if (op.most_counted) continue;  // sizes are known in a run alone
      SCOPED_TRACE(op.name);
      Fixture fixture(ir::test::op_graph(op.name, sample.inputs, sample.attrs));
      for (const sched::Region& region : fixture.scheduled.regions) {
        samples += check_region(region);
        for (const ir::Value* output : region.outputs) elements += expected_samples(*output);
      }
    }
  EXPECT_GT(static_cast<double>(samples), 0.95 * static_cast<double>(elements));
}

TEST(ReferenceSamplesTest, OpsThatATemplateTakesWholeAreInterpreted) {
  const ir::Graph graph =
      ir::test::op_graph("lstm_steps", {{DType::f32, {5, 3, 32}}, {DType::f32, {1, 32, 8}}}, {});
  const backends::Scheduled scheduled =
      backends::schedule(graph, sched::target_by_name("cuda:sm_90a"));
  ASSERT_EQ(scheduled.regions.size(), 1u);
  EXPECT_EQ(scheduled.regions[0].candidate().kernel_template().name(), "recurrent");
  // All 168, but for those that rounding decides.
  EXPECT_GT(check_region(scheduled.regions[0]), 84u);
}

TEST(ReferenceSamplesTest, FusedRegionsAgreeWithTheInterpreter) {
  for (const auto& [inputs, nodes] : std::vector<std::pair<std::string, std::string>>{
           {"x: {dtype: f32, shape: [24, 40]}", "{out: y, op: softmax, in: [x], dim: -1}"},
           {"x: {dtype: bf16, shape: [24, 40]}",
            "{out: a, op: layer_norm, in: [x], normalized_shape: [40]}, "
            "{out: b, op: gelu, in: [a]}, {out: y, op: add, in: [b, x]}"},
           {"x: {dtype: f32, shape: [6, 10]}, w: {dtype: f32, shape: [12, 10]}",
            "{out: a, op: linear, in: [x, w]}, {out: y, op: gelu, in: [a]}"},
           {"x: {dtype: f32, shape: [2, 3, 9, 9]}, w: {dtype: f32, shape: [4, 3, 3, 3]}",
            "{out: a, op: conv2d, in: [x, w], stride: 2, padding: 1}, {out: y, op: relu, in: [a]}"},
           {"x: {dtype: f32, shape: [6, 33]}", "{out: y, op: cumsum, in: [x], dim: 1}"}}) {
    SCOPED_TRACE(nodes);
    Fixture fixture(inputs, nodes);
    for (const sched::Region& region : fixture.scheduled.regions)
      EXPECT_GT(check_region(region), 0u);
  }
}

TEST(ReferenceSamplesTest, LargeOutputsAreSampledWithTheirBorders) {
  Fixture fixture("x: {dtype: f32, shape: [100, 200]}", "{out: y, op: exp, in: [x]}");
  const BenchJob job = bench_job(fixture.region(), 1);
  EXPECT_EQ(job.reference.size(), 200u);
  std::set<int64_t> rows, columns, elements;
  for (const ReferenceSample& sample : job.reference) {
    elements.insert(sample.element);
    rows.insert(sample.element / 200);
    columns.insert(sample.element % 200);
  }
  EXPECT_EQ(elements.size(), 200u);
  EXPECT_TRUE(elements.contains(0) && elements.contains(19999));
  EXPECT_TRUE(rows.contains(0) && rows.contains(99));
  EXPECT_TRUE(columns.contains(0) && columns.contains(199));
  EXPECT_EQ(job.reference, bench_job(fixture.region(), 1).reference);
  EXPECT_NE(job.reference, bench_job(fixture.region(), 2).reference);
}

TEST(ReferenceSamplesTest, InputsArePositiveWhereOthersGiveNaNs) {
  Fixture log("x: {dtype: f32, shape: [1000]}", "{out: y, op: log, in: [x]}");
  EXPECT_EQ(bench_job(log.region(), 1).inputs[0].low, 0.1);
  Fixture exp("x: {dtype: f32, shape: [1000]}", "{out: y, op: exp, in: [x]}");
  EXPECT_EQ(bench_job(exp.region(), 1).inputs[0].low, -1);
}

// f32 values differ from their f64 ones by less than a step of a thousandth, yet some lie beside
// one.
TEST(ReferenceSamplesTest, WhatRoundingDecidesIsLeftOut) {
  Fixture fixture("x: {dtype: f32, shape: [400]}",
                  "{out: a, op: mul, in: [x, 1e7]}, {out: b, op: floor, in: [a]}, "
                  "{out: c, op: sin, in: [b]}, {out: y, op: gt, in: [c, 0]}");
  const size_t kept = bench_job(fixture.region(), 1).reference.size();
  EXPECT_LT(kept, 400u);
  EXPECT_GT(kept, 100u);
}

// Products of operands that matrix units truncated pass where they may, and there alone.
TEST(ReferenceSamplesTest, TheGateAllowsTf32WhereMatrixUnitsMayReadIt) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: g\ninputs: {x: {dtype: f32, shape: [16, 64]}, w: {dtype: f32, shape: [16, "
      "64]}}\n"
      "nodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n",
      "g.yaml", ".");
  for (const auto precision :
       {backends::MatmulPrecision::highest, backends::MatmulPrecision::high}) {
    backends::CompileOptions options;
    options.matmul_precision = precision;
    const backends::Scheduled scheduled = backends::schedule(graph, {}, options);
    const sched::Region& region = scheduled.regions.at(0);
    const BenchJob job = bench_job(region, 1);
    std::vector<ir::RefTensor> inputs;
    for (size_t i = 0; i < job.inputs.size(); ++i) inputs.push_back(logical_input(job, i, region));
    const auto pass = [&](bool tf32) {
      const auto outputs =
          interpret(graph_of(region), inputs, ir::RefMode::stepwise, {.observe = {}, .tf32 = tf32});
      const Tensor got = ir::to_tensor(outputs[0]);
      return compare_with_reference(job, 0, std::as_bytes(got.as<float>())).pass;
    };
    EXPECT_TRUE(pass(false));
    EXPECT_EQ(pass(true), precision == backends::MatmulPrecision::high);
  }
}

// A kernel that is tuned for pages of which it reads a few, or for keys of which it sees a few, is
// tuned for nothing.
TEST(ReferenceSamplesTest, DrawsIndicesThatMakeSense) {
  const Fixture fixture(
      "q: {dtype: f32, shape: [2, 4, 1, 16]}, k: {dtype: f32, shape: [90, 8, 2, 16]}, "
      "v: {dtype: f32, shape: [90, 8, 2, 16]}, table: {dtype: i32, shape: [2, 40]}, "
      "lengths: {dtype: i32, shape: [2]}",
      "{out: y, op: paged_attention, in: [q, k, v, table, lengths], is_causal: true}");
  const auto range_of = [&](const char* name) {
    for (const sched::Region& region : fixture.scheduled.regions)
      for (size_t i = 0; i < region.inputs.size(); ++i)
        if (region.inputs[i]->name == name) {
          const BenchInput input = bench_job(region, 1).inputs[i];
          return std::pair(input.int_low, input.int_high);
        }
    return std::pair<int64_t, int64_t>();
  };
  EXPECT_EQ(range_of("table"), (std::pair<int64_t, int64_t>(0, 90)));
  EXPECT_EQ(range_of("lengths"), (std::pair<int64_t, int64_t>(1, 321)));
}

// Sums that cancel afterwards: what a right kernel rounds is more than the gate's tolerance of what
// remains, and is allowed for; defects are not.
TEST(ReferenceSamplesTest, CancellingSumsAreHeldAgainstTheirNoise) {
  const Fixture fixture("x: {dtype: f32, shape: [64, 512]}, w: {dtype: f32, shape: [512, 16]}",
                        "{out: a, op: matmul, in: [x, w]}, {out: b, op: add, in: [a, 16500.0]}, "
                        "{out: y, op: sub, in: [b, 16500.0]}");
  const sched::Region& region = fixture.region();
  const BenchJob job = bench_job(region, 1);
  EXPECT_EQ(job.reference.size(), 200u) << "no sample is left out";
  EXPECT_GT(job.outputs[0].noise, 1e-4);
  EXPECT_LT(job.outputs[0].noise, 1e-2);

  const ir::Graph graph = graph_of(region);
  std::vector<ir::RefTensor> inputs;
  for (size_t i = 0; i < job.inputs.size(); ++i) inputs.push_back(logical_input(job, i, region));
  const auto gate = [&](const std::vector<ir::RefTensor>& given,
                        const ir::InterpretOptions& options) {
    const Tensor got = ir::to_tensor(interpret(graph, given, ir::RefMode::stepwise, options).at(0));
    return compare_with_reference(job, 0, std::as_bytes(got.as<float>()));
  };
  const GateResult right = gate(inputs, {});
  EXPECT_TRUE(right.pass) << right.reason;
  BenchJob without = job;
  without.outputs[0].noise = 0;
  const Tensor exact = ir::to_tensor(interpret(graph, inputs, ir::RefMode::stepwise).at(0));
  EXPECT_FALSE(compare_with_reference(without, 0, std::as_bytes(exact.as<float>())).pass);

  EXPECT_FALSE(gate(inputs, {.observe = {}, .tf32 = true}).pass);
  const auto a = static_cast<size_t>(inputs[0].shape == std::vector<int64_t>{64, 512} ? 0 : 1);
  auto dropped = inputs, moved = inputs;
  for (size_t row = 0; row < 64; ++row) {
    dropped[a].f[row * 512 + 100] = 0;  // a term of each sum
    std::swap(moved[a].f[row * 512 + 100], moved[a].f[row * 512 + 101]);
  }
  EXPECT_FALSE(gate(dropped, {}).pass);
  EXPECT_FALSE(gate(moved, {}).pass);
  const auto sum_in_f16 = [&](const ir::Node& node, std::span<ir::RefTensor> outputs) {
    if (node.op->kind != ir::OpKind::contraction) return;
    for (size_t n = 0; n < outputs[0].f.size(); ++n) {
      double sum = 0;
      for (size_t k = 0; k < 512; ++k)
        sum = round_to(DType::f16,
                       sum + inputs[a].f[n / 16 * 512 + k] * inputs[1 - a].f[k * 16 + n % 16]);
      outputs[0].f[n] = sum;
    }
  };
  EXPECT_FALSE(gate(inputs, {.observe = sum_in_f16}).pass);
}

// If nothing cancels, the noise is below what the gate allows anyway.
TEST(ReferenceSamplesTest, NoiseOfWellConditionedRegionsChangesNothing) {
  for (const char* nodes : {"{out: y, op: matmul, in: [x, w]}",
                            "{out: a, op: matmul, in: [x, w]}, {out: b, op: gelu, in: [a]}, {out: "
                            "y, op: exp, in: [b]}"}) {
    const Fixture fixture("x: {dtype: f32, shape: [24, 96]}, w: {dtype: f32, shape: [96, 20]}",
                          nodes);
    const BenchJob job = bench_job(fixture.region(), 1);
    double squares = 0;
    for (const ReferenceSample& sample : job.reference) squares += sample.value * sample.value;
    const double rms = std::sqrt(squares / static_cast<double>(job.reference.size()));
    EXPECT_EQ(gate_limit(job.outputs[0], job.combined, rms),
              gate_tolerance(job.outputs[0], job.combined) * rms);
    EXPECT_EQ(job.outputs[0].noise, bench_job(fixture.region(), 1).outputs[0].noise);
  }
}

double seconds_of(const Fixture& fixture, size_t& samples) {
  const auto start = std::chrono::steady_clock::now();
  samples = bench_job(fixture.region(), 1).reference.size();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(ReferenceSamplesTest, WorkIsBounded) {
  constexpr double kMost = ::tcc::test::kSanitized ? 30 : 3;  // seconds
  size_t samples = 0;
  const Fixture matmul("a: {dtype: f32, shape: [4096, 4096]}, b: {dtype: f32, shape: [4096, 4096]}",
                       "{out: y, op: matmul, in: [a, b]}");
  EXPECT_LT(seconds_of(matmul, samples), kMost);
  EXPECT_EQ(samples, 200u);
  const Fixture softmax("x: {dtype: f32, shape: [8192, 8192]}",
                        "{out: y, op: softmax, in: [x], dim: -1}");
  EXPECT_LT(seconds_of(softmax, samples), kMost);
  EXPECT_GT(samples, 20u);
  const Fixture sum("x: {dtype: f32, shape: [64, 1000000]}",
                    "{out: y, op: cumsum, in: [x], dim: 1}");
  EXPECT_LT(seconds_of(sum, samples), 10);
  EXPECT_GE(samples, 1u);
}

}  // namespace
}  // namespace tcc::autotune
