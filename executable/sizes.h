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

struct KernelLaunch;

// All of a launch that sizes decide but the places in its buffers.
struct LaunchNumbers {
  std::array<uint32_t, 3> grid{};
  int64_t times = 1;
  std::vector<uint64_t> arguments;  // a scalar's value; 0 for an address
  std::vector<MapNumbers> maps;
};

// The numbers of expressions at some sizes, by their terms: executables have a few expressions,
// each many times (share_expressions()). Those of launches are kept, too: layers have the same.
class ExpressionValues {
 public:
  std::optional<int64_t> find(const SymInt& expression) const;
  void add(const SymInt& expression, int64_t value);
  // Those of launches like that of step `number`; null: nobody has asked for them.
  std::unique_ptr<const LaunchNumbers>& launches_like(size_t number);

 private:
  // A table of open addressing, at most half full: it is asked some thousand times a plan.
  struct Entry {
    const SymInt::Term* terms = nullptr;
    int64_t constant = 0;
    int64_t value = 0;
  };
  size_t place_of(const SymInt::Term* terms) const;
  void grow();

  std::vector<Entry> entries_;
  std::vector<SymInt> kept_;  // keeps the terms: no address comes twice
  std::vector<std::unique_ptr<const LaunchNumbers>> launches_;
};

struct Sizes {
  std::map<std::string, int64_t, std::less<>> values = {};
  // Where there is one, expressions are evaluated once. `values` must stay as they are then, and
  // one thread at a time may ask.
  std::shared_ptr<ExpressionValues> known = nullptr;

  // Throws Error(bad_input) for a symbol without a value and where the number overflows.
  int64_t of(const SymInt& expression) const;
  std::vector<int64_t> of(std::span<const SymInt> expressions) const;
  // Does the same in `numbers`, whose memory is used again.
  void put(std::span<const SymInt> expressions, std::vector<int64_t>& numbers) const;
  double of(const Amount& amount) const {
    return amount.factor * static_cast<double>(of(amount.count));
  }
  // Throws Error(bad_input) for a dim below 0 or beyond 32 bits, too.
  std::array<uint32_t, 3> of(const Grid& grid) const;
  // TCC_CHECKs that lists are as long as the rank, which check(Executable) refuses with a message.
  MapNumbers of(const TensorMap& map) const;
  // Returns those of the launch, which are kept, or else are in `own`.
  const LaunchNumbers& of(const KernelLaunch& launch, LaunchNumbers& own) const;
  // The same map whose expressions are numbers.
  TensorMap fixed(TensorMap map) const;
};

// The numbers of expressions without symbols; TCC_CHECKs that they are.
std::vector<int64_t> fixed(std::span<const SymInt> expressions);

}  // namespace tcc::exec
