#include "tests/fuzz/conditioning.h"

#include <algorithm>
#include <cmath>

#include "ir/reference/compare.h"
#include "ir/reference/interpreter.h"
#include "support/error.h"
#include "tests/fuzz/random_source.h"

namespace tcc::test {
namespace {

using Tensors = std::vector<ir::RefTensor>;

constexpr uint64_t kDraws = 4;
constexpr double kNoiseShare = 8;  // a sum of n terms is right for terms changed by a few ulp

// Each element times 1 + u ulp, u uniform in [-1, 1].
void disturb(ir::RefTensor& tensor, RandomSource& random) {
  if (!is_float(tensor.dtype)) return;
  const double ulp = std::ldexp(1.0, -info(tensor.dtype).mantissa_bits);
  constexpr int64_t kSteps = 1 << 20;
  for (double& value : tensor.f)
    value *= 1 + ulp * (static_cast<double>(random.between(-kSteps, kSteps)) / kSteps);
}

Tensors disturbed_results(const ir::Graph& graph, Tensors inputs, uint64_t seed) {
  RandomSource random(seed);
  for (ir::RefTensor& input : inputs) disturb(input, random);
  ir::InterpretOptions options;
  options.observe = [&](const ir::Node&, std::span<ir::RefTensor> outputs) {
    for (ir::RefTensor& output : outputs) disturb(output, random);
  };
  return ir::interpret(graph, inputs, ir::RefMode::ideal, options);
}

}  // namespace

std::string conditioned_difference(const ir::Graph& graph, std::span<const Tensor> inputs,
                                   std::span<const Tensor> outputs) {
  Tensors given;
  for (const Tensor& tensor : inputs) given.push_back(ir::to_ref(tensor));
  const Tensors ideal = ir::interpret(graph, given, ir::RefMode::ideal);
  const Tensors stepwise = ir::interpret(graph, given, ir::RefMode::stepwise);
  if (outputs.size() != ideal.size())
    return str(outputs.size(), " outputs instead of ", ideal.size());
  std::vector<Tensors> disturbed;  // drawn at the first need
  std::string text;
  for (size_t i = 0; i < ideal.size(); ++i) {
    const ir::Comparison got = ir::compare(ir::to_ref(outputs[i]), ideal[i], stepwise[i]);
    if (got.pass) continue;
    double noise = 0;
    for (uint64_t seed = disturbed.size(); seed < kDraws; ++seed)
      disturbed.push_back(disturbed_results(graph, given, seed));
    for (const Tensors& other : disturbed)
      noise = std::max(noise, ir::compare(other[i], ideal[i], stepwise[i]).rmse_out);
    const bool close = got.mismatches == 0 && is_float(ideal[i].dtype) &&
                       got.rmse_out <= got.limit + kNoiseShare * noise;
    if (close) continue;
    text += str("output ", graph.output_names[i], ": ", got.reason, " (one ulp of noise makes ",
                noise, ")\n");
  }
  return text;
}

}  // namespace tcc::test
