#include "autotune/reference_samples.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "autotune/expr_program.h"
#include "autotune/gate.h"
#include "autotune/input_data.h"
#include "autotune/random_words.h"
#include "autotune/sort_samples.h"
#include "autotune/whole_op_samples.h"
#include "ir/append.h"
#include "ir/expr.h"
#include "scheduler/inline.h"
#include "support/checked.h"
#include "support/error.h"
#include "support/parallel.h"

namespace tcc::autotune {
namespace {

using ir::Expr;
using ir::Number;
using ir::SymInt;
using Index = std::vector<int64_t>;

constexpr int64_t kWhole = 512;  // elements that are computed without sampling
constexpr int64_t kSamples = 200;
constexpr int64_t kWork = 32'000'000;  // evaluated subexpressions of one output: about a second

// The element of a scan is a reduction of the elements up to it.
void bind_scan(sched::Inliner& inliner, const ir::Node* node) {
  const ir::Value* out = node->outputs[0];
  const DType dtype = compute_dtype(out->dtype());
  const ir::ReduceKind kind = *node->op->reduction;
  auto dim = node->attr<int64_t>("dim");
  if (dim < 0) dim += out->rank();
  const auto along = static_cast<size_t>(dim);
  const bool exclusive = node->attr<bool>("exclusive"), reverse = node->attr<bool>("reverse");
  inliner.bind(out, [=, &inliner](std::span<const SymInt> index) {
    const Expr none = is_float(dtype) ? ir::constant(dtype, ir::identity(kind, dtype))
                                      : ir::constant_int(dtype, ir::identity_int(kind, dtype));
    if (index.empty())  // a line of one element
      return exclusive ? none : ir::cast(inliner.value_at(node->inputs[0], index), dtype);
    std::vector<SymInt> at(index.begin(), index.end());
    at[along] = inliner.new_axis(out->shape()[along]);
    const Expr value = ir::cast(inliner.value_at(node->inputs[0], at), dtype);
    const SymInt &here = at[along], end = index[along] + (exclusive ? 0 : 1);
    const Expr counts = reverse ? ir::index_less(index[along] - (exclusive ? 0 : 1), here)
                                : ir::index_less(here, end);
    return ir::reduce(kind, {at[along]}, ir::select(counts, value, none));
  });
}

// The elements to compute, in the order of their importance; `shape` has at least one.
std::vector<Index> chosen_elements(const Index& shape, uint64_t seed) {
  const int64_t count = *checked_product(shape);
  const size_t rank = shape.size();
  std::vector<Index> chosen;
  if (count <= kWhole) {
    Index index(rank, 0);
    for (int64_t n = 0; n < count; ++n) {
      chosen.push_back(index);
      for (size_t d = rank; d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
    }
    return chosen;
  }
  RandomWords random(seed);
  std::set<Index> seen;
  const auto add = [&](const Index& index) {
    if (seen.insert(index).second) chosen.push_back(index);
  };
  const auto anywhere = [&] {
    Index index;
    for (const int64_t extent : shape)
      index.push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(extent))));
    return index;
  };
  add(Index(rank, 0));
  Index last;
  for (const int64_t extent : shape) last.push_back(extent - 1);
  add(last);
  for (int round = 0; round < 4; ++round)
    for (size_t d = 0; d < rank; ++d)
      for (const int64_t border : {int64_t{0}, shape[d] - 1}) {
        Index index = anywhere();
        index[d] = border;
        add(index);
      }
  while (static_cast<int64_t>(chosen.size()) < kSamples) add(anywhere());
  return chosen;
}

// The same of those that a kernel stores; none where there are none.
std::vector<Index> chosen_elements_of(const ir::Value& output, uint64_t seed) {
  const Index shape = const_shape(ir::stored_part(output));
  if (*checked_product(shape) == 0) return {};
  std::vector<Index> chosen = chosen_elements(shape, seed);
  for (Index& index : chosen)
    index = const_shape(ir::stored_index(output, {index.begin(), index.end()}));
  return chosen;
}

using Sample = SampledElement;

