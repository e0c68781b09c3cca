#include "autotune/sort_samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "scheduler/inline.h"
#include "scheduler/templates/sort_plan.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

using ir::Number;
using ir::SymInt;
using Index = std::vector<int64_t>;

// An operand's element as a program over the operand's index.
ExprProgram program_of(const sched::Region& region, const ir::Value* value) {
  sched::Inliner inliner(region);
  std::vector<SymInt> axes;
  for (const int64_t extent : const_shape(*value))
    axes.push_back(SymInt::axis("in" + std::to_string(axes.size()), extent));
  return {ir::cast(inliner.value_at(value, axes), value->dtype()), axes};
}

// One way of rounding: the keys of a run, in order.
class SortedRuns {
 public:
  SortedRuns(const sched::SortPlan& plan, const ExprProgram& keys,
             const std::optional<ExprProgram>& given, std::span<const ExprBuffer> buffers,
             ExprEvaluator::Rounding rounding)
      : plan_(plan), keys_(keys, buffers, rounding) {
    if (given) given_.emplace(*given, buffers, rounding);
  }

  // Element `index` of the values, or of the indices.
  Number element(const Index& index, bool is_value) {
    const int64_t place = index[plan_.dim], first = place / plan_.keep * plan_.run;
    Index at = index;
    std::vector<Number> keys(
        static_cast<size_t>(std::min(plan_.run, plan_.extent.value() - first)));
    for (size_t k = 0; k < keys.size(); ++k) {
      at[plan_.dim] = first + static_cast<int64_t>(k);
      keys[k] = keys_(at);
    }
    std::vector<size_t> order(keys.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return plan_.descending ? is_less(keys[b], keys[a]) : is_less(keys[a], keys[b]);
    });
    const size_t chosen = order[static_cast<size_t>(place % plan_.keep)];
    if (is_value) return keys[chosen];
    at[plan_.dim] = first + static_cast<int64_t>(chosen);
    Number result;
    result.integer = at[plan_.dim];
    return given_ ? (*given_)(at) : result;
  }

  // Counts the work of this and the elements before, sorting included.
  int64_t work() const { return keys_.work(); }

 private:
  bool is_less(Number a, Number b) const {
    if (is_float(plan_.key))
      return a.number < b.number || (std::isnan(b.number) && !std::isnan(a.number));
    if (plan_.key == DType::u64)
      return static_cast<uint64_t>(a.integer) < static_cast<uint64_t>(b.integer);
    return a.integer < b.integer;
  }

  const sched::SortPlan& plan_;
  ExprEvaluator keys_;
  std::optional<ExprEvaluator> given_;
};

}  // namespace

std::vector<SampledElement> sort_samples(const sched::Region& region, const ir::Value* output,
                                         std::span<const ExprBuffer> buffers,
                                         std::span<const Index> elements, int64_t most_work) {
  const sched::SortPlan plan = *sched::plan_sort(region);
  if (plan.sorted > 1) fail_input(region.name(), " merges sorted runs, which random data is not");
  const ExprProgram keys = program_of(region, plan.x);
  std::optional<ExprProgram> given;
  if (plan.given) given = program_of(region, plan.given);
  SortedRuns ideal(plan, keys, given, buffers, ExprEvaluator::Rounding::none),
      rounded(plan, keys, given, buffers, ExprEvaluator::Rounding::each);
  std::vector<SampledElement> samples;
  for (const Index& index : elements) {
    const bool is_value = output == plan.values;
    const Number value = rounded.element(index, is_value);  // keys are no sums: noise enough
    samples.push_back({ideal.element(index, is_value), value, value});
    if (ideal.work() + rounded.work() > most_work) break;
  }
  return samples;
}

}  // namespace tcc::autotune
