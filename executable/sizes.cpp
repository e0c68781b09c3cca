#include "executable/sizes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "executable/executable.h"
#include "support/error.h"

namespace tcc::exec {

// Where the terms are, or could be.
size_t ExpressionValues::place_of(const SymInt::Term* terms) const {
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
  const size_t last = entries_.size() - 1;
  auto place = static_cast<size_t>((reinterpret_cast<uintptr_t>(terms) * kGolden) >> 32) & last;
  while (entries_[place].terms && entries_[place].terms != terms) place = (place + 1) & last;
  return place;
}

// Expressions may share terms and differ in the constant: the first one is known.
std::optional<int64_t> ExpressionValues::find(const SymInt& expression) const {
  if (entries_.empty()) return std::nullopt;
  const Entry& entry = entries_[place_of(expression.terms().data())];
  if (!entry.terms || entry.constant != expression.constant()) return std::nullopt;
  return entry.value;
}

void ExpressionValues::grow() {
  constexpr size_t kFirst = 256;
  const std::vector<Entry> before =
      std::exchange(entries_, std::vector<Entry>(std::max(kFirst, 2 * entries_.size())));
  for (const Entry& entry : before)
    if (entry.terms) entries_[place_of(entry.terms)] = entry;
}

void ExpressionValues::add(const SymInt& expression, int64_t value) {
  if (2 * (kept_.size() + 1) > entries_.size()) grow();
  const SymInt::Term* const terms = expression.terms().data();
  Entry& entry = entries_[place_of(terms)];
  if (entry.terms) return;
  entry = {terms, expression.constant(), value};
  kept_.push_back(expression);
}

std::unique_ptr<const LaunchNumbers>& ExpressionValues::launches_like(size_t number) {
  if (launches_.size() <= number) launches_.resize(number + 1);
  return launches_[number];
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
  put(expressions, numbers);
  return numbers;
}

void Sizes::put(std::span<const SymInt> expressions, std::vector<int64_t>& numbers) const {
  numbers.clear();
  numbers.reserve(expressions.size());
  for (const SymInt& expression : expressions) numbers.push_back(of(expression));
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

MapNumbers Sizes::of(const TensorMap& map) const {
  const size_t rank = map.dims.size();
  const Im2col& im2col = map.im2col;
  const size_t corners = map.kind == TensorMap::Kind::im2col ? rank - 2 : 0;
  TCC_CHECK(rank >= 1 && rank <= MapNumbers::kMostDims && map.strides.size() + 1 == rank &&
                (map.steps.empty() || map.steps.size() == rank) &&
                map.box.size() == (map.kind == TensorMap::Kind::tiled ? rank : 0) &&
                corners <= rank && im2col.lower.size() == corners && im2col.upper.size() == corners,
            map.name, ": a map of rank ", rank);
  MapNumbers numbers{.argument = map.argument,
                     .dtype = map.dtype,
                     .kind = map.kind,
                     .swizzle = map.swizzle,
                     .rank = static_cast<uint32_t>(rank),
                     .offset = of(map.offset),
                     .channels = im2col.channels,
                     .pixels = im2col.pixels};
  for (size_t i = 0; i < rank; ++i) {
    const int64_t dim = of(map.dims[i]);
    numbers.dims[i] = static_cast<uint64_t>(dim);
    if (i > 0) numbers.strides[i] = static_cast<uint64_t>(of(map.strides[i - 1]));
    numbers.steps[i] = map.steps.empty() ? 1 : static_cast<uint32_t>(map.steps[i]);
    if (!map.box.empty()) numbers.box[i] = static_cast<uint32_t>(box_side(map, i, dim));
  }
  std::ranges::copy(im2col.lower, numbers.lower.begin());
  std::ranges::copy(im2col.upper, numbers.upper.begin());
  return numbers;
}

const LaunchNumbers& Sizes::of(const KernelLaunch& launch, LaunchNumbers& own) const {
  const auto put_numbers = [&](LaunchNumbers& numbers) {
    numbers.grid = of(launch.grid);
    numbers.times = of(launch.times);
    numbers.arguments.clear();
    for (const Argument& argument : launch.arguments) {
      const auto* scalar = std::get_if<Scalar>(&argument);
      numbers.arguments.push_back(scalar ? static_cast<uint64_t>(of(scalar->value)) : 0);
    }
    numbers.maps.clear();
    for (const TensorMap& map : launch.maps) numbers.maps.push_back(of(map));
  };
  if (!known || launch.same_as < 0) {
    put_numbers(own);
    return own;
  }
  std::unique_ptr<const LaunchNumbers>& kept =
      known->launches_like(static_cast<size_t>(launch.same_as));
  if (!kept) {
    auto numbers = std::make_unique<LaunchNumbers>();
    put_numbers(*numbers);
    kept = std::move(numbers);
  }
  return *kept;
}

TensorMap Sizes::fixed(TensorMap map) const {
  map.offset = of(map.offset);
  for (SymInt& dim : map.dims) dim = of(dim);
  for (SymInt& stride : map.strides) stride = of(stride);
  return map;
}

std::vector<int64_t> fixed(std::span<const SymInt> expressions) {
  std::vector<int64_t> numbers;
  for (const SymInt& expression : expressions) numbers.push_back(expression.value());
  return numbers;
}

}  // namespace tcc::exec
