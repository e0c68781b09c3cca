// Tensors that differ in the size of one dim, as the values of a state that grows do.
#pragma once

#include "ir/tensor.h"

namespace tcc {

// Copies the elements at the indices that both have. The dims other than `dim` are equal.
void copy_rows(const Tensor& from, Tensor& to, int dim);

}  // namespace tcc
