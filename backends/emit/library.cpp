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
};

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

void require(const Section& section, std::set<const Section*>& done, std::string& text) {
  if (!done.insert(&section).second) return;
  for (const std::string& need : section.needs) {
    auto found = by_name().find(need);
    TCC_CHECK(found != by_name().end(), "device math section ", section.name, " needs unknown ",
              need);
    require(*found->second, done, text);
  }
  text += section.text;
}

}  // namespace

std::string library_sections(const std::set<std::string>& names) {
  std::set<const Section*> done;
  std::string text;
  for (const Section& section : sections())
    if (names.count(section.name)) require(section, done, text);
  return text;
}

std::set<std::string> sections_used(std::string_view text) {
  std::set<std::string> used;
  for (size_t at = text.find("tcc_"); at != std::string_view::npos;
       at = text.find("tcc_", at + 4)) {
    size_t end = at + 4;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
      ++end;
    std::string_view name = text.substr(at + 4, end - at - 4);
    if (by_name().find(name) != by_name().end()) used.emplace(name);
  }
  return used;
}

}  // namespace tcc::backends
