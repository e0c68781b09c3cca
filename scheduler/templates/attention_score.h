// The meaning of an attention's score: which keys a query sees, and what a score is made of.
#pragma once

#include <optional>

#include "ir/expr.h"

namespace tcc::sched {

// A score as a value and a condition: -inf where the condition does not hold.
struct MaskedScore {
  ir::Expr value;
  ir::Expr seen;  // null: each query sees each key
};

inline bool is_call(const ir::Expr& e, ir::Fn fn) {
  return e->kind == ir::ExprNode::Kind::call && e->fn == fn;
}

// Takes the conditions off a score: select(seen, x, -inf), under scales and beside what is added.
// A score that is NaN or +inf before a mask is added to it counts as masked, too.
MaskedScore take_masks_off(const ir::Expr& score);

// The c of value = c * raw, where that is all that the value is.
std::optional<double> factor_of(const ir::Expr& value, const ir::Variable& raw);

// Keys as bounds: [first, end) holds all that any of some queries sees, and each of them sees all
// of [inside_first, inside_end), which may be empty.
struct KeyRange {
  ir::SymInt first, end, inside_first, inside_end;
};

// The queries `first_query` to `last_query`; `query` and `key` are the axes of the condition, and
// the bounds are expressions of its other axes. Comparisons of sums of multiples of the axes, and
// of numbers that depend on neither query nor key, give bounds; other conditions give all keys.
KeyRange keys_seen(const ir::Expr& seen, const ir::SymInt& query, const ir::SymInt& key,
                   const ir::SymInt& first_query, const ir::SymInt& last_query,
                   const ir::SymInt& keys);

// The keys of one query: the bounds are expressions of `query`, too. Numbers that depend on the
// query in any way, as loaded ones, give bounds here.
KeyRange keys_seen(const ir::Expr& seen, const ir::SymInt& query, const ir::SymInt& key,
                   const ir::SymInt& keys);
// Whether conditions give bounds for one query that give none for several.
bool bounds_depend_on_queries(const ir::Expr& seen, const ir::SymInt& query, const ir::SymInt& key,
                              const ir::SymInt& keys);

}  // namespace tcc::sched
