#pragma once

#include "ir/graph.h"

namespace tcc::ir {

// Algebraic and no-op simplification, to a fixed point:
//   - views that change nothing are removed (reshape, permute, expand, slice, pad, flip, cat of
//     one, ...), chains of views become one (reshape of reshape, permute of permute, slice of
//     slice, ...), a permutation that only moves dims of extent 1 becomes a reshape, and a slice of
//     a `cat` reads the piece that it lies in;
//   - casts to the same dtype are removed, and a cast of an exact cast reads the original;
//   - x * 1, x / 1, x - 0, x + 0 (floats: only + -0.0), double negations, `where` with a constant
//     condition or equal branches, pow with the exponents 1 and 2 and division by a power of two
//     become something cheaper.
//
// Every rewrite is exact: it keeps each bit of a result, NaN payloads aside. Types do not change.
// Only constants whose value is known without loading (ConstantData::splat) and that are not
// mutable count as constants; run fold_constants before.
void simplify(Graph& graph);

}  // namespace tcc::ir
