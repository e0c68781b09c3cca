// The store of tcc-track: what is written is read back, by both kinds of store, whatever was
// killed, damaged or full.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "support/error.h"
#include "support/file.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"
#include "tests/unit/json_schema.h"
#include "tools/track/read_runs.h"
#include "tools/track/run_file.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

TrackedRun header(const std::string& date = "2026-11-22T12:31:05Z") {
  TrackedRun run{.date = date, .host = "host", .commit = "0123456789abcdef", .version = "0.1.0"};
  run.device = "cuda:0";
  run.description = "NVIDIA H200";
  run.target = "cuda:sm_90a";
  run.command = {"tcc-track", "run"};
  run.labels = {{"branch", "main"}};
  run.planned = 2;
  run.name = new_run_name(run);
  return run;
}

TrackedCase made_case(const std::string& name, double seconds) {
  TrackedCase one{.name = name, .kind = "graph", .file = "suite.yaml", .line = 3};
  one.quantities["time"] = {seconds, seconds * 0.99, seconds * 1.02, ""};
  one.quantities["launches"] = {3, 3, 3, ""};
  one.quantities["top1"] = {0.75, 0.75, 0.75, "more"};
  one.budget["time"] = 1;
  one.work = "1:0123456789abcdef0123456789abcdef";
  one.before = autotune::Clocks{1980, 3201, "power cap"};
  one.samples = {{seconds, seconds}, {seconds}};
  TrackedKernel kernel;
  kernel.region = "linear_gelu";
  kernel.layers = {"fc1", "gelu"};
  kernel.launches = 2;
  kernel.seconds = seconds / 2;
  one.kernels = {kernel};
  return one;
}

std::string whole_run(const TrackedRun& run, int cases = 2) {
  std::string text = header_line(run);
  for (int i = 0; i < cases; ++i) text += case_lines(made_case(str("case ", i), 1e-3));
  return text + end_line({"complete", 1.5});
}

class TrackStore : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / str("tcc-store-", ::getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string git(const std::string& rest) const {
    const auto outcome =
        testing::run_command("git -C '" + (folder_ / "repo").string() + "' " + rest + " 2>&1");
    EXPECT_EQ(outcome.code, 0) << rest << ": " << outcome.text;
    return outcome.text;
  }
  void make_repository(const std::string& how = "") const {
    ASSERT_EQ(
        testing::run_command("git init -q " + how + " '" + (folder_ / "repo").string() + "' 2>&1")
            .code,
        0);
  }
  std::string git_store() const { return "git:" + (folder_ / "repo").string() + "#perf"; }

  static std::vector<StoredRun> read(const Store& store, Damage& damage,
                                     const ReadOptions& options = {.details = true}) {
    std::vector<StoredRun> runs;
    read_runs(store, options, damage, [&](StoredRun&& run) { runs.push_back(std::move(run)); });
    return runs;
  }
  static void write(const std::string& where, const TrackedRun& run, int cases = 2) {
    const auto store = open_store(where);
    const auto writer = store->begin(run.name);
    writer->append(header_line(run));
    for (int i = 0; i < cases; ++i) writer->append(case_lines(made_case(str("case ", i), 1e-3)));
    writer->append(end_line({"complete", 1.5}));
    writer->finish();
  }
  void expect_round_trip(const std::string& where) const {
    EXPECT_TRUE(open_store(where)->names().empty());
    const TrackedRun run = header();
    write(where, run);
    Damage damage;
    const auto runs = read(*open_store(where), damage);
    EXPECT_FALSE(damage.any()) << damage.told.front();
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].end.how, "complete");
    EXPECT_EQ(runs[0].run.name, run.name);
    EXPECT_EQ(header_line(runs[0].run), header_line(run));
    ASSERT_EQ(runs[0].cases.size(), 2u);
    EXPECT_EQ(case_lines(runs[0].cases[1]), case_lines(made_case("case 1", 1e-3)));
  }

  fs::path folder_;
};

TEST_F(TrackStore, AFolderReadsBackWhatWasWritten) {
  expect_round_trip((folder_ / "perf" / "store").string());
}

