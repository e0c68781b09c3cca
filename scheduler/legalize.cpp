#include "scheduler/legalize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "executable/quirks.h"
#include "scheduler/cost.h"
#include "scheduler/index_range.h"
#include "scheduler/moved_bits.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// A count that stays at its largest value instead of wrapping.
struct Saturated {
  static constexpr int64_t kMost = INT64_MAX / 2;
  int64_t count = 0;

  friend Saturated operator+(Saturated a, Saturated b) {
    return {std::min(a.count + b.count, kMost)};
  }
  friend Saturated operator*(Saturated a, Saturated b) {
    int64_t product;
    const bool wraps = __builtin_mul_overflow(a.count, b.count, &product);
    return {wraps ? kMost : std::min(product, kMost)};
  }
};

Saturated larger(Saturated a, Saturated b) { return {std::max(a.count, b.count)}; }
SymInt larger(const SymInt& a, const SymInt& b) { return ir::max(a, b); }

// Loop iterations of one thread, unrolled loops and serial reductions within expressions included;
// `extent` gives how many values an axis takes.
template <class Count>
Count iterations(const Block& block, Count (*extent)(const SymInt& axis)) {
  Count total{0};
  for (const Stmt& stmt : block) {
    if (stmt.value)
      ir::visit(stmt.value, [&](const Expr& e) {
        if (e->kind != ir::ExprNode::Kind::reduce) return;
        Count count{1};
        for (const SymInt& axis : e->axes) count = count * extent(axis);
        total = total + count;
      });
    Count inside = larger(iterations(stmt.body, extent), iterations(stmt.otherwise, extent));
    if (stmt.kind == Stmt::Kind::loop) inside = extent(stmt.axis) * (inside + Count{1});
    total = total + inside;
  }
  return total;
}

// The most values that the axis takes.
Saturated most_extent(const SymInt& axis) {
  return {std::min(ir::extent_of(axis).range().hi, Saturated::kMost)};
}

// The most values that the axis takes, an expression of sizes: an extent that depends on the loops
// around is as large as it gets.
SymInt open_extent(const SymInt& axis) {
  const SymInt extent = ir::extent_of(axis);
  // The value of another axis is below that one's extent.
  if (const ir::AtomPtr atom = extent.as_atom(); atom && atom->kind == ir::Atom::Kind::axis)
    return ir::max(open_extent(extent) - 1, 0);
  bool has_axes = false;
  extent.visit_atoms(
      [&](const ir::AtomPtr& atom) { has_axes |= atom->kind == ir::Atom::Kind::axis; });
  return has_axes ? extent.range().hi : extent;
}

bool needs(const Kernel& kernel, DType dtype) {
  return std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                     [&](const Argument& a) { return a.dtype == dtype; });
}

// Offsets, and thread numbers past the end of the last workgroup, stay below 2^31 for all sizes, or
// indices are 64 bits wide.
void choose_index_width(Kernel& kernel, const Target&) {
  constexpr int64_t kNarrow = (int64_t{1} << 31) - (1 << 20);
  for (const Argument& argument : kernel.arguments)
    if (argument.elements.range().hi >= kNarrow) kernel.wide_index = true;
  if ((kernel.grid * kernel.workgroup).range().hi >= kNarrow / 32 || leaves_32_bits(kernel))
    kernel.wide_index = true;
}

// A grid of more workgroups than one dimension has gets a second one, and so does one that may have
// more at some sizes: it has one row at all others. What the last row has beyond the work leaves at
// once, in a device source by its own test.
void split_grid(Kernel& kernel, const Target& target) {
  kernel.launch = {kernel.grid, 1};
  if (kernel.grid.range().hi <= target.max_grid[0]) return;
  SymInt columns, rows;
  if (kernel.grid.is_const()) {
    // Near-square, so that few workgroups are beyond the end.
    rows = ir::ceildiv(kernel.grid, target.max_grid[0]);
    columns = ir::ceildiv(kernel.grid, rows);
    if (rows.value() > target.max_grid[1])
      fail_device(kernel.name, ": needs ", kernel.grid, " workgroups, more than ", target.id(),
                  " can launch");
  } else {
    // The workgroups of a cluster are in one row.
    const SymInt clusters = ir::floordiv(kernel.grid, kernel.cluster);
    const int64_t row = target.max_grid[0] / kernel.cluster;
    rows = ir::ceildiv(clusters, row);
    columns = ir::min(clusters, row) * kernel.cluster;
  }
  kernel.launch = {columns, rows};
  const SymInt launched = columns * rows;
  if (launched == kernel.grid || !kernel.is_generated()) return;
  const SymInt number = block_axis(launched), block = SymInt::axis("block", kernel.grid);
  Block work = {let_index(block, number)};
  for (Stmt& stmt : substitute(kernel.body, block_axis(kernel.grid), block))
    work.push_back(std::move(stmt));
  kernel.body = {branch(ir::index_less(number, kernel.grid), std::move(work))};
  kernel.grid = launched;
}

// Workgroups that the device has room for at once, by threads and shared memory.
double workgroups_at_once(const Kernel& kernel, const Target& target) {
  if (kernel.resident == 1) return target.compute_units;
  double of_unit = static_cast<double>(target.max_threads_per_unit) / kernel.workgroup;
  if (kernel.shared_bytes > 0)
    of_unit = std::min(of_unit, static_cast<double>(target.shared_bytes) /
                                    static_cast<double>(kernel.shared_bytes));
  return target.compute_units * std::max(1.0, std::floor(of_unit));
}

