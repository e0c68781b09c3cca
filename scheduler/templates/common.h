// What templates share: the kernel's frame, index helpers, and the list of templates.
#pragma once

#include <string>
#include <vector>

#include "scheduler/inline.h"
#include "scheduler/template.h"

namespace tcc::sched {

int64_t numel(const ir::Value* value);

// A kernel with name, comment, arguments (inputs, then outputs), bytes and flops of `region` filled
// in.
Kernel start_kernel(const Region& region);

void append(Block& block, Block more);

inline Expr zero_of(DType dtype) {
  return is_float(dtype) ? ir::constant(dtype, 0) : ir::constant_int(dtype, 0);
}

std::vector<SymInt> delinearize_ints(const SymInt& linear, const std::vector<int64_t>& shape);

// The index of the element that is `linear`-th in memory under `layout`, padding left out.
std::vector<SymInt> memory_order_index(const SymInt& linear, const std::vector<int64_t>& shape,
                                       const Layout& layout);

// How far `offset` moves with one step of `axis`: 0 when it does not depend on it, -1 when not by a
// fixed amount.
int64_t coefficient(const SymInt& offset, const SymInt& axis);

// The power of two at or above / below n (n >= 1).
int64_t power_of_two_at_least(int64_t n);
int64_t power_of_two_at_most(int64_t n);

const Template& pointwise_template();
const Template& transpose_template();
const Template& reduction_template();
const Template& scan_template();
const Template& sort_template();
const Template& contraction_template();
const Template& gemm_sm90_template();
const Template& gemm_sm80_template();
const Template& gemv_template();

}  // namespace tcc::sched