TEST_F(TrackStore, ABranchReadsBackWhatWasWritten) {
  make_repository();
  expect_round_trip(git_store());
}

TEST_F(TrackStore, ABareRepositoryWillDo) {
  make_repository("--bare");
  expect_round_trip(git_store());
}

TEST_F(TrackStore, DetailsAreReadWhereTheyAreAskedFor) {
  write((folder_ / "store").string(), header());
  Damage damage;
  const auto runs = read(*open_store((folder_ / "store").string()), damage, {});
  EXPECT_TRUE(runs.at(0).cases.at(0).kernels.empty());
  EXPECT_EQ(runs.at(0).cases.at(0).quantities.size(), 3u);
}

TEST_F(TrackStore, LinesFollowTheSchema) {
  const testing::Schema schema(
      nlohmann::json::parse(read_file(testing::source_dir() / "docs" / "track-run.schema.json")));
  std::istringstream lines(whole_run(header()));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_EQ(schema.violation(YAML::Load(line)), "") << line;
  EXPECT_EQ(count, 8);
  EXPECT_NE(schema.violation(YAML::Load(R"({"case": "a", "kind": 7})")), "");
}

// The work tree and the index are another one's.
TEST_F(TrackStore, WritingABranchTouchesNothingElse) {
  make_repository();
  std::ofstream(folder_ / "repo" / "a.txt") << "one\n";
  git("-c user.name=a -c user.email=a@b add a.txt");
  git("-c user.name=a -c user.email=a@b commit -qm first");
  std::ofstream(folder_ / "repo" / "a.txt") << "two\n";
  std::ofstream(folder_ / "repo" / "b.txt") << "staged\n";
  git("add b.txt");
  const std::string before = git("status --porcelain"), head = git("rev-parse HEAD");
  write(git_store(), header("2026-11-22T12:31:05Z"));
  write(git_store(), header("2026-11-23T12:31:05Z"));
  EXPECT_EQ(git("status --porcelain"), before);
  EXPECT_EQ(git("rev-parse HEAD"), head);
  EXPECT_EQ(git("rev-list --count perf"), "2\n");
  git("fsck --strict");
  // It may not be a branch of a work tree either.
  const std::string current = git("symbolic-ref --short HEAD");
  const auto store = open_store("git:" + (folder_ / "repo").string() + "#" +
                                current.substr(0, current.size() - 1));
  EXPECT_THROW(store->begin("x"), Error);
}

TEST_F(TrackStore, NamesThatAreNoBranchAreRefused) {
  make_repository();
  for (const char* name : {"", "-d", "a..b", "@{-1}", "a b"})
    EXPECT_THROW(open_store("git:" + (folder_ / "repo").string() + "#" + name), Error) << name;
  EXPECT_THROW(open_store("git:" + folder_.string() + "#perf"), Error) << "no repository";
  EXPECT_THROW(open_store(""), Error);
}

// A fresh clone has the branch of its origin alone: a run is added to that history.
TEST_F(TrackStore, AFreshCloneGoesOnFromItsOrigin) {
  make_repository();
  write(git_store(), header("2026-11-22T12:31:05Z"));
  write(git_store(), header("2026-11-23T12:31:05Z"));
  ASSERT_EQ(testing::run_command("git clone -q '" + (folder_ / "repo").string() + "' '" +
                                 (folder_ / "clone").string() + "' 2>&1")
                .code,
            0);
  const std::string where = "git:" + (folder_ / "clone").string() + "#perf";
  std::string said;
  EXPECT_EQ(open_store(where, [&](const std::string& text) { said = text; })->names().size(), 2u);
  EXPECT_EQ(said, "git:perf: there is no such local branch; it begins at origin/perf");
  write(where, header("2026-11-24T12:31:05Z"));
  said.clear();
  EXPECT_EQ(open_store(where, [&](const std::string& text) { said = text; })->names().size(), 3u);
  EXPECT_EQ(said, "");
  EXPECT_EQ(open_store("git:" + (folder_ / "clone").string() + "#origin/perf")->names().size(), 2u);
  const auto count =
      testing::run_command("git -C '" + (folder_ / "clone").string() + "' rev-list --count perf");
  EXPECT_EQ(count.text, "3\n");
}

