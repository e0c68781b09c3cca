// Documents that sources and documents cite are in the tree, and so are the files and headings that
// documents link to.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/source_dir.h"

namespace {

namespace fs = std::filesystem;

const std::set<std::string> folders = {"api",   "autotune",  "backends",   "bench",     "cmake",
                                       "docs",  "examples",  "executable", "frontend",  "include",
                                       "ir",    "packaging", "runtime",    "scheduler", "support",
                                       "tests", "tools",     "track"};
const std::set<std::string> endings = {".h",  ".hpp", ".cpp",  ".cu",    ".comp", ".inc",
                                       ".py", ".md",  ".yaml", ".cmake", ".txt"};

std::vector<fs::path> files() {
  std::vector<fs::path> result = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CMakeLists.txt"};
  for (const std::string& folder : folders)
    for (const auto& entry : fs::recursive_directory_iterator(tcc::testing::source_dir() / folder))
      if (entry.is_regular_file() && endings.contains(entry.path().extension().string()))
        result.push_back(fs::relative(entry.path(), tcc::testing::source_dir()));
  return result;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(tcc::testing::source_dir() / file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Calls found(match, "FILE:LINE") for every match of the pattern in the lines of the file.
template <class Found>
void each_match(const fs::path& file, const std::regex& pattern, const Found& found) {
  const std::vector<std::string> lines = lines_of(file);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].size() > 2000) continue;  // data, which std::regex would need much stack for
    for (std::sregex_iterator at(lines[i].begin(), lines[i].end(), pattern), end; at != end; ++at)
      found(*at, file.string() + ":" + std::to_string(i + 1));
  }
}

bool is_there(const fs::path& path) { return fs::exists(tcc::testing::source_dir() / path); }

// The anchors of a document's headings, as GitHub makes them.
std::set<std::string> anchors_of(const fs::path& document) {
  std::set<std::string> anchors;
  for (const std::string& line : lines_of(document)) {
    const size_t level = line.find_first_not_of('#');
    if (level == 0 || level == std::string::npos || line[level] != ' ') continue;
    std::string anchor;
    for (const char c : line.substr(level + 1)) {
      if (c == ' ') anchor += '-';
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_')
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    anchors.insert(anchor);
  }
  return anchors;
}

TEST(Documents, ThatAreCitedExist) {
  size_t cited = 0;
  for (const fs::path& file : files()) {
    each_match(file, std::regex(R"((^|[^\w/.-])(docs/[\w./-]*\w\.(md|json)))"),
               [&](const std::smatch& match, const std::string& place) {
                 ++cited;
                 EXPECT_TRUE(is_there(match[2].str())) << place << " cites " << match[2];
               });
    each_match(file, std::regex(R"([Dd]ecisions? \[?(\d{3})\b)"),
               [&](const std::smatch& match, const std::string& place) {
                 ++cited;
                 const auto all =
                     fs::directory_iterator(tcc::testing::source_dir() / "docs/decisions");
                 EXPECT_TRUE(std::any_of(begin(all), end(all),
                                         [&](const auto& entry) {
                                           return entry.path().filename().string().starts_with(
                                               match[1].str() + "-");
                                         }))
                     << place << " cites decision " << match[1];
               });
  }
  EXPECT_GT(cited, 100U);
}

TEST(Documents, LinkToFilesAndHeadingsThatExist) {
  size_t links = 0;
  for (const fs::path& file : files()) {
    if (file.extension() != ".md") continue;
    each_match(file, std::regex(R"(\]\(([^)\s#]*)(#([^)\s]*))?\))"),
               [&](const std::smatch& match, const std::string& place) {
                 if (match[1].str().find("://") != std::string::npos) return;
                 ++links;
                 const fs::path target =
                     match[1].length() == 0
                         ? file
                         : (file.parent_path() / match[1].str()).lexically_normal();
                 ASSERT_TRUE(is_there(target)) << place << " links to " << match[1];
                 if (match[3].matched && target.extension() == ".md") {
                   EXPECT_TRUE(anchors_of(target).contains(match[3].str()))
                       << place << " links to the heading " << match[0];
                 }
               });
  }
  EXPECT_GT(links, 50U);
}

}  // namespace
