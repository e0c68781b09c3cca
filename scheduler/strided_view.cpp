#include "scheduler/strided_view.h"

#include <algorithm>

#include "ir/sizes.h"
#include "scheduler/index_range.h"
#include "scheduler/inline.h"

namespace tcc::sched {

OrRefusal<StridedView> strided_view(const Region& region, const ir::Value* value) {
  const ir::Shape& shape = value->shape();
  std::vector<SymInt> index;
  for (const SymInt& dim : shape) index.push_back(SymInt::axis("i", dim));
  Inliner inliner(region);
  const Expr element = inliner.value_at(value, index);
  if (element->kind != ir::ExprNode::Kind::load) return Refusal{str(value->name, " is computed")};
  const SymInt& offset = element->index;
  const bool is_linear = std::ranges::all_of(offset.terms(), [](const auto& term) {
    return term.atoms.size() == 1 && term.atoms[0]->kind == ir::Atom::Kind::axis;
  });
  if (!is_linear)
    return Refusal{str(value->name, " does not lie in memory with one stride per dim")};
  StridedView view = {element->buffer, element->stored, offset.constant(), {}};
  for (size_t d = 0; d < shape.size(); ++d)
    view.strides.push_back(shape[d].is(0) || shape[d].is(1) ? 0 : coefficient(offset, index[d]));
  return view;
}

}  // namespace tcc::sched
