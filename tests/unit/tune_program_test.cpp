// tcc-tune as a program: what several processes write, and what is left when it is interrupted.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "autotune/records.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

using testing::Outcome;

Outcome run(const std::string& command) {
  return testing::run_command("cd '" + testing::source_dir().string() + "' && " + command +
                              " 2>&1");
}

class TuneProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tcc-tune-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Sweeps all kernels of a model on the null device.
  std::string sweep(const std::string& output) const {
    return str("'", testing::program("tcc-tune").string(), "' configs/models/bert-base.yaml ",
               "--device null --trials 2 --output '", (folder_ / output).string(), "'");
  }
  std::map<autotune::RecordKey, autotune::Record> records(const fs::path& output) const {
    auto all = autotune::load_records({folder_ / output}, [](const std::string& warning) {
                 ADD_FAILURE() << warning;
               }).records();
    std::erase_if(all, [](const auto& entry) { return entry.first.device != "null"; });  // shipped
    return all;
  }
  // Merges the shards below `output` and expects the kernels of one whole sweep, each once.
  void expect_whole(const std::string& output) const {
    ASSERT_EQ(run(sweep("whole")).code, 0);
    const auto first = records(output + "/shard-0-of-2"),
               second = records(output + "/shard-1-of-2"), whole = records("whole");
    EXPECT_FALSE(first.empty());
    EXPECT_FALSE(second.empty());
    EXPECT_EQ(first.size() + second.size(), whole.size());
    const std::string merge =
        str("'", testing::program("tcc-tune").string(), "' merge '", (folder_ / output).string(),
            "'/shard-* --output '", (folder_ / output).string(), "'");
    const Outcome merged = run(merge);
    ASSERT_EQ(merged.code, 0) << merged.text;
    for (const auto& [key, record] : whole) EXPECT_TRUE(records(output).count(key)) << record.name;
    EXPECT_EQ(records(output).size(), whole.size());
  }

  fs::path folder_;
};

TEST_F(TuneProgramTest, ShardsJoinToTheWhole) {
  for (const char* shard : {"0/2", "1/2"}) {
    const Outcome outcome = run(sweep("parts") + " --shard " + shard);
    ASSERT_EQ(outcome.code, 0) << outcome.text;
  }
  expect_whole("parts");
}

TEST_F(TuneProgramTest, MpirunStartsShards) {
  if (run("command -v mpirun").code != 0) GTEST_SKIP() << "no mpirun is installed";
  const Outcome outcome = run("mpirun --allow-run-as-root --oversubscribe -n 2 " + sweep("mpi"));
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  expect_whole("mpi");
}

TEST_F(TuneProgramTest, ALogIsResumedAndAReportWritten) {
  const Outcome first = run(sweep("log"));
  ASSERT_EQ(first.code, 0) << first.text;
  const std::string report = (folder_ / "report.html").string();
  const Outcome again = run(sweep("log") + " --resume --report '" + report + "'");
  ASSERT_EQ(again.code, 0) << again.text;
  EXPECT_NE(again.text.find("\n0 candidates in "), std::string::npos) << again.text;
  EXPECT_NE(again.text.find(" more from the log"), std::string::npos) << again.text;
  EXPECT_NE(again.text.find("wrote " + report), std::string::npos) << again.text;
  EXPECT_NE(read_file(report).find("bert-base.yaml"), std::string::npos);
}

TEST_F(TuneProgramTest, KernelsWithoutARightConfigMakeItFail) {
  fs::copy(testing::source_dir() / "examples/kernels", folder_ / "kernels");
  const fs::path source = folder_ / "kernels/nbody.comp";
  std::string text = read_file(source);
  text.replace(text.find("body >= N"), 9, "body >= N - 1");  // the last body is left out
  write_file_atomic(source, text);
  const auto tune = [&](const std::string& file) {
    return run(str("'", testing::program("tcc-tune").string(), "' --kernel '",
                   (folder_ / "kernels" / file).string(),
                   "' --device vulkan:0 --dim N=160 --trials 2 --output '",
                   (folder_ / "own").string(), "'"));
  };
  const Outcome right = tune("nbody_direct.yaml");
  if (right.code == static_cast<int>(ErrorKind::no_device)) GTEST_SKIP() << right.text;
  EXPECT_EQ(right.code, 0) << right.text;
  const Outcome verified =
      run(str("'", testing::program("tcc-tune").string(), "' verify --kernel '",
              (folder_ / "kernels/nbody_direct.yaml").string(),
              "' --device vulkan:0 --dim N=160 --tuning '", (folder_ / "own").string(),
              "' --threshold 1000"));
  EXPECT_EQ(verified.code, 0) << verified.text;
  EXPECT_NE(verified.text.find(": 1 record verified, 0 to be tuned again"), std::string::npos)
      << verified.text;
  const Outcome wrong = tune("nbody.yaml");  // its check is the other kernel
  EXPECT_EQ(wrong.code, 1) << wrong.text;
  EXPECT_NE(wrong.text.find("no config gave a right result: "), std::string::npos) << wrong.text;
}

