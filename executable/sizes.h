// The values of a program's symbols: what its expressions are evaluated with, once, when it is
// bound. A number is the expression of no symbol.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "executable/tensor_map.h"
#include "ir/symint.h"

namespace tcc::exec {

using ir::SymInt;

using Grid = std::array<SymInt, 3>;  // workgroups

// Work, as operations or bytes, of which sizes decide the count.
struct Amount {
  double factor = 0;
  SymInt count = 1;

  Amount() = default;
  Amount(double of_all_sizes) : factor(of_all_sizes) {}
  Amount(double each, SymInt number) : factor(each), count(std::move(number)) {}
  double usual() const { return factor * static_cast<double>(count.usual()); }
};

// The numbers of expressions at some sizes, by their terms: executables have a few expressions,
// each many times (share_expressions()).
class ExpressionValues {
 public:
  std::optional<int64_t> find(const SymInt& expression) const;
  void add(const SymInt& expression, int64_t value);

 private:
  struct Known {
    SymInt expression;  // keeps its terms: no address comes twice
    int64_t value;
  };
  std::unordered_map<const SymInt::Term*, Known> known_;
};

struct Sizes {
  std::map<std::string, int64_t, std::less<>> values = {};
  // Where there is one, expressions are evaluated once. `values` must stay as they are then, and
  // one thread at a time may ask.
  std::shared_ptr<ExpressionValues> known = nullptr;

  // Throws Error(bad_input) for a symbol without a value and where the number overflows.
  int64_t of(const SymInt& expression) const;
  std::vector<int64_t> of(std::span<const SymInt> expressions) const;
  double of(const Amount& amount) const {
    return amount.factor * static_cast<double>(of(amount.count));
  }
  // Throws Error(bad_input) for a dim below 0 or beyond 32 bits, too.
  std::array<uint32_t, 3> of(const Grid& grid) const;
  TensorMap of(const TensorMap& map) const;
  // Does the same in `numbers`, whose memory is used again.
  void put(const TensorMap& map, TensorMap& numbers) const;
};

// The numbers of expressions without symbols; TCC_CHECKs that they are.
std::vector<int64_t> fixed(std::span<const SymInt> expressions);

}  // namespace tcc::exec