// Evaluates as many of `elements` as the limit of work allows.
std::vector<Sample> evaluate(const ExprProgram& program, std::span<const ExprBuffer> buffers,
                             std::span<const Index> elements) {
  using Rounding = ExprEvaluator::Rounding;
  const auto evaluate_from = [&](size_t begin, size_t end, std::vector<Sample>& samples) {
    ExprEvaluator ideal(program, buffers, Rounding::none),
        rounded(program, buffers, Rounding::each), noisy(program, buffers, Rounding::noisy);
    for (size_t n = begin; n < end; ++n)
      samples[n] = {ideal(elements[n]), rounded(elements[n]), noisy(elements[n])};
    return ideal.work() + rounded.work() + noisy.work();
  };
  std::vector<Sample> samples(1);
  const int64_t work = std::max<int64_t>(evaluate_from(0, 1, samples), 1);
  // One element may be far smaller than others of its tensor, where sums cancel: several show what
  // size they have.
  const size_t least = std::min<size_t>(4, elements.size());
  samples.resize(std::clamp<size_t>(static_cast<size_t>(kWork / work), least, elements.size()));
  const int64_t grain = samples.size() == least ? 1 : 16;
  parallel_for(1, static_cast<int64_t>(samples.size()), grain, [&](int64_t begin, int64_t end) {
    evaluate_from(static_cast<size_t>(begin), static_cast<size_t>(end), samples);
  });
  return samples;
}

// The region's values are rounded to these types on the way to an output.
std::optional<DType> coarsest_rounding(const sched::Region& region, const Expr& expr) {
  std::optional<DType> coarsest;
  // tf32 has as many bits of mantissa as f16, and matrix units keep 14 bits of sums of f8.
  const bool sums_f8 = region.anchor && region.anchor->op->kind == ir::OpKind::contraction &&
                       is_f8(region.anchor->inputs[0]->dtype());
  if (region.tf32 || sums_f8) coarsest = DType::f16;
  ir::visit(expr, [&](const Expr& e) {
    if (e->kind != ir::ExprNode::Kind::cast || !is_low_precision(e->dtype)) return;
    if (!coarsest || info(e->dtype).mantissa_bits < info(*coarsest).mantissa_bits)
      coarsest = e->dtype;
  });
  return coarsest;
}

double as_double(Number value, DType dtype) {
  if (is_float(dtype)) return value.number;
  return dtype == DType::u64 ? static_cast<double>(static_cast<uint64_t>(value.integer))
                             : static_cast<double>(value.integer);
}

bool near(Number a, Number b, double most) {
  return same_special(a.number, b.number) || std::fabs(a.number - b.number) <= most;
}

// The root of the mean of squares of the finite ones.
class RootMeanSquare {
 public:
  void add(double value) {
    if (!std::isfinite(value)) return;
    squares_ += value * value;
    ++count_;
  }
  double root() const { return std::sqrt(squares_ / std::max(count_, 1.0)); }

 private:
  double squares_ = 0, count_ = 0;
};

// Says which samples can be compared, and their noise. Where few differ between f64, step by step
// rounding and noise by more than the gate would forgive, rounding decides those few (an index, a
// floor), and they are left out. Where many do, sums cancel, which the noise allows for.
struct Decided {
  std::vector<bool> keep;
  double noise = 0;
};

Decided decided(const BenchOutput& type, double combined, std::span<const Sample> samples) {
  constexpr size_t kFew = 10;  // one in so many
  constexpr size_t kFewSamples = 16;
  Decided result;
  if (!is_float(type.dtype)) {
    for (const Sample& sample : samples)
      result.keep.push_back(sample.ideal.integer == sample.rounded.integer &&
                            sample.ideal.integer == sample.noisy.integer);
    return result;
  }
  RootMeanSquare magnitude;
  for (const Sample& sample : samples)
    if (std::isfinite(sample.rounded.number)) magnitude.add(sample.ideal.number);
  size_t undecided = 0;
  for (const auto& [ideal, rounded, noisy] : samples) {
    const double most =
        gate_tolerance(type, combined) * std::max(magnitude.root(), std::fabs(ideal.number));
    result.keep.push_back(near(ideal, rounded, most) && near(ideal, noisy, most));
    undecided += !result.keep.back();
  }
  const bool few = undecided * kFew <= samples.size();
  RootMeanSquare noise;
  for (size_t n = 0; n < samples.size(); ++n) {
    const auto& [ideal, rounded, noisy] = samples[n];
    const bool finite = std::isfinite(ideal.number) && std::isfinite(rounded.number);
    if (!few) result.keep[n] = finite || same_special(ideal.number, rounded.number);
    if (!result.keep[n]) continue;
    // The noise of few samples may be small by chance, the rounding of each step beside it hardly.
    const double rounding = samples.size() < kFewSamples ? rounded.number - ideal.number : 0;
    noise.add(std::max(std::fabs(noisy.number - ideal.number), std::fabs(rounding)));
  }
  result.noise = noise.root();
  return result;
}

