// Helpers that templates share: the kernel's frame and indices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/sizes.h"
#include "scheduler/index_range.h"
#include "scheduler/inline.h"
#include "scheduler/template.h"

namespace tcc::sched {

// A kernel with name, comment, arguments (inputs, then outputs), sizes, bytes and flops of `region`
// filled in.
Kernel start_kernel(const Region& region);

void append(Block& block, Block more);
// The body where all of the conditions hold.
Block guarded(std::span<const Expr> conditions, Block body);

// Returns `body` whose stores happen where `condition` holds, and all else anywhere. Assemblers
// move loads into a branch from before it, so that they are waited for there; those of a store's
// condition stay.
Block stores_where(const Expr& condition, Block body);

// An index as a number that kernels compute with.
inline Expr index_number(const SymInt& index) {
  return ir::cast(ir::index_value(index), DType::i32);
}

inline SymInt round_up_to(const SymInt& size, int64_t multiple) {
  return ir::ceildiv(size, multiple) * multiple;
}

// An index that a device source may pass has a variable, also where it is always 0.
inline Hook::Parameter passed_index(std::string name, const SymInt& extent) {
  return Hook::index_parameter(std::move(name), ir::max(extent, 2));
}

// Workgroups that do `per_block` of `count` items each. A launch of none does nothing.
inline SymInt blocks_of(const SymInt& count, int64_t per_block) {
  return ir::ceildiv(count, per_block);
}

// ir::delinearize, of sizes that are numbers.
std::vector<SymInt> delinearize_ints(const SymInt& linear, const std::vector<int64_t>& shape);

// The index of the element that is `linear`-th in memory under `layout`, padding left out.
std::vector<SymInt> memory_order_index(const SymInt& linear, const ir::Shape& shape,
                                       const Layout& layout);

// Threads of the smallest workgroups that pay: 32, or all that the target has.
int64_t fewest_threads(const Target& target);
// The sizes of workgroups that a config may have: powers of two from those on.
std::vector<int64_t> workgroup_sizes(const Target& target);
// The values of the parameter of that name.
std::vector<int64_t>& values_of(std::vector<Parameter>& parameters, std::string_view name);
// Removes the parameter of that name.
void leave_out(std::vector<Parameter>& parameters, std::string_view name);

// The power of two at or above / below n (n >= 1).
int64_t power_of_two_at_least(int64_t n);
int64_t power_of_two_at_most(int64_t n);

}  // namespace tcc::sched
