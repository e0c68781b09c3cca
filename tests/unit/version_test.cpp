// The commit in --version: from git, from an archive, or unknown, as cmake/write_version.cmake
// finds it.
#include "support/version.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/file.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

TEST(Version, HasTheCommitInParentheses) {
  const std::string commit(build_commit()), version(build_version());
  EXPECT_EQ(version, TCC_VERSION);
  EXPECT_EQ(version_text(), commit.empty() ? version : version + " (" + commit + ")");
}

class VersionScript : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::run_command("git --version; cmake --version").code != 0)
      GTEST_SKIP() << "needs git and cmake";
    folder_ = fs::path(::testing::TempDir()) / ("version_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "cmake");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void git(const std::string& command) const {
    const testing::Outcome outcome =
        testing::run_command("cd '" + folder_.string() +
                             "' && git -c user.name=t -c user.email=t@t " + command + " 2>&1");
    EXPECT_EQ(outcome.code, 0) << command << ": " << outcome.text;
  }
  // Gives what build_commit() returns in the source written for the folder `below` the test's.
  std::string commit(const std::string& below = "") const {
    const fs::path output = folder_ / "version.cpp";
    const std::string script = (testing::source_dir() / "cmake/write_version.cmake").string();
    const testing::Outcome outcome =
        testing::run_command("cmake -D VERSION=1.2.3 -D 'ROOT=" + (folder_ / below).string() +
                             "' -D 'OUTPUT=" + output.string() + "' -P '" + script + "' 2>&1");
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    const std::string text = read_file(output), before = "build_commit() { return \"";
    EXPECT_NE(text.find("build_version() { return \"1.2.3\""), std::string::npos) << text;
    const size_t begin = text.find(before) + before.size();
    return text.substr(begin, text.find('"', begin) - begin);
  }
  void write(const std::string& name, const std::string& text) const {
    write_file_atomic(folder_ / name, text);
  }

  fs::path folder_;
};

TEST_F(VersionScript, IsEmptyWhereNothingIsKnown) {
  EXPECT_EQ(commit(), "");
  write("cmake/commit.txt", "$Format:%h$\n");  // not substituted
  EXPECT_EQ(commit(), "");
}

TEST_F(VersionScript, ReadsArchives) {
  write("cmake/commit.txt", "0123abc\n");
  EXPECT_EQ(commit(), "0123abc");
  write("cmake/commit.txt", "\"); int x = (\"\n");
  EXPECT_EQ(commit(), "");
}

TEST_F(VersionScript, AsksGitAndMarksChangedTrees) {
  git("init -q .");
  write("file", "1");
  write("cmake/commit.txt", "$Format:%h$\n");
  git("add file cmake");
  git("commit -q -m first");
  const std::string first = commit();
  EXPECT_GE(first.size(), 7u);
  EXPECT_EQ(first.find_first_not_of("0123456789abcdef"), std::string::npos) << first;
  write("untracked", "1");
  EXPECT_EQ(commit(), first);
  write("file", "2");
  EXPECT_EQ(commit(), first + "-dirty");
  git("tag v1");  // a tag is no commit
  git("commit -q -a -m second");
  EXPECT_NE(commit(), first);
  EXPECT_EQ(commit().find('-'), std::string::npos) << commit();
  fs::create_directories(folder_ / "unpacked");  // sources inside another project
  EXPECT_EQ(commit("unpacked"), "");
}

TEST_F(VersionScript, LeavesTheFileAloneWhereNothingChanged) {
  commit();
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(folder_ / "version.cpp", old);
  commit();
  EXPECT_EQ(fs::last_write_time(folder_ / "version.cpp"), old);
}

}  // namespace
}  // namespace tcc
