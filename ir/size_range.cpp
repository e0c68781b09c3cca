#include "ir/size_range.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "support/checked.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

constexpr std::string_view kForms =
    "must be NAME=NUMBER, NAME=LEAST..MOST, NAME=LEAST..MOST:MULTIPLE, NAME=free or an expression "
    "of other dims";

// A number that is not negative.
int64_t number_of(std::string_view text, const std::string& said, std::string_view forms) {
  int64_t value = -1;
  const char* end = text.data() + text.size();
  const std::from_chars_result parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec == std::errc::result_out_of_range) fail_input(said, ": is too large");
  if (parsed.ec != std::errc() || parsed.ptr != end || value < 0) fail_input(said, ": ", forms);
  return value;
}

int64_t size_of(std::string_view text, const std::string& said) {
  const int64_t value = number_of(text, said, kForms);
  if (value > kMostSize) fail_input(said, ": ", value, " is not below 2^31");
  return value;
}

SizeRange range_of(std::string_view text, const std::string& said) {
  SizeRange range;
  if (text == "free") return range;
  if (const size_t colon = text.find(':'); colon != text.npos) {
    range.multiple = size_of(text.substr(colon + 1), said);
    if (range.multiple == 0) fail_input(said, ": the multiple is 0");
    text = text.substr(0, colon);
  }
  const size_t dots = text.find("..");
  const int64_t least = size_of(text.substr(0, dots), said);
  const int64_t most = size_of(text.substr(dots + 2), said);
  if (least > most) fail_input(said, ": ", least, " is more than ", most);
  range.least = round_up(least, range.multiple);
  range.most = most / range.multiple * range.multiple;
  if (range.least > range.most)
    fail_input(said, ": no multiple of ", range.multiple, " is between ", least, " and ", most);
  return range;
}

SymInt expression_of(std::string_view text, const std::string& said) {
  try {
    return parse_symint(text);
  } catch (const Error& error) { fail_input(said, ": ", kForms, " (", error.what(), ")"); }
}

// NAME of NAME=...; `text` is what follows.
std::string name_of(std::string_view& text, const std::string& said, std::string_view forms) {
  const size_t equal = text.find('=');
  if (equal == text.npos || equal == 0) fail_input(said, ": ", forms);
  std::string name(text.substr(0, equal));
  text = text.substr(equal + 1);
  return name;
}

}  // namespace

std::string SizeRange::why_not(int64_t size) const {
  if (size < least) return str("is below ", least);
  if (size > most) return most == kMostSize ? "is not below 2^31" : str("is above ", most);
  return size % multiple == 0 ? "" : str("is no multiple of ", multiple);
}

std::string SizeRange::to_string() const {
  if (*this == SizeRange()) return "free";
  return str(least, "..", most, multiple > 1 ? str(":", multiple) : "");
}

std::optional<int64_t> SizeRange::usual() const {
  if (most / multiple == kMostSize / multiple) return std::nullopt;
  const double low = static_cast<double>(std::max(least, multiple)),
               high = static_cast<double>(std::max(most, multiple));
  const auto middle = static_cast<int64_t>(std::llround(std::sqrt(low * high)));
  return std::clamp(middle / multiple * multiple, least, most);
}

DimOption parse_dim(std::string_view text, const std::string& said) {
  DimOption dim;
  dim.name = name_of(text, said, kForms);
  if (text == "free" || text.find("..") != text.npos)
    dim.range = range_of(text, said);
  else if (std::ranges::any_of(text, [](char c) { return std::isalpha(c) || c == '_'; }))
    dim.expression = expression_of(text, said);
  else
    dim.number = number_of(text, said, kForms);
  return dim;
}

std::pair<std::string, std::vector<int64_t>> parse_sizes(std::string_view text,
                                                         const std::string& said) {
  constexpr std::string_view kList = "must be NAME=NUMBER or NAME=NUMBER,NUMBER,...";
  std::string name = name_of(text, said, kList);
  std::vector<int64_t> sizes;
  for (;;) {
    const size_t comma = text.find(',');
    sizes.push_back(number_of(text.substr(0, comma), said, kList));
    if (std::count(sizes.begin(), sizes.end(), sizes.back()) > 1)
      fail_input(said, ": ", sizes.back(), " is given twice");
    if (comma == text.npos) return {std::move(name), std::move(sizes)};
    text = text.substr(comma + 1);
  }
}

std::string symbol_name(const std::string& dim, const SizeRange& range) {
  return range.multiple == 1 ? dim : str(dim, "_by_", range.multiple);
}

SymInt known_multiple(std::string name, Interval range, int64_t usual, int64_t multiple) {
  return floordiv(bounded_symbol(std::move(name), range, usual), multiple) * multiple;
}

SymInt open_size(const std::string& dim, const SizeRange& range, int64_t usual) {
  const int64_t m = range.multiple;
  return bounded_symbol(symbol_name(dim, range), {range.least / m, range.most / m}, usual / m) * m;
}

}  // namespace tcc::ir
