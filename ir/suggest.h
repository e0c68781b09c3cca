// Finds the nearest of a list of names, for "did you mean ...?".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tcc::ir {

// The candidate with the smallest edit distance (insert, delete, replace, swap of neighbours) to
// `name`, or "" when none is near enough to be meant: a third of the longer name's length, at
// least 1. Ties: the first.
std::string closest_name(std::string_view name, std::span<const std::string> candidates);

// "; did you mean 'dim'?", or "" when nothing is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);
// The same, or "; there are a, b, c" where nothing is near.
std::string or_known(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace tcc::ir
