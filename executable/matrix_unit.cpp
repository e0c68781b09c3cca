#include "executable/matrix_unit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "support/error.h"

namespace tcc::exec {
namespace {

constexpr int kMostSide = 4096, kMostSum = 1 << 30;

// Made before the first registration, whichever file that is in.
std::vector<std::string>& registered_kinds() {
  static std::vector<std::string> kinds;
  return kinds;
}

std::optional<int> count(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && value >= 1 && value <= most ? std::optional(value) : std::nullopt;
}

// "16x8x32".
bool read_shape(const std::string& text, MatrixUnit& unit) {
  std::istringstream parts(text);
  for (int* to : {&unit.m, &unit.n, &unit.k}) {
    std::string part;
    std::getline(parts, part, 'x');
    const std::optional<int> value = count(part, kMostSide);
    if (!value) return false;
    *to = *value;
  }
  return parts.eof() || parts.peek() == std::char_traits<char>::eof();
}

bool read_count(std::istringstream& words, int most, int& to) {
  std::string word;
  words >> word;
  to = count(word, most).value_or(0);
  return to > 0;
}

bool read_option(const std::string& word, std::istringstream& words, MatrixUnit& unit) {
  if (word == "subgroups4") {
    unit.scope = MatrixUnit::Scope::subgroups4;
  } else if (word == "workgroup") {
    unit.scope = MatrixUnit::Scope::workgroup;
  } else if (word == "saturating") {
    unit.saturating = true;
  } else if (word == "along-k") {
    unit.lines_along_k = true;
  } else if (word == "step") {
    return read_count(words, kMostSide, unit.n_step);
  } else if (word == "exact") {
    return read_count(words, kMostSum, unit.exact_sum);
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string to_string(const MatrixUnit& unit) {
  std::string text = str(unit.kind, " ", unit.m, "x", unit.n, "x", unit.k);
  for (const DType dtype : {unit.a, unit.b, unit.c, unit.d}) text += str(" ", name(dtype));
  if (unit.scope == MatrixUnit::Scope::subgroups4) text += " subgroups4";
  if (unit.scope == MatrixUnit::Scope::workgroup) text += " workgroup";
  if (unit.n_step > 0) text += str(" step ", unit.n_step);
  if (unit.saturating) text += " saturating";
  if (unit.lines_along_k) text += " along-k";
  if (unit.exact_sum > 0) text += str(" exact ", unit.exact_sum);
  return text;
}

std::optional<MatrixUnit> parse_matrix_unit(std::string_view text) {
  std::istringstream words{std::string(text)};
  MatrixUnit unit;
  std::string word;
  if (!(words >> unit.kind >> word) || !read_shape(word, unit)) return std::nullopt;
  for (DType* to : {&unit.a, &unit.b, &unit.c, &unit.d}) {
    word.clear();
    words >> word;
    const std::optional<DType> dtype = parse_dtype(word);
    if (!dtype) return std::nullopt;
    *to = *dtype;
  }
  while (words >> word)
    if (!read_option(word, words, unit)) return std::nullopt;
  return unit;
}

std::vector<std::string> kinds_of(const std::vector<MatrixUnit>& units) {
  std::vector<std::string> kinds;
  for (const MatrixUnit& unit : units)
    if (std::find(kinds.begin(), kinds.end(), unit.kind) == kinds.end()) kinds.push_back(unit.kind);
  return kinds;
}

std::vector<MatrixUnit> units_of_kinds(std::vector<MatrixUnit> units,
                                       const std::set<std::string, std::less<>>& kinds) {
  std::erase_if(units, [&](const MatrixUnit& unit) { return !kinds.contains(unit.kind); });
  return units;
}

RegisterMatrixUnits::RegisterMatrixUnits(std::initializer_list<const char*> kinds) {
  registered_kinds().insert(registered_kinds().end(), kinds.begin(), kinds.end());
}

std::vector<MatrixUnit> allowed_matrix_units(std::vector<MatrixUnit> units) {
  const char* text = std::getenv("TCC_MATRIX_UNITS");
  if (!text) return units;
  std::set<std::string, std::less<>> allowed;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) allowed.insert(word);
  for (const std::string& word : allowed)
    if (!word.empty() && word != "none" &&
        std::ranges::find(registered_kinds(), word) == registered_kinds().end()) {
      std::string kinds;
      for (const std::string& kind : registered_kinds()) kinds += kind + ", ";
      fail_input("TCC_MATRIX_UNITS: no matrix unit '", word, "'; there are ", kinds, "and none");
    }
  return units_of_kinds(std::move(units), allowed);
}

}  // namespace tcc::exec
