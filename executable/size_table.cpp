#include "executable/size_table.h"

#include <algorithm>

#include "support/error.h"

namespace tcc::exec {

int SizeTable::choice(const Sizes& sizes) const {
  const auto holds = [&](const SizeCondition& condition) {
    return std::ranges::all_of(condition, [&](const SizeBounds& bounds) {
      const int64_t number = sizes.of(bounds.number);
      return bounds.least <= number && number <= bounds.most;
    });
  };
  const auto found = std::ranges::find_if(
      conditions,
      [&](const std::vector<SizeCondition>& any_of) { return std::ranges::any_of(any_of, holds); });
  return static_cast<int>(found - conditions.begin());
}

bool may_meet(const SizeCondition& a, const SizeCondition& b) {
  return std::ranges::none_of(a, [&](const SizeBounds& one) {
    return std::ranges::any_of(b, [&](const SizeBounds& other) {
      return one.number == other.number && (one.most < other.least || other.most < one.least);
    });
  });
}

std::string to_string(const std::vector<SizeCondition>& any_of) {
  std::string text;
  for (const SizeCondition& condition : any_of)
    text += str(text.empty() ? "" : " or ", to_string(condition));
  return text.empty() ? "else" : text;
}

std::string to_string(const SizeCondition& condition) {
  std::string text;
  for (const auto& [number, least, most] : condition)
    text += str(text.empty() ? "" : ", ", number, least == most ? " = " : " in ", least,
                least == most ? "" : str("..", most));
  return text;
}

}  // namespace tcc::exec