// Eight processes append to one store at once.
void append_at_once(const std::string& where) {
  constexpr int kProcesses = 8;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        const TrackedRun run = header();
        const auto store = open_store(where);
        const auto writer = store->begin(run.name);
        writer->append(whole_run(run));
        writer->finish();
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        ::_exit(1);
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(open_store(where)->names().size(), static_cast<size_t>(kProcesses));
}

TEST_F(TrackStore, RunsAppendAtOnceToAFolder) { append_at_once((folder_ / "store").string()); }

TEST_F(TrackStore, RunsAppendAtOnceToABranch) {
  make_repository();
  append_at_once(git_store());
  git("fsck --strict");
}

// Branches that grew apart are merged by git without a conflict.
TEST_F(TrackStore, BranchesMerge) {
  make_repository();
  write(git_store(), header());
  git("branch other perf");
  write(git_store(), header());
  write("git:" + (folder_ / "repo").string() + "#other", header());
  git("-c user.name=a -c user.email=a@b -c advice.detachedHead=false checkout -q other");
  git("-c user.name=a -c user.email=a@b merge -q -m joined perf");
  EXPECT_EQ(open_store("git:" + (folder_ / "repo").string() + "#other")->names().size(), 3u);
}

// kill -9 in the middle of a run.
void killed_run(const std::string& where) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const TrackedRun run = header();
    const auto store = open_store(where);
    const auto writer = store->begin(run.name);
    writer->append(header_line(run));
    writer->append(case_lines(made_case("case 0", 1e-3)));
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  // The process is alive: its lines stay.
  EXPECT_LE(open_store(where)->names().size(), 1u);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(TrackStore, AKilledRunKeepsItsCases) {
  make_repository();
  for (const std::string& where : {(folder_ / "store").string(), git_store()}) {
    killed_run(where);
    std::string said;
    const auto store = open_store(where, [&](const std::string& text) { said = text; });
    Damage damage;
    const auto runs = read(*store, damage);
    ASSERT_EQ(runs.size(), 1u) << where;
    EXPECT_EQ(runs[0].cases.size(), 1u);
    EXPECT_EQ(runs[0].end.how, "") << "it is cut off";
    EXPECT_FALSE(damage.any());
    if (where.starts_with("git:")) {
      EXPECT_NE(said.find("1 run of killed processes recovered"), std::string::npos) << said;
      said.clear();
      open_store(where, [&](const std::string& text) { said = text; });
      EXPECT_EQ(said, "") << "once";
    }
  }
}

TEST_F(TrackStore, DamagedLinesAreLeftOutAndNamed) {
  const fs::path runs = folder_ / "store" / "runs";
  fs::create_directories(runs);
  const std::string head = header_line(header()), one = case_lines(made_case("a", 1)),
                    two = case_lines(made_case("b", 1));
  const std::vector<std::string> bad = {
      "garbage\n",
      "{\"case\":7}\n",
      "\xff\xfe\n",
      "<<<<<<< ours\n",
      std::string(100, '[') + "\n",
      std::string(size_t{9} << 20, 'x') + "\n",
      R"({"case":"c","kind":"graph","suite":"s","line":1,"status":"fine","from_cache":false,"quantities":{}})"
      "\n",
      R"({"case":"c","kind":"graph","suite":"s","line":1,"status":"ok","from_cache":false,"quantities":{"time":{"value":1e999}}})"
      "\n",
      one};  // a second one
  std::string text = head + one;
  for (const std::string& line : bad) text += line;
  text += two + two.substr(0, 40);
  std::ofstream(runs / "good.jsonl") << text;
  std::ofstream(runs / "headless.jsonl") << one;
  std::ofstream(runs / "empty.jsonl");
  std::ofstream(runs / "notes.txt") << "not ours";
  fs::create_symlink("/dev/zero", runs / "link.jsonl");
  fs::create_directory(runs / "folder.jsonl");
  { fs::resize_file((std::ofstream(runs / "giant.jsonl"), runs / "giant.jsonl"), 1LL << 33); }
  Damage damage;
  const auto found = read(*open_store((folder_ / "store").string()), damage);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].cases.size(), 2u);
  EXPECT_EQ(found[0].cases[1].name, "b");
  EXPECT_EQ(damage.files, 1u);
  std::string told;
  for (const std::string& line : damage.told) told += line + "\n";
  for (const char* what : {"good.jsonl:5: no JSON", "good.jsonl:6: 'case' is no text",
                           "longer than 8 MiB", "nested deeper", "cannot be 'fine'", "a second 'a'",
                           "headless.jsonl:1: the first line is no header", "empty, without",
                           "giant.jsonl: 8589934592 bytes"})
    EXPECT_NE(told.find(what), std::string::npos) << what << "\n" << told;
}

