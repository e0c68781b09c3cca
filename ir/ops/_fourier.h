// Discrete Fourier transforms as matrix products. A complex number is a trailing dim of 2, a real
// one a trailing dim of 1.
#pragma once

#include "ir/builder.h"

namespace tcc::ir::ops {

struct Fourier {
  int64_t length = 1;    // of the transform; shorter inputs count as padded with zeros
  int64_t outputs = 1;   // the first ones of its `length` results
  bool inverse = false;  // without the factor 1 / length, which is `scale`'s business
  double scale = 1;
};

// Returns whether a transform of `length` is one product with its matrix.
bool is_direct(int64_t length);

// x [rows, n, 1 or 2] with constant n <= length, in a compute dtype, to [rows, outputs, 2].
//
// One product with a length x length matrix, or, from a length of 256 on that is the product of two
// numbers, about as many transforms of each of those lengths (Cooley and Tukey): n^2 against
// n (n1 + n2) multiplications, and again inside. A large prime length pays the full price, and
// keeps a matrix of 16 n^2 bytes.
Value* fourier(Builder& b, Value* x, const Fourier& f);

}  // namespace tcc::ir::ops
