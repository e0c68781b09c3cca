#include "ir/reference/check.h"

#include <algorithm>

#include "ir/reference/interpreter.h"
#include "ir/reference/noise.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

class Check {
 public:
  Check(const Graph& graph, std::span<const Tensor> inputs, const CheckOptions& options)
      : graph_(graph), options_(options) {
    for (const Tensor& tensor : inputs) given_.push_back(to_ref(tensor));
  }

  std::vector<Comparison> run(std::span<const Tensor> outputs) {
    const std::vector<RefTensor> ideal = evaluate(RefMode::ideal, 0),
                                 stepwise = evaluate(RefMode::stepwise, 0);
    TCC_CHECK(outputs.size() == ideal.size(), outputs.size(), " outputs instead of ", ideal.size());
    std::vector<RefTensor> got;
    for (const Tensor& tensor : outputs) got.push_back(to_ref(tensor));
    std::vector<std::vector<RefTensor>> noisy(ideal.size());  // by output, then by draw
    std::vector<Comparison> comparisons(ideal.size());
    for (uint64_t draw = 0;; ++draw) {
      bool all_pass = true;
      for (size_t i = 0; i < ideal.size(); ++i) {
        if (draw > 0 && comparisons[i].pass) continue;
        comparisons[i] = compare(got[i], ideal[i], stepwise[i], noisy[i]);
        all_pass &= comparisons[i].pass;
      }
      if (all_pass || draw == kNoiseDraws) return comparisons;
      std::vector<RefTensor> results = evaluate(RefMode::noisy, draw + 1);
      for (size_t i = 0; i < ideal.size(); ++i)
        if (results[i].shape == ideal[i].shape) noisy[i].push_back(std::move(results[i]));
    }
  }

 private:
  std::vector<RefTensor> evaluate(RefMode mode, uint64_t seed) {
    InterpretOptions options{.observe = {}, .tf32 = options_.tf32, .seed = seed};
    const auto nodes = static_cast<double>(std::max<size_t>(graph_.nodes().size(), 1));
    const double evaluations = static_cast<double>(std::max<uint64_t>(2, 2 + seed));
    size_t seen = 0;
    if (options_.progress)
      options.observe = [&](const Node&, std::span<RefTensor>) {
        options_.progress((static_cast<double>(done_) + static_cast<double>(++seen) / nodes) /
                          evaluations);
      };
    std::vector<RefTensor> results = interpret(graph_, given_, mode, options);
    ++done_;
    return results;
  }

  const Graph& graph_;
  const CheckOptions& options_;
  std::vector<RefTensor> given_;
  uint64_t done_ = 0;  // evaluations
};

}  // namespace

std::vector<Comparison> check_outputs(const Graph& graph, std::span<const Tensor> inputs,
                                      std::span<const Tensor> outputs,
                                      const CheckOptions& options) {
  return Check(graph, inputs, options).run(outputs);
}

}  // namespace tcc::ir
