// Sizes of values.
#pragma once

#include <set>
#include <string>

#include "ir/graph.h"

namespace tcc::ir {

// The number of elements, an expression where a dim is open.
inline SymInt elements_of(const Value* value) { return product(value->shape()); }

// The number of elements, for estimates.
inline int64_t usual_numel(const Value* value) { return elements_of(value).usual(); }

// The number of elements; TCC_CHECKs that no dim is open.
inline int64_t numel(const Value* value) { return elements_of(value).value(); }

// The symbols of a shape.
inline std::set<std::string> open_dims(std::span<const SymInt> shape) {
  std::set<std::string> found;
  for (const SymInt& dim : shape)
    dim.visit_atoms([&](const AtomPtr& atom) {
      if (atom->kind == Atom::Kind::symbol) found.insert(atom->name);
    });
  return found;
}

}  // namespace tcc::ir
