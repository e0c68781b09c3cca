#include "ir/deciding_extent.h"

#include <span>

#include "support/checked.h"

namespace tcc::ir {

std::optional<int64_t> DecidingExtent::value(int64_t size) const {
  const std::optional<int64_t> rest = checked_add(size, -constant);
  if (!rest || *rest < 0 || *rest % factor != 0) return std::nullopt;
  return *rest / factor;
}

std::optional<DecidingExtent> deciding_extent(const SymInt& extent) {
  const std::span<const SymInt::Term> terms = extent.terms();
  if (terms.size() != 1 || terms[0].atoms.size() != 1 || terms[0].coefficient < 1)
    return std::nullopt;
  const Atom& atom = *terms[0].atoms[0];
  if (atom.kind != Atom::Kind::symbol) return std::nullopt;
  return DecidingExtent{atom.name, terms[0].coefficient, extent.constant()};
}

}  // namespace tcc::ir
