#include "ir/assumed_equal.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "support/error.h"

namespace tcc::ir {
namespace {

thread_local Assumptions* innermost_assumptions = nullptr;

using SymbolSizes = std::map<std::string, int64_t>;

// The symbol's least, largest and usual size, and one beside that.
std::vector<int64_t> tried_sizes(const Atom& symbol) {
  const auto [least, most] = symbol.range;
  return {least, most, std::clamp(symbol.usual, least, most),
          std::clamp(symbol.usual + 1, least, most)};
}

// Sizes at which the difference is not 0, of some that are tried; nothing where none is found.
std::optional<SymbolSizes> where_not_zero(const SymInt& difference) {
  std::vector<AtomPtr> symbols;
  difference.visit_atoms([&](const AtomPtr& atom) {
    if (atom->kind == Atom::Kind::symbol) symbols.push_back(atom);
  });
  SymbolSizes usual;
  for (const AtomPtr& symbol : symbols) {
    if (symbol->range.hi >= kUnbounded) return std::nullopt;
    usual[symbol->name] = tried_sizes(*symbol)[2];
  }
  std::vector<SymbolSizes> tried;
  for (const AtomPtr& symbol : symbols)
    for (const int64_t size : tried_sizes(*symbol)) {
      tried.push_back(usual);
      tried.back()[symbol->name] = size;
    }
  for (const SymbolSizes& sizes : tried) {
    try {
      const auto size_of = [&](const Atom& atom) { return std::optional(sizes.at(atom.name)); };
      if (difference.evaluate(size_of) != 0) return sizes;
    } catch (const Error&) {}  // the sizes overflow
  }
  return std::nullopt;
}

}  // namespace

void assume_equal(const SymInt& a, const SymInt& b) {
  if (innermost_assumptions) innermost_assumptions->pairs_.emplace_back(a, b);
}

Assumptions::Assumptions() : outer_(std::exchange(innermost_assumptions, this)) {}
Assumptions::~Assumptions() {
  innermost_assumptions = outer_;
  if (outer_) outer_->pairs_.insert(outer_->pairs_.end(), pairs_.begin(), pairs_.end());
}

std::string Assumptions::refusal() const {
  for (const auto& [a, b] : pairs_) {
    const auto sizes = where_not_zero(a - b);
    if (!sizes) continue;
    std::string text = str("takes ", a, " and ", b, " for equal, which they are not at ");
    bool is_first = true;
    for (const auto& [name, size] : *sizes) {
      text += str(is_first ? "" : ", ", name, " = ", size);
      is_first = false;
    }
    return text;
  }
  return "";
}

}  // namespace tcc::ir
