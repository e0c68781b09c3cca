// The attention operators share these functions for heads, masks and rotary positions.
#pragma once

#include "frontend/onnx/op_node.h"

namespace tcc::onnx {

// [B, S, heads * D] as [B, heads, S, D], and back.
Value* split_heads(OpNode& n, Value* x, int64_t heads);
Value* merge_heads(OpNode& n, Value* x);

// 0, 1, ..., count - 1 as i64, and the same from a count of `dims` on.
Value* positions(OpNode& n, const SymInt& count);
Value* positions_from(OpNode& n, const SymInt& first, const SymInt& count);

struct AttentionParts {
  Value *query, *key, *value;  // [B, heads, S or T, D]
  Value* visible = nullptr;    // bool: which keys a query sees; all others have no weight
  Value* added = nullptr;      // to the scaled scores
  double scale = 0;            // 0: 1 / sqrt(D)
  bool grouped = false;        // several query heads share one of key and value
};
// Returns keys or values of a past, followed by the new ones, [B, heads, length, D]; the past may
// be null.
Value* behind(OpNode& n, Value* past, Value* x);

// [B, S, heads * D of value].
Value* attend(OpNode& n, const AttentionParts& parts);

// Imports com.microsoft's Attention after its projection [B, S, all columns], with the node's
// attributes; the other operands may be null. Returns the result and, where it is wanted, the
// present.
Results attention_of_projection(OpNode& n, Value* all, Value* padding, Value* past, Value* added);

// bool [rows, first + rows or more]: row r sees the columns up to first + r.
Value* causal_keys(OpNode& n, const SymInt& rows, const SymInt& columns, const SymInt& first);
// 0 where `visible` holds, `hidden` elsewhere.
Value* added_mask(OpNode& n, Value* visible, double hidden);
// Returns the sum of two masks; either may be null.
Value* sum_of(OpNode& n, Value* a, Value* b);

// Returns x [B, heads, S, D] rotated in its first 2 * columns(cos) dims by the angles of the
// positions ([S], or [B, S]); pairs are neighbours where they are interleaved, else half the dims
// apart.
Value* rotate(OpNode& n, Value* x, Value* positions, Value* cos, Value* sin, bool interleaved);
// Does the same with the angles of every token: cos and sin [(B,) S, half the rotated size].
Value* rotate_by(OpNode& n, Value* x, Value* cos, Value* sin, bool interleaved);

}  // namespace tcc::onnx
