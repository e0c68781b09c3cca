#include "executable/kernel_sizes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "support/error.h"

namespace tcc::exec {
namespace {

// The dim that the symbol stands for, over its multiple; null: no dim.
const OpenDim* dim_of(const Executable& executable, const ir::Atom& atom) {
  if (atom.kind != ir::Atom::Kind::symbol) return nullptr;
  const auto found = std::ranges::find(executable.dims, atom.name, &OpenDim::symbol);
  return found == executable.dims.end() ? nullptr : &*found;
}

// A product of dims: its bounds are those of its symbols times their multiples.
std::optional<DimBounds> product_bounds(const Executable& executable, const SizeBounds& bounds) {
  const auto terms = bounds.number.terms();
  if (terms.size() != 1 || bounds.number.constant() != 0 || terms[0].coefficient != 1) return {};
  DimBounds result{"", bounds.least, bounds.most};
  for (const ir::AtomPtr& atom : terms[0].atoms) {
    const OpenDim* dim = dim_of(executable, *atom);
    if (!dim || __builtin_mul_overflow(result.least, dim->range.multiple, &result.least) ||
        __builtin_mul_overflow(result.most, dim->range.multiple, &result.most))
      return {};
    result.size += (result.size.empty() ? "" : "*") + dim->name;
  }
  return result;
}

DimBounds in_dims(const Executable& executable, const SizeBounds& bounds) {
  if (const auto product = product_bounds(executable, bounds)) return *product;
  const SymInt number = bounds.number.substitute([&](const ir::AtomPtr& atom) {
    const OpenDim* dim = dim_of(executable, *atom);
    return dim ? std::optional(ir::floordiv(SymInt::symbol(dim->name), dim->range.multiple))
               : std::nullopt;
  });
  return {number.to_string(), bounds.least, bounds.most};
}

// The steps' choices, -1 of those that always run.
std::pair<int, int> key(const Chosen& chosen) {
  return {chosen.table, chosen.table < 0 ? 0 : chosen.choice};
}

}  // namespace

std::vector<std::vector<DimBounds>> bounds_of(const Executable& executable, const Chosen& chosen) {
  std::vector<std::vector<DimBounds>> any_of;
  if (chosen.table < 0) return any_of;
  const auto& conditions = executable.tables.at(static_cast<size_t>(chosen.table)).conditions;
  const auto choice = static_cast<size_t>(chosen.choice);
  if (choice >= conditions.size()) return any_of;
  for (const SizeCondition& condition : conditions[choice]) {
    std::vector<DimBounds>& all = any_of.emplace_back();
    for (const SizeBounds& bounds : condition) all.push_back(in_dims(executable, bounds));
  }
  return any_of;
}

std::string sizes_text(const Executable& executable, const Chosen& chosen) {
  if (chosen.table < 0) return "";
  std::string text;
  for (const std::vector<DimBounds>& all : bounds_of(executable, chosen)) {
    const char* separator = text.empty() ? "" : " or ";
    for (const auto& [size, least, most] : all) {
      text += str(separator, size, least == most ? " = " : " in ", least,
                  least == most ? "" : str("..", most));
      separator = ", ";
    }
  }
  return text.empty() ? "else" : text;
}

std::vector<Chosen> choices_of(const Executable& executable, size_t kernel) {
  std::map<std::pair<int, int>, Chosen> found;
  for (const KernelLaunch* launch : launches(executable)) {
    if (static_cast<size_t>(launch->kernel) != kernel) continue;
    if (launch->chosen.table < 0) return {};
    found.emplace(key(launch->chosen), launch->chosen);
  }
  std::vector<Chosen> all;
  for (const auto& [of, chosen] : found) all.push_back(chosen);
  return all;
}

std::vector<std::string> layers_of(const Executable& executable, size_t kernel) {
  std::vector<std::string> layers;
  std::map<int, int> first;  // choice by table
  for (const KernelLaunch* launch : launches(executable)) {
    if (static_cast<size_t>(launch->kernel) != kernel) continue;
    const Chosen& chosen = launch->chosen;
    if (chosen.table >= 0 &&
        first.try_emplace(chosen.table, chosen.choice).first->second != chosen.choice)
      continue;
    layers.insert(layers.end(), launch->layers.begin(), launch->layers.end());
  }
  return layers;
}

std::vector<int> launch_counts(const Executable& executable, std::span<const int> step_counts) {
  std::vector<int> counts(executable.kernels.size());
  for (size_t i = 0; i < executable.steps.size(); ++i)
    if (const auto* launch = std::get_if<KernelLaunch>(&executable.steps[i]))
      counts[static_cast<size_t>(launch->kernel)] += step_counts[i];
  return counts;
}

int most_launches(const Executable& executable, size_t kernel) {
  std::map<std::pair<int, int>, int> counts;
  for (const KernelLaunch* launch : launches(executable))
    if (static_cast<size_t>(launch->kernel) == kernel)
      counts[key(launch->chosen)] += static_cast<int>(launch->times.usual());
  std::map<int, int> most;  // by table
  for (const auto& [of, count] : counts) most[of.first] = std::max(most[of.first], count);
  int sum = 0;
  for (const auto& [table, count] : most) sum += count;
  return sum;
}

}  // namespace tcc::exec
