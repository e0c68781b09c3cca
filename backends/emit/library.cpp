#include "backends/emit/library.h"

#include <cctype>
#include <map>
#include <sstream>
#include <vector>

#include "backends/device_source.h"
#include "support/error.h"

namespace tcc::backends {
namespace {

struct Section {
  std::string name, text;
  std::vector<std::string> needs;
  bool int64 = false;
};

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Calls `use` for each word: what a C identifier may be made of.
template <class Use>
void each_word(std::string_view text, const Use& use) {
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_part_of_name(text[end])) ++end;
    if (end > at) use(text.substr(at, end - at));
    at = end + 1;
  }
}

bool is_wide(std::string_view word) { return word == "i64" || word == "u64"; }

const std::vector<Section>& sections() {
  static const std::vector<Section> all = [] {
    std::vector<Section> result;
    for (std::string_view path : device_source_paths()) {
      if (!path.starts_with("common/") || path.find("prelude") != std::string_view::npos) continue;
      std::istringstream lines(device_source(path));
      std::string line;
      bool inside = false;
      while (std::getline(lines, line)) {
        if (line.starts_with("//@ ")) {
          size_t colon = line.find(':');
          TCC_CHECK(colon != std::string::npos, path, ": a section marker without a colon: ", line);
          Section section{line.substr(4, colon - 4), "", {}};
          std::istringstream needs(line.substr(colon + 1));
          for (std::string need; needs >> need;) section.needs.push_back(need);
          result.push_back(std::move(section));
          inside = true;
        } else if (inside) {
          result.back().text += line + "\n";
          each_word(line, [&](std::string_view word) { result.back().int64 |= is_wide(word); });
        }
      }
    }
    return result;
  }();
  return all;
}

const std::map<std::string, const Section*, std::less<>>& by_name() {
  static const auto index = [] {
    std::map<std::string, const Section*, std::less<>> result;
    for (const Section& section : sections()) result[section.name] = &section;
    return result;
  }();
  return index;
}

void require(const Section& section, std::set<const Section*>& done, LibraryText& library) {
  if (!done.insert(&section).second) return;
  for (const std::string& need : section.needs) {
    auto found = by_name().find(need);
    TCC_CHECK(found != by_name().end(), "device math section ", section.name, " needs unknown ",
              need);
    require(*found->second, done, library);
  }
  library.text += section.text;
  library.int64 |= section.int64;
}

}  // namespace

LibraryText library_sections(const std::set<std::string>& names) {
  std::set<const Section*> done;
  LibraryText library;
  for (const Section& section : sections())
    if (names.count(section.name)) require(section, done, library);
  return library;
}

TextFacts facts_of_text(std::string_view text) {
  constexpr std::string_view kPrefix = "tcc_";
  TextFacts facts;
  each_word(text, [&](std::string_view word) {
    facts.int64 |= is_wide(word);
    if (!word.starts_with(kPrefix)) return;
    const std::string_view name = word.substr(kPrefix.size());
    if (by_name().find(name) != by_name().end()) facts.functions.emplace(name);
  });
  return facts;
}

}  // namespace tcc::backends
