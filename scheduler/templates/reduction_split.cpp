#include "scheduler/templates/reduction_split.h"

#include <algorithm>

#include "ir/sizes.h"
#include "scheduler/inline.h"
#include "scheduler/plan.h"
#include "scheduler/split_reduction.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// Elements that one accumulator may sum in a row: rounding grows with its square root.
constexpr int64_t kLongestSum = 512;
// Rows that are cut at all, and the parts of them.
constexpr int64_t kShortest = 2048, kShortestPart = 64;
// Elements of a part that is worth a workgroup, of contiguous rows and of others.
constexpr int64_t kInnerPart = 4096, kOuterPart = 256;

// The smallest divisor of `cols` that is at least `wanted`, or 1.
int64_t divisor_at_least(int64_t cols, int64_t wanted) {
  for (int64_t d = wanted; d <= std::min(cols / 2, wanted * 8); ++d)
    if (cols % d == 0) return d;
  return 1;
}

bool is_rounded(ir::ReduceKind kind) {
  return kind == ir::ReduceKind::sum || kind == ir::ReduceKind::prod;
}

// Accumulators of a row.
int64_t accumulators(bool inner, const Target& target) {
  if (inner) return 4 * (target.serial_workgroups ? target.subgroup_size : 1024);
  return target.serial_workgroups ? 2 : 8;
}

// Workgroups of the whole reduction: neighbouring rows that are not contiguous are read in vectors.
int64_t workgroups(const ReductionDims& dims, bool inner) {
  const int64_t rows = dims.rows().value();
  if (inner) return rows;
  const int64_t neighbours = dims.kept_extents.empty() ? 1 : dims.kept_extents.back().value();
  return ceil_div(rows, neighbours % 8 == 0 ? 256 : 32);
}

}  // namespace

std::optional<Alternative> reduction_split(const ir::Node& node, const Target& target) {
  if (ir::is_arg(*node.op->reduction)) return std::nullopt;
  if (!ir::open_dims(node.inputs[0]->shape()).empty()) return std::nullopt;
  const ReductionDims dims = reduction_dims(&node);
  const int64_t rows = dims.rows().value(), cols = dims.cols().value();
  if (rows == 0 || cols < kShortest) return std::nullopt;
  const bool inner = dims.reduces_innermost();
  const int64_t of_short_sums = ceil_div(cols, accumulators(inner, target) * kLongestSum);
  const int64_t groups = workgroups(dims, inner), units = target.compute_units;
  // A little less than what fills the device, since a larger divisor is taken.
  const int64_t filling =
      4 * groups < units ? std::min(6 * units / groups, cols / (inner ? kInnerPart : kOuterPart))
                         : 1;
  const int64_t parts = divisor_at_least(cols, std::max({of_short_sums, filling, int64_t{1}}));
  const int64_t least = is_rounded(*node.op->reduction) ? std::min(of_short_sums, parts) : 1;
  Alternative split;
  split.kind = "split_reduction";
  split.description = str(node.op_name(), " of ", rows, " rows of ", cols, " ",
                          name(node.inputs[0]->dtype()), ": parts of a row");
  split.choices = {parts};
  const bool fills = groups >= 4 * units;
  const std::vector<int64_t> others =
      fills ? divisors_among({1}, cols, least, 1)
            : divisors_among({1, 4, 16, 64, 256, parts / 2, 2 * parts}, cols, least,
                             std::max(parts, cols / kShortestPart));
  for (const int64_t other : others)
    if (other != parts) split.choices.push_back(other);
  split.rewrite = split_reduction;
  if (split.choices == std::vector<int64_t>{1}) return std::nullopt;
  return split;
}

}  // namespace tcc::sched