// Kernels that are tuned are those that the other programs compile with the same options.
TEST_F(TuneProgramTest, CompileOptionsNameTheSameKernelsInEveryProgram) {
  const auto tcc = [&](const std::string& variables, const char* program, const std::string& rest) {
    const Outcome outcome =
        run(str(variables, " '", testing::program(program).string(), "' ", rest));
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    return outcome.text;
  };
  const auto count = [](const std::string& text, const std::string& what) {
    int times = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++times;
    return times;
  };
  const std::string tuning = str(" --tuning '", (folder_ / "options").string(), "'");
  for (const std::string options : {"--matmul-precision high", "--dtype bf16 --strict-rounding"}) {
    fs::remove_all(folder_ / "options");
    const std::string graph = "configs/models/mlp.yaml --device null ";
    tcc("", "tcc-tune",
        graph + options + " --trials 0 --output '" + (folder_ / "options").string() + "'");
    for (const std::string& same : {options, std::string("--dtype bf16")}) {
      const std::string log = tcc("TCC_LOGS=tuning", "tcc-run", graph + same + tuning);
      const std::string why = tcc("", "tcc-tune", "why " + graph + same + tuning);
      EXPECT_EQ(count(log, "] exact "), same == options ? 3 : 0) << log;
      EXPECT_EQ(count(why, "  exact: "), same == options ? 3 : 0) << why;
    }
  }
}

TEST_F(TuneProgramTest, APlanSearchKeepsItsBudget) {
  const Outcome cut = run(sweep("plans") + " --plan-search --budget 0.001");
  EXPECT_EQ(cut.code, 0) << cut.text;
  EXPECT_NE(cut.text.find("the budget was spent before "), std::string::npos) << cut.text;
}

TEST_F(TuneProgramTest, ShardsOfAPlanSearchJoin) {
  for (const char* shard : {"0/2", "1/2"}) {
    const Outcome outcome = run(sweep("parts") + " --plan-search --shard " + shard);
    ASSERT_EQ(outcome.code, 0) << outcome.text;
    EXPECT_NE(outcome.text.find(" choices of this shard compared"), std::string::npos)
        << outcome.text;
  }
  const std::string parts = "'" + (folder_ / "parts").string() + "'";
  const std::string tune = "'" + testing::program("tcc-tune").string() + "'";
  const Outcome merged = run(tune + " merge " + parts + "/shard-* --output " + parts);
  EXPECT_EQ(merged.code, 0) << merged.text;
  EXPECT_NE(merged.text.find(" plans\n"), std::string::npos) << merged.text;
  EXPECT_TRUE(fs::exists(folder_ / "parts/null.plan.yaml"));
}

TEST_F(TuneProgramTest, AnInterruptEndsTheSearchAndWritesWhatIsKnown) {
  std::string sizes = "B=1";
  for (int size = 2; size <= 40; ++size) sizes += "," + std::to_string(size);
  const std::string program = testing::program("tcc-tune").string(),
                    graph = (testing::source_dir() / "configs/models/mlp.yaml").string(),
                    output = (folder_ / "cut").string();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl(program.c_str(), program.c_str(), graph.c_str(), "--device", "null", "--dim",
          sizes.c_str(), "--output", output.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  bool sent = false;
  for (ssize_t size; (size = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(size));
    if (sent || text.find("\n[1/") == text.npos) continue;  // the first of 120 kernels is finished
    kill(child, SIGINT);
    sent = true;
  }
  close(ends[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << text;
  EXPECT_EQ(WEXITSTATUS(status), 130) << text;
  EXPECT_NE(text.find("tcc-tune: interrupted after "), std::string::npos) << text;
  EXPECT_FALSE(records("cut").empty());
}

}  // namespace
}  // namespace tcc