// Whatever stands in a file: no exception, no crash, and the damage is counted.
TEST_F(TrackStore, FuzzedFilesAreRead) {
  const std::string good = whole_run(header());
  std::mt19937 random(7);
  size_t damaged = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (int change = 0; change < 1 + i % 4 && !text.empty(); ++change) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, random() % 50); break;
        case 2: text.insert(at, text.substr(random() % text.size(), random() % 80)); break;
        default: text.resize(at + 1); break;
      }
    }
    Damage damage;
    const auto run = parse_run(text, "x", "x", {.details = true}, damage);
    damaged += damage.any();
    if (run) { EXPECT_LE(run->cases.size(), 3u); }
  }
  EXPECT_GT(damaged, 1500u);
}

// A limit on the file's size stands for a full disk: whole lines stay, parts do not.
TEST_F(TrackStore, AFullDiskKeepsWholeLines) {
  const TrackedRun run = header();
  const std::string where = (folder_ / "store").string();
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const std::string first = header_line(run) + case_lines(made_case("case 0", 1));
    const rlimit limit{first.size() + 100, first.size() + 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      const auto writer = open_store(where)->begin(run.name);
      writer->append(first);
      writer->append(case_lines(made_case("case 1", 1)));
    } catch (const Error& error) {
      ::_exit(std::string(error.what()).find("the lines before are kept") != std::string::npos ? 7
                                                                                               : 8);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  Damage damage;
  const auto runs = read(*open_store(where), damage);
  EXPECT_FALSE(damage.any());
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].cases.size(), 1u);
}

TEST_F(TrackStore, PlacesThatCannotBeWrittenAreNamed) {
  std::ofstream(folder_ / "file") << "x";
  for (const std::string& where :
       {(folder_ / "file").string(), std::string("/dev/null/x"), std::string("/proc/store")}) {
    try {
      open_store(where)->begin("a");
      ADD_FAILURE() << where;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(where), std::string::npos) << error.what();
    }
  }
}

TEST(TrackRunName, SortsByDateAndIsAFileName) {
  TrackedRun run = header();
  run.host = "a/../b c\n";
  const std::string name = new_run_name(run);
  EXPECT_TRUE(is_run_name(name)) << name;
  EXPECT_TRUE(name.starts_with("20261122T123105Z.000-0123456-a_.._b_c_-")) << name;
  EXPECT_NE(new_run_name(run), name);
  for (const char* bad : {"", ".a", "-a", "a/b", "a b", "\xc3\xa9"}) EXPECT_FALSE(is_run_name(bad));
}

// Runs of one second are ordered by their milliseconds, and after those whose names have none.
TEST(TrackRunName, SortsWithinASecond) {
  TrackedRun run = header();
  std::vector<std::string> names = {"20261122T123104Z-ffffff-z-0", "20261122T123105Z-ffffff-z-0"};
  for (const int milliseconds : {0, 7, 42, 999}) {
    run.milliseconds = milliseconds;
    names.push_back(new_run_name(run));
  }
  names.push_back("20261122T123106Z-000000-a-0");
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : names) EXPECT_TRUE(is_run_name(name)) << name;
}

TEST(TrackKernels, AreNamedByTheirLayers) {
  std::vector<TrackedKernel> kernels(3);
  kernels[0].layers = kernels[1].layers = {"a", "b"};
  kernels[2].region = "t";
  EXPECT_EQ(kernel_names(kernels), (std::vector<std::string>{"a, b", "a, b #2", "t"}));
}

}  // namespace
}  // namespace tcc::tools
