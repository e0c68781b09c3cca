#include "executable/sizes.h"

#include <limits>

#include "support/error.h"

namespace tcc::exec {

// Expressions may share terms and differ in the constant.
std::optional<int64_t> ExpressionValues::find(const SymInt& expression) const {
  const auto found = known_.find(expression.terms().data());
  if (found == known_.end() || found->second.expression.constant() != expression.constant())
    return std::nullopt;
  return found->second.value;
}

void ExpressionValues::add(const SymInt& expression, int64_t value) {
  known_.try_emplace(expression.terms().data(), Known{expression, value});
}

int64_t Sizes::of(const SymInt& expression) const {
  if (expression.is_const()) return expression.value();
  if (known)
    if (const std::optional<int64_t> value = known->find(expression)) return *value;
  const int64_t value = expression.evaluate([&](const ir::Atom& atom) -> std::optional<int64_t> {
    const auto found = values.find(atom.name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
  if (known) known->add(expression, value);
  return value;
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
  TensorMap numbers;
  put(map, numbers);
  return numbers;
}

void Sizes::put(const TensorMap& map, TensorMap& numbers) const {
  numbers = map;
  numbers.offset = of(map.offset);
  for (SymInt& dim : numbers.dims) dim = of(dim);
  for (SymInt& stride : numbers.strides) stride = of(stride);
}

std::vector<int64_t> fixed(std::span<const SymInt> expressions) {
  std::vector<int64_t> numbers;
  for (const SymInt& expression : expressions) numbers.push_back(expression.value());
  return numbers;
}

}  // namespace tcc::exec