bool all_finite(std::span<const Sample> samples) {
  return std::ranges::all_of(samples, [](const Sample& sample) {
    return std::isfinite(sample.ideal.number) && std::isfinite(sample.rounded.number);
  });
}

}  // namespace

ReferenceSamples reference_samples(const sched::Region& region, const BenchJob& job,
                                   std::span<const size_t> places) {
  ReferenceSamples result;
  result.rounded.resize(job.outputs.size());
  result.noise.resize(job.outputs.size());
  std::vector<ExprBuffer> buffers;
  for (size_t i = 0; i < region.inputs.size(); ++i)
    buffers.push_back(input_pattern(job, places.empty() ? i : places[i]));
  std::optional<WholeOpSamples> whole;
  if (has_whole_op(region)) whole.emplace(region, buffers);
  for (size_t k = 0; k < region.outputs.size(); ++k) {
    const ir::Value* output = region.outputs[k];
    const std::vector<Index> chosen = chosen_elements_of(*output, job.seed + k);
    if (chosen.empty()) continue;
    BenchOutput type = job.outputs[k];
    const auto keep = [&](std::span<const Sample> samples) {
      std::vector<int64_t> elements;
      for (const Index& index : chosen) {
        const std::vector<SymInt> at(index.begin(), index.end());
        elements.push_back(region.layout(output).offset(at).value());
      }
      type.rounded = result.rounded[k];
      const Decided found = decided(type, job.combined, samples);
      for (size_t n = 0; n < samples.size(); ++n)
        if (found.keep[n])
          result.samples.push_back(
              {static_cast<int>(k), elements[n], as_double(samples[n].ideal, type.dtype)});
      result.noise[k] = found.noise;
      if (is_float(type.dtype)) result.finite &= all_finite(samples);
    };
    if (whole) {
      if (is_low_precision(output->dtype())) result.rounded[k] = output->dtype();
      keep(whole->at(k, chosen));
      continue;
    }
    if (region.anchor && region.anchor->op->kind == ir::OpKind::sort) {
      keep(sort_samples(region, output, buffers, chosen, kWork));
      continue;
    }
    sched::Inliner inliner(region);
    for (const ir::Node* node : region.nodes)
      if (node->op->kind == ir::OpKind::scan) bind_scan(inliner, node);
    std::vector<SymInt> axes;
    for (const SymInt& extent : output->shape())
      axes.push_back(SymInt::axis("out" + std::to_string(axes.size()), extent));
    const Expr element = inliner.value_at(output, axes);
    const ExprProgram program(element, axes);
    result.rounded[k] = coarsest_rounding(region, element);
    keep(evaluate(program, buffers, chosen));
  }
  std::ranges::stable_sort(result.samples, [](const auto& a, const auto& b) {
    return std::pair(a.output, a.element) < std::pair(b.output, b.element);
  });
  return result;
}

BenchJob bench_job(const sched::Region& region, uint64_t seed) {
  BenchJob job;
  job.name = region.name();
  job.combined = combined_values(region);
  job.seed = seed;
  for (const ir::Value* value : region.inputs) {
    BenchInput& input = job.inputs.emplace_back();
    input.dtype = value->dtype();
    input.elements = region.layout(value).elements.value();
    if (value->random_range) std::tie(input.int_low, input.int_high) = *value->random_range;
    if (value->dtype() == DType::boolean) std::tie(input.int_low, input.int_high) = std::pair(0, 2);
  }
  for (const ir::Value* value : region.outputs)
    job.outputs.push_back({value->dtype(), region.layout(value).elements.value(), {}});
  for (const auto& [low, high] : {std::pair{-1.0, 1.0}, {0.1, 1.0}}) {
    for (BenchInput& input : job.inputs) std::tie(input.low, input.high) = std::pair(low, high);
    ReferenceSamples reference = reference_samples(region, job);
    job.reference = std::move(reference.samples);
    for (size_t k = 0; k < job.outputs.size(); ++k) {
      job.outputs[k].rounded = reference.rounded[k];
      job.outputs[k].noise = reference.noise[k];
    }
    if (reference.finite) break;
  }
  return job;
}

}  // namespace tcc::autotune