// An early beginning places workgroups on whichever SMs are free first, several on one while others
// get none. Kernels whose time is arithmetic then take up to twice as long, which an early
// beginning, worth half a microsecond, cannot win back. So do long kernels that run in one round:
// in several, an SM that got little gets more of the next. Workgroups that fill an SM each are
// spread over SMs anyway, but neither in their order, in which neighbours share what they read, nor
// evenly over the parts of the device that share a way to memory. A cooperative launch does not
// overlap the one before it.
void choose_beginning(Kernel& kernel, const Target& target) {
  if (kernel.cooperative) kernel.begins_alone = true;
  if (!target.overlapping_launches) return;
  // Sources of FMA instructions reach about half of their peak.
  constexpr double kReached = 0.5;
  const double arithmetic = target.least_seconds(0, kernel.flops.usual(), kernel.flop_rate);
  const double memory = target.least_seconds(kernel.bytes.usual(), 0, kernel.flop_rate);
  if (kernel.resident != 1 && arithmetic > kReached * memory) kernel.begins_alone = true;
  if (std::max(arithmetic, memory) > kLongLaunch &&
      static_cast<double>(kernel.grid.usual()) <= workgroups_at_once(kernel, target))
    kernel.begins_alone = true;
}

// " (switched off by quirk ...)" where that is why the target lacks a feature.
std::string off_note(const Target& target, std::string_view feature) {
  const std::string off = exec::why_feature_off(target, feature);
  return off.empty() ? "" : " (" + off + ")";
}

// Throws Error(device) naming the limit that the kernel exceeds.
void check_limits(Kernel& kernel, const Target& target) {
  if (kernel.wide_index && !target.int64)
    fail_device(kernel.name, ": indices beyond 2^31 need 64-bit integers, which ", target.id(),
                " lacks", off_note(target, "int64"));
  if ((needs(kernel, DType::f64)) && !target.float64)
    fail_device(kernel.name, ": ", target.id(), " has no 64-bit floats",
                off_note(target, "float64"));
  if ((needs(kernel, DType::i64) || needs(kernel, DType::u64)) && !target.int64)
    fail_device(kernel.name, ": ", target.id(), " has no 64-bit integers",
                off_note(target, "int64"));
  for (const Argument& argument : kernel.arguments) {
    int bytes = size_bytes(argument.dtype);
    if ((bytes == 2 && !target.storage16) || (bytes == 1 && !target.storage8))
      fail_device(kernel.name, ": ", target.id(), " cannot store ", name(argument.dtype),
                  off_note(target, bytes == 2 ? "storage16" : "storage8"));
  }
  int64_t arrays = 0;
  for (const Array& a : kernel.shared)
    arrays += a.elements * std::max(4, size_bytes(a.variable.dtype));
  auto check_shared = [&](int64_t bytes, int64_t limit) {
    if (bytes > limit)
      fail_device(kernel.name, ": needs ", bytes, " bytes of shared memory, ", target.id(), " has ",
                  limit);
  };
  check_shared(arrays, target.static_shared_bytes());
  check_shared(arrays + kernel.shared_bytes, target.shared_bytes);
  if (kernel.workgroup > target.max_workgroup_size)
    fail_device(kernel.name, ": needs workgroups of ", kernel.workgroup, " threads, ", target.id(),
                " has ", target.max_workgroup_size);
  if (kernel.cluster > target.max_cluster)
    fail_device(kernel.name, ": needs clusters of ", kernel.cluster, " workgroups, ", target.id(),
                " has ", target.max_cluster);
  if (kernel.cooperative && !target.cooperative_launches)
    fail_device(kernel.name, ": its workgroups wait for each other, and ", target.id(),
                " does not promise to run all of them at once");
  if (kernel.cooperative && kernel.grid.range().hi > target.compute_units)
    fail_device(kernel.name, ": ", kernel.grid, " workgroups wait for each other, and ",
                target.id(), " has ", target.compute_units, " units");
  if (!kernel.sizes.empty()) {
    if (kernel.is_generated()) kernel.loop_iterations = iterations(kernel.body, open_extent);
    return;
  }
  const int64_t count = iterations(kernel.body, most_extent).count;
  if (target.max_loop_iterations > 0 && count > target.max_loop_iterations)
    fail_device(
        kernel.name, ": a thread runs up to ", count, " loop iterations, and ", target.id(),
        " stops it after ", target.max_loop_iterations,
        ": compute it in smaller parts, as a sum of sums, or on a device without this limit");
  kernel.loop_iterations = count;
}

constexpr std::array kPasses = {
    KernelPass{"lower-exchanges", lower_exchanges},
    KernelPass{"move-bits", [](Kernel& kernel, const Target&) { move_bits(kernel); }},
    KernelPass{"drop-stored-rounding",
               [](Kernel& kernel, const Target&) { drop_stored_rounding(kernel); }},
    KernelPass{"choose-index-width", choose_index_width},
    KernelPass{"split-grid", split_grid},
    KernelPass{"choose-beginning", choose_beginning},
    KernelPass{"find-requirements", find_requirements},
    KernelPass{"check-limits", check_limits},
};

}  // namespace

std::span<const KernelPass> legalize_passes() { return kPasses; }

Kernel legalize(Kernel kernel, const Target& target, const AfterKernelPass& after) {
  verify(kernel);
  for (const KernelPass& pass : kPasses) {
    pass.run(kernel, target);
    verify(kernel);
    if (after) after(pass.name, kernel);
  }
  return kernel;
}

Kernel legalize(Kernel kernel, const Target& target) {
  return legalize(std::move(kernel), target, {});
}

}  // namespace tcc::sched
