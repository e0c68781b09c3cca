// The analysis of attention: two products with a softmax over the keys between them, whatever is
// done to the scores, and what is done to the result.
//
//   out[batch, query, e] = sum over keys of softmax(score(sum over d of q[query, d] k[key, d]))
//                          v[key, e]
//
// Batches are the rows of scores but for the queries of one: digits as [batch, key head, group],
// flat in the kernels. The queries of a batch share its keys and values: of grouped heads, k and v
// have the stride 0 along the group. Where there is one query, the heads of a group are the
// queries.
//
// Kernels: scheduler/templates/attention_hooks.h has the hooks of device sources.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/candidate.h"
#include "scheduler/template.h"
#include "scheduler/templates/attention_score.h"
#include "scheduler/templates/contraction_plan.h"
#include "scheduler/templates/operand_view.h"
#include "scheduler/vectorize.h"

namespace tcc::sched {

struct AttentionPlan {
  // q, k or v. Its rows are queries or keys.
  struct Operand {
    // The element at (digits, row, depth) as f32, without its constant factor: that of q and k is a
    // part of the score.
    Expr element;
    SymInt row, depth;  // the axes of `element`: the plan's query or key, and depth
    SymInt rows = 1;
    int64_t depths = 1;
    // As it lies in memory, where it is an affine view of one buffer: `free_stride` is the row's,
    // `k_stride` the depth's, `batch` of the flat batch number.
    std::optional<OperandView> view;
    // Where it is no view whose rows are a number of elements apart, but rows of neighbours along
    // the depth in one buffer: a row of digits and `row` begins at `begin`, as those of pages do.
    struct Rows {
      int buffer = 0;
      SymInt begin;
      int64_t alignment = 1;  // bytes of which each `begin` is a multiple, at most 16
    };
    std::optional<Rows> rows_apart;
    DType dtype = DType::f32;  // of the values; as stored where it is a view or rows apart
    int64_t vector = 1;        // neighbours along the depth that one read brings
    // Returns whether each row is whole vectors of 16 bytes, neighbours along the depth, so that
    // bulk and asynchronous copies can load it.
    bool is_copied() const {
      return view && view->k_stride == 1 && view->aligned(16, view->free_stride);
    }
  };

  std::vector<SymInt> extents;  // of the digits, outermost first; none is 1
  SymInt all_queries = 1, all_keys = 1;
  // The usual ones of these, for estimates, not 0 where they are open; all that there are where no
  // dim is open.
  std::vector<int64_t> batch;
  int64_t queries = 1, keys = 1;
  Operand q, k, v;  // q and k have one depth, v may have another

  // The expressions here are of these axes: one per digit, and `query`, `key`. An axis of extent 1
  // is the constant 0.
  std::vector<SymInt> digits;
  SymInt query, key;

  ir::Variable raw;  // the product of q and k as it was summed, without their factors
  // The score in natural units of `raw`: -inf where `seen` does not hold (null: it always does).
  Expr score, seen;
  // Where the score is raw * scale with scale > 0, this is the scale and hooks leave raw scores as
  // they are, but for -inf; the kernel multiplies. Else it is 1, and hooks make scores.
  double scale = 1;
  bool is_scaled = false;
  bool safe = false;  // a query that sees no key gives 0 instead of NaN
  // Bounds of the keys that are seen are those of single queries, as numbers that are loaded for
  // each are: a tile's are found by asking for all of its queries.
  bool bounds_of_queries = false;
  // With those, a query sees all keys between its bounds, and the score is raw * scale there.
  bool bounds_are_all = false;

  // The weight of a key in a sum of values, where it is not `exponential` itself: of that variable,
  // proportional to it, as dropout is. Sums of exponentials are without it. Often null.
  ir::Variable exponential;
  Expr weight;

  // The stores of an element of the result `acc`, which is normalised: values and offsets are
  // of the digits, `query` and v's depth.
  ir::Variable acc;
  std::vector<Stored> outputs;
  // The stores of a query's log-sum-exp `sum`, -inf where it sees no key; often nothing.
  ir::Variable sum;
  std::vector<Stored> sums;

  // An expression of the plan for a flat batch number, with other axes replaced.
  using Places = std::vector<std::pair<SymInt, SymInt>>;
  Expr at(const Expr& e, const SymInt& batch_number, const Places& places) const;
  SymInt at(const SymInt& index, const SymInt& batch_number, const Places& places) const;
  // The sinks of `stored` there, of elements `value` of `variable`.
  std::vector<Sink> sinks(const std::vector<Stored>& stored, const ir::Variable& variable,
                          const Expr& value, const SymInt& batch_number,
                          const Places& places) const;

  SymInt all_batches() const { return ir::product(extents); }
  int64_t batches() const;  // the usual ones
  // The same plan at the longest queries and keys that ranges allow, up to so many but the usual
  // ones at least, for estimates alone. Open lengths without an end have their usual sizes.
  AttentionPlan at_length(int64_t most) const;
  // Estimates go no further: kernels for longer ones are no others.
  AttentionPlan at_longest() const { return at_length(16384); }
  // A number of batches, one after the other, that have the same keys and values: as many as are
  // known to.
  int64_t sharing() const;
  // The digits of a flat batch number.
  std::vector<SymInt> digits_of(const SymInt& batch_number) const;
  // Which keys some queries of a batch see, as expressions of these arguments.
  KeyRange keys_of(const SymInt& batch_number, const SymInt& first_query,
                   const SymInt& last_query) const;
  // Which keys one query sees.
  KeyRange keys_of(const SymInt& batch_number, const SymInt& query_number) const;
  // The tiles of keys that kernels walk over for these queries of a batch; all where the range is
  // known on the device alone.
  int64_t key_tiles(const SymInt& batch_number, int64_t first_query, int64_t last_query,
                    int64_t block_k) const;
  // The share of the scores that tiles of so many queries and keys compute, for estimates.
  double share_of_tiles(int64_t block_q, int64_t block_k) const;
  // A multiplication and an addition for each product of both, masked or not.
  exec::Amount flops() const;
};

// The expression with `value` in the place of a variable.
Expr with_variable(const Expr& e, const ir::Variable& variable, const Expr& value);

// Analyses a region. Refuses others, f64, roundings that must be kept between the two products, and
// depths beyond 256.
OrRefusal<AttentionPlan> plan_attention(const Region& region);

// Orders of dims in which queries, keys and values lie in rows along the depth, of operands that do
// not: what other kernels write as the product reads it, keys transposed.
std::vector<LayoutWish> wishes_of_rows(const Region& region, const AttentionPlan& plan);

// Sets of nodes from one product to another with a softmax between them, and what makes the
// log-sum-exp of it.
std::vector<std::vector<const ir::Node*>> attention_seeds(const ir::Graph& graph);
// Sets of nodes from one product to another with exponentials and their sum between them that are
// no such seeds.
std::vector<NearSeed> near_attention(const ir::Graph& graph);

}  // namespace tcc::sched
