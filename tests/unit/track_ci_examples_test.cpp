// examples/ci: every command of tcc-track in the workflows is one that the program has, with
// options that it has.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "tests/source_dir.h"
#include "tools/track/compare.h"
#include "tools/track/history.h"
#include "tools/track/run.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

// Every text of a document: scripts stand in lists and members of many names.
void collect(const YAML::Node& node, std::string& texts) {
  if (node.IsScalar()) texts += node.Scalar() + "\n";
  for (const auto& entry : node)
    collect(node.IsMap() ? YAML::Node(entry.second) : YAML::Node(entry), texts);
}

std::string texts_of(const fs::path& file) {
  std::string texts;
  collect(YAML::LoadFile(file.string()), texts);
  return std::regex_replace(texts, std::regex("\\\\\n *"), " ");  // lines that go on
}

std::set<std::string> options_in(const std::string& text) {
  const std::regex pattern("--[a-z][a-z-]*");
  return {std::sregex_token_iterator(text.begin(), text.end(), pattern), {}};
}

TEST(TrackCiExamplesTest, CommandsAndOptionsExist) {
  CLI::App program;
  std::map<std::string, const CLI::App*> known;
  for (const auto& add : {tools::add_compare, tools::add_run, tools::add_history}) {
    const CLI::App* app = add(program).app;
    known[app->get_name()] = app;
  }
  size_t files = 0;
  std::set<std::string> used;
  for (const auto& entry :
       fs::recursive_directory_iterator(testing::source_dir() / "examples" / "ci")) {
    if (entry.path().extension() != ".yml") continue;
    ++files;
    const auto check = [&](const std::string& command, const std::string& words) {
      ASSERT_TRUE(known[command]) << entry.path() << ": tcc-track has no command " << command;
      used.insert(command);
      for (const std::string& option : options_in(words))
        EXPECT_TRUE(known[command]->get_option_no_throw(option))
            << entry.path() << ": tcc-track " << command << " has no " << option;
    };
    const std::string texts = texts_of(entry.path());
    const std::regex commands("bin/tcc-track ([a-z]+)([^\n]*)"),
        variables("(^|\n)(--(smallest|only)[^\n]*)");  // GitLab's JUDGED
    for (std::sregex_iterator match(texts.begin(), texts.end(), commands), end; match != end;
         ++match) {
      check((*match)[1].str(), (*match)[2].str());
      for (const CLI::Option* option : known[(*match)[1].str()]->get_options())
        if (option->get_required() && !option->get_lnames().empty()) {
          EXPECT_TRUE(options_in((*match)[2].str()).contains("--" + option->get_lnames().front()))
              << entry.path() << ": " << match->str() << " lacks " << option->get_name();
        }
    }
    for (std::sregex_iterator match(texts.begin(), texts.end(), variables), end; match != end;
         ++match)
      check("compare", (*match)[2].str());
  }
  EXPECT_GE(files, 5u);
  EXPECT_EQ(used, (std::set<std::string>{"compare", "history", "run"}));
}

}  // namespace
}  // namespace tcc
