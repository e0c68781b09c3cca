#include "ir/tensor_rows.h"

#include <algorithm>

#include "support/error.h"

namespace tcc {

void copy_rows(const Tensor& from, Tensor& to, int dim) {
  const auto axis = static_cast<size_t>(dim);
  TCC_CHECK(from.dtype() == to.dtype() && from.shape().size() == to.shape().size(),
            "the types differ");
  int64_t outer = 1, inner = size_bytes(from.dtype());
  for (size_t d = 0; d < from.shape().size(); ++d) {
    if (d == axis) continue;
    TCC_CHECK(from.shape()[d] == to.shape()[d], "dim ", d, " differs");
    (d < axis ? outer : inner) *= from.shape()[d];
  }
  const int64_t a = from.shape().at(axis) * inner, b = to.shape()[axis] * inner;
  if (std::min(a, b) == 0) return;
  for (int64_t i = 0; i < outer; ++i)
    std::copy_n(from.data() + i * a, std::min(a, b), to.data() + i * b);
}

}  // namespace tcc
