// The hooks of attention device sources hold what a region adds to their loops. In device sources
// (TCC_BUFFERS comes first; `batch` is the flat batch number, V and the vectors are constants of
// the config, and all indices may lie past the end by less than a tile):
//
// clang-format off
//   load_q(batch, row, d, values[q.vector])  neighbours along the depth as f32; `d` counts vectors.
//   load_k, load_v                           Rows past the end repeat the last one, elements past
//                                            the depth are 0.
//   batch_q(batch, c[3])                     the coordinates of the batch in the operand's tensor
//   batch_k, batch_v                         map (dims: depth, row, then view.batch, innermost
//                                            first), where it is a view
//   start_q(batch) -> i64, start_k, start_v  the offset of the batch's first row, where the operand
//                                            is a view
//   row_q(batch, row) -> i64, row_k, row_v   the offset of a row, where rows lie apart; rows past the
//                                            end repeat the last one
//   chunk_q(batch) -> i32, chunk_k, chunk_v  the same in chunks of 16 bytes, of which all rows
//                                            consist
//   score(batch, query, key, values[V])      raw products of V neighbouring keys (`key` is a
//                                            multiple of V) become scores in place; -inf where the
//                                            query does not see the key or there is no such key.
//                                            With plan.is_scaled the others stay raw: the kernel
//                                            multiplies by plan.scale.
//   score_inside(batch, query, key,          the same where the query sees all of the keys. There
//                values[V])                  is none with plan.is_scaled: nothing is to be done.
//   With tile.holds, score and score_inside have (batch, query, row, pair, column, values[2]): the
//   query is number `query + row`, the keys are those of pair number `pair + column`. `row`, 0 or
//   8, and `column` are known when the source's loop is unrolled. With small_products() `small`
//   comes next, which is 1 where no raw product of the thread's is larger. Words that they load for
//   the keys come before values:
//   hold_score(batch, query, row, pair,      the words that score gets, which the source loads
//              column, held[words])          ahead; hold_inside: those of score_inside
//   weight(batch, query, key, values[V])     exponentials of V neighbouring keys become their
//                                            weights, in place: with plan.weight alone
//   key_range(batch, tile, range[4])         the queries of the tile (`block_q` of them) see keys
//                                            in [range[0], range[1]) alone, and each of them all
//                                            of [range[2], range[3])
//   key_range(batch, query, range[4])        with plan.bounds_of_queries, for sources that ask for
//                                            single queries: the same of one
//   epilogue(batch, row, part,               stores a segment of a row of the normalised result;
//            acc[segment])                   `part` counts segments. Rows and parts past the end
//                                            are left out.
//   tile_seen(batch, query_tile, key_tile)   not 0 where a query of the tile may see a key of it, with
//     -> i32                                 the list of attention_list.h
//   store_sum(batch, row, value[1])          stores the row's log-sum-exp (natural logarithm),
//                                            where plan.sums is not empty
// clang-format on
#pragma once

#include <functional>
#include <initializer_list>

#include "scheduler/kernel.h"
#include "scheduler/templates/attention_plan.h"

namespace tcc::sched {

// The extents that a device source asks its hooks for.
struct AttentionTile {
  int64_t block_q = 1, block_k = 1;  // indices reach up to the next multiple of these
  int64_t depth = 1, depth_v = 1;    // so many elements of a row are asked for, or stored
  int64_t keys = 1;                  // V: neighbouring keys of a score hook
  int64_t segment = 1;               // neighbouring elements that the epilogue gets
  bool holds = false;                // the source loads ahead what scores of pairs read
};

// Words of a pair that a source with tile.holds loads ahead.
struct HeldWords {
  int64_t score = 0, inside = 0;  // of all keys, and of those that are seen
  // The most of these that queries of a key do not share; and the first ones, which queries and
  // keys 8 further on share.
  int64_t apart = 0, distances = 0;
};

class AttentionHooks {
 public:
  // The plan must outlive the hooks' making.
  AttentionHooks(const AttentionPlan& plan, const AttentionTile& tile) : plan_(plan), tile_(tile) {}

  Hook load(const AttentionPlan::Operand& operand, std::string name) const;
  Hook coordinates(const AttentionPlan::Operand& operand, std::string name) const;
  Hook start(const AttentionPlan::Operand& operand, std::string name) const;
  Hook row(const AttentionPlan::Operand& operand, std::string name) const;
  Hook chunk(const AttentionPlan::Operand& operand, std::string name) const;
  Hook score(std::string name) const;
  Hook score_inside(std::string name) const;
  HeldWords held_words() const;
  Hook hold_score(std::string name) const;
  Hook hold_inside(std::string name) const;
  Hook weight(std::string name, int64_t keys) const;  // of so many neighbours, V otherwise
  Hook key_range(std::string name) const;
  Hook key_range_of_query(std::string name) const;
  Hook epilogue(std::string name) const;
  Hook store_sum(std::string name) const;

 private:
  // A hook of `width` neighbouring keys: `value_of` makes values of what they were, `others` are
  // those of keys past the end, which are never asked for where that is null.
  using ValueOf = std::function<Expr(const Expr& value, const SymInt& batch,
                                     const AttentionPlan::Places& places)>;
  Hook of_keys(std::string name, int64_t width, const ValueOf& value_of, const Expr& others) const;

  // The hook of a pair's scores, or of the words that it reads: of keys that may not be seen, or
  // are.
  enum class Keys { any, inside };
  enum class Part { scores, words };
  Hook of_pair(std::string name, Keys keys, Part part) const;
  Expr score_of_pair(Keys keys, const Expr& raw, const SymInt& batch,
                     const AttentionPlan::Places& places, const SymInt& first, const SymInt& column,
                     const Expr& small) const;

  const AttentionPlan& plan_;
  AttentionTile tile_;
};

// An element of the result, 0 where there may be no keys and are none: a sum of nothing.
Expr result_of(const AttentionPlan& plan, const Expr& acc);

// Issue slots of a score's expression, without its mask, and of its weight's. What is only scaled
// takes none.
double score_slots(const AttentionPlan& plan);

// Issue slots of an element of an operand, whose expression is its factorless one. A copy takes
// none.
double operand_slots(const AttentionPlan::Operand& operand);

// Returns whether the value calls one of the functions.
bool calls(const Expr& value, std::initializer_list<ir::Fn> fns);

// For kernels on matrix units of 16 bits: the tanh of scores is `tanh`, a function of the prelude
// that is of absolute accuracy, as scores need it, where nothing else of the plan asks for a tanh.
void loosen_scores(Kernel& kernel, const AttentionPlan& plan, const char* tanh);

}  // namespace tcc::sched
