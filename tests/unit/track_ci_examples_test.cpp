// examples/ci: every command of tcc-track in the workflows is one that the program has, with
// options that it has; the workflow for a repository of models is played.
#include <unistd.h>

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "support/error.h"
#include "support/file.h"
#include "tests/run_command.h"
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
    const std::regex commands("(?:^|[ /(\n])tcc-track ([a-z]+)([^\n]*)"),
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
  EXPECT_GE(files, 7u);
  EXPECT_EQ(used, (std::set<std::string>{"compare", "history", "run"}));
}

// A repository of models: a pull request's merge and its base.
class TrackModelsWorkflow : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / str("tcc-track-models-", ::getpid());
    fs::create_directories(folder_ / "clone");
    ASSERT_EQ(run("git init --quiet").code, 0);
  }
  void TearDown() override { fs::remove_all(folder_); }

  testing::Outcome run(const std::string& script) const {
    write_file_atomic(folder_ / "script", script);
    return testing::run_command(
        str("cd '", (folder_ / "clone").string(), "' && PATH='", testing::binary_dir().string(),
            "/bin':$PATH RUNNER_TEMP='", folder_.string(), "' STORE='", folder_.string(),
            "/store' BASE='", folder_.string(), "/base' SUITE=perf.yaml TARGET=vulkan ",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA=$(git rev-parse --quiet --verify HEAD^1) ",
            "bash -e -o pipefail ../script 2>&1"));
  }
  void commit(const std::string& nodes, bool with_suite = true) const {
    write_file_atomic(folder_ / "clone/model.yaml",
                      "tcc: 1\nname: model\ndims: {B: 8}\ninputs: {x: {dtype: f32, shape: [B, "
                      "64]}}\nnodes:\n" +
                          nodes + "outputs: [y]\n");
    if (with_suite)
      write_file_atomic(folder_ / "clone/perf.yaml", "suite: s\ncases: [{graph: model.yaml}]\n");
    const auto outcome =
        run("git add . && git -c user.name=n -c user.email=e@localhost commit --quiet -m c");
    ASSERT_EQ(outcome.code, 0) << outcome.text;
  }
  static std::string github() {
    const YAML::Node workflow = YAML::LoadFile(
        (testing::source_dir() / "examples/ci/github-actions/track-models.yml").string());
    std::string script;
    for (const auto& step : workflow["jobs"]["models"]["steps"])
      if (step["name"] &&
          (step["name"].Scalar() == "Count the base" || step["name"].Scalar() == "Judge the head"))
        script += "(\n" + step["run"].Scalar() + ")\n";
    return script;
  }
  static std::string gitlab() {
    const YAML::Node workflow = YAML::LoadFile(
        (testing::source_dir() / "examples/ci/gitlab/track-models.gitlab-ci.yml").string());
    std::string script;
    for (const auto& line : workflow["count-models"]["script"]) script += line.Scalar() + "\n";
    return script;
  }

  static constexpr const char* kOneKernel = "  - {out: y, op: softmax, in: [x], dim: -1}\n";
  static constexpr const char* kTwoKernels =
      "  - {out: a, op: softmax, in: [x], dim: -1}\n  - {out: y, op: softmax, in: [a], dim: 0}\n";
  fs::path folder_;
};

TEST_F(TrackModelsWorkflow, AModelThatTakesMoreFails) {
  commit(kOneKernel);
  commit(kTwoKernels);
  const auto outcome = run(github());
  EXPECT_EQ(outcome.code, 1) << outcome.text;
  EXPECT_NE(outcome.text.find("1 case: 1 worse"), std::string::npos) << outcome.text;
  const std::string text = read_file(folder_ / "clone/report/report.md");
  EXPECT_NE(text.find("launches | 1 | 2 |"), std::string::npos) << text;
}

TEST_F(TrackModelsWorkflow, AModelThatTakesTheSamePasses) {
  commit(kTwoKernels);
  commit(std::string(kTwoKernels) + "# no more than before\n");
  const auto outcome = run(gitlab());
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("1 case: 1 same"), std::string::npos) << outcome.text;
  const std::string text = read_file(folder_ / "clone/report/report.md");
  EXPECT_NE(text.find("\u2705"), std::string::npos) << text;
}

TEST_F(TrackModelsWorkflow, WithoutASuiteInTheBaseNothingIsJudged) {
  commit(kOneKernel, false);
  commit(kTwoKernels);
  for (const std::string& script : {github(), gitlab()}) {
    fs::remove_all(folder_ / "store");
    const auto outcome = run("git worktree prune; rm -rf '" + (folder_ / "base").string() +
                             "'; git worktree prune\n" + script);
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    EXPECT_NE(outcome.text.find("1 case: 1 not judged"), std::string::npos) << outcome.text;
    const std::string text = read_file(folder_ / "clone/report/report.md");
    EXPECT_NE(text.find("\u26aa"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tcc
