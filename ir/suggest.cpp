#include "ir/suggest.h"

#include <algorithm>
#include <vector>

namespace tcc::ir {
namespace {

// Names from files may be of any length; nothing longer than this is a typing mistake worth the
// square of it.
constexpr size_t kLongestName = 64;

// Optimal string alignment (Damerau-Levenshtein without edits inside a swapped pair).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> two_up(b.size() + 1), up(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    two_up.swap(up);
    up.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({up[j] + 1, row[j - 1] + 1, up[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_up[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string closest_name(std::string_view name, std::span<const std::string> candidates) {
  if (name.empty() || name.size() > kLongestName) return "";
  const std::string* best = nullptr;
  size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const size_t longer = std::max(name.size(), candidate.size());
    if (longer > kLongestName) continue;
    const size_t distance = edit_distance(name, candidate);
    if (distance > std::max<size_t>(longer / 3, 1) || distance >= longer) continue;
    if (best && distance >= best_distance) continue;
    best = &candidate;
    best_distance = distance;
  }
  return best ? *best : "";
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string near = closest_name(name, candidates);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

std::string or_known(std::string_view name, const std::vector<std::string>& candidates) {
  if (std::string near = did_you_mean(name, candidates); !near.empty()) return near;
  std::string list;
  for (const std::string& candidate : candidates) list += (list.empty() ? "" : ", ") + candidate;
  return list.empty() ? "; there are none" : "; there are " + list;
}

}  // namespace tcc::ir
