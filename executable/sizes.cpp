#include "executable/sizes.h"

#include <limits>

#include "support/error.h"

namespace tcc::exec {

int64_t Sizes::of(const SymInt& expression) const {
  if (expression.is_const()) return expression.value();
  return expression.evaluate([&](const ir::Atom& atom) -> std::optional<int64_t> {
    const auto found = values.find(atom.name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
}

std::vector<int64_t> Sizes::of(std::span<const SymInt> expressions) const {
  std::vector<int64_t> numbers;
  for (const SymInt& expression : expressions) numbers.push_back(of(expression));
  return numbers;
}

std::array<uint32_t, 3> Sizes::of(const Grid& grid) const {
  std::array<uint32_t, 3> numbers{};
  for (size_t i = 0; i < 3; ++i) {
    const int64_t number = of(grid[i]);
    if (number < 0 || number > std::numeric_limits<uint32_t>::max())
      fail_input("a grid of ", grid[i].to_string(), " = ", number, " workgroups");
    numbers[i] = static_cast<uint32_t>(number);
  }
  return numbers;
}

TensorMap Sizes::of(const TensorMap& map) const {
  TensorMap numbers = map;
  numbers.offset = of(map.offset);
  for (SymInt& dim : numbers.dims) dim = of(dim);
  for (SymInt& stride : numbers.strides) stride = of(stride);
  return numbers;
}

std::vector<int64_t> fixed(std::span<const SymInt> expressions) {
  std::vector<int64_t> numbers;
  for (const SymInt& expression : expressions) numbers.push_back(expression.value());
  return numbers;
}

}  // namespace tcc::exec
