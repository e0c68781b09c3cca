#include "ir/ops/_indexing.h"

#include <algorithm>

#include "support/error.h"

namespace tcc::ir::ops {

void require_index(const InferContext& context, std::string_view operand, DType dtype) {
  context.require(dtype == DType::i32 || dtype == DType::i64,
                  str(operand, " must be i32 or i64, not ", name(dtype)));
}

void require_covered(const InferContext& context, std::string_view inner_name, const Shape& inner,
                     std::string_view outer_name, const Shape& outer, int except) {
  bool covered = inner.size() == outer.size();
  for (size_t d = 0; covered && d < inner.size(); ++d)
    covered = static_cast<int>(d) == except || (inner[d] - outer[d]).range().lo <= 0;
  context.require(covered, str(inner_name, " of shape ", shape_text(inner), " does not lie within ",
                               outer_name, " of shape ", shape_text(outer)));
}

void require_not_empty(const InferContext& context, const Shape& x, int dim, const Shape& indices) {
  const bool chooses = !product(indices).is(0);
  context.require(!chooses || !x[static_cast<size_t>(dim)].is(0),
                  str("dim ", dim, " of ", shape_text(x), " has nothing to index"));
}

int64_t place(int64_t index, int64_t extent) {
  return std::clamp<int64_t>(index < 0 ? index + extent : index, 0, extent - 1);
}

}  // namespace tcc::ir::ops
