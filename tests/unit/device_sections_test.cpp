// The sections of the device library (backends/device/common) name what they use.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/source_dir.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

// A kernel includes a section with its dependencies and nothing else: every name that a section
// uses must be its own, a prelude's or a dependency's.
struct Section {
  std::vector<std::string> deps;
  std::string text;
};

std::set<std::string> names_in(const std::string& text, const std::regex& pattern) {
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
    names.insert((*it)[1]);
  return names;
}

TEST(DeviceSections, NameWhatTheyUse) {
  const fs::path folder = testing::source_dir() / "backends/device/common";
  if (!fs::exists(folder)) GTEST_SKIP() << "no source tree";
  std::map<std::string, Section> sections;
  std::map<std::string, std::string> preludes;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    const std::string stem = entry.path().stem().string();
    Section* section = nullptr;
    for (std::string line; std::getline(file, line);) {
      if (stem.starts_with("prelude_")) {
        preludes[stem] += line + "\n";
      } else if (line.starts_with("//@ ")) {
        const size_t colon = line.find(':');
        ASSERT_NE(colon, std::string::npos) << line;
        const std::string name = line.substr(4, colon - 4);
        ASSERT_EQ(sections.count(name), 0u) << name << " twice";
        section = &sections[name];
        std::istringstream deps(line.substr(colon + 1));
        for (std::string dep; deps >> dep;) section->deps.push_back(dep);
      } else if (section) {
        EXPECT_LE(line.size(), 100u) << stem << ": " << line;
        section->text += line.substr(0, line.find("//")) + "\n";
      }
    }
  }
  ASSERT_GT(sections.size(), 150u);
  ASSERT_EQ(preludes.size(), 3u);

  const std::regex used(R"(\b((?:tcc|TCC)_\w+))"),
      defined(R"((?:TCC_FN \w+|struct|#define) (\w+))");
  const std::regex defined_by_prelude(R"((?:#define|TCC_FN \w+|u32) ((?:tcc|TCC)_\w+))");
  std::map<std::string, std::set<std::string>> prelude_names;
  for (const auto& [name, text] : preludes)
    prelude_names[name] = names_in(text, defined_by_prelude);
  for (const auto& [name, section] : sections) {
    std::set<std::string> visible, done;
    const auto add = [&](const auto& self, const std::string& dep) -> void {
      if (!done.insert(dep).second) return;
      ASSERT_EQ(sections.count(dep), 1u) << name << " needs unknown " << dep;
      for (const std::string& next : sections[dep].deps) self(self, next);
      visible.merge(names_in(sections[dep].text, defined));
    };
    add(add, name);
    for (const std::string& word : names_in(section.text, used)) {
      if (visible.count(word)) continue;
      const bool optional = section.text.find("#ifdef " + word) != std::string::npos;
      for (const auto& [prelude, words] : prelude_names)
        EXPECT_TRUE(words.count(word) || optional)
            << name << " uses " << word << ", unknown with " << prelude;
    }
  }
}

}  // namespace
}  // namespace tcc
