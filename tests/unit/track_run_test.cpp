// tcc-track run: what becomes of cases that run, fail, crash, hang, are wrong, and of runs that are
// killed.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "support/error.h"
#include "support/file.h"
#include "tcc/progress.hpp"
#include "tests/run_command.h"
#include "tests/run_graph.h"
#include "tests/sanitized.h"
#include "tests/source_dir.h"
#include "tests/unit/json_schema.h"
#include "tools/track/measure.h"
#include "tools/track/read_runs.h"
#include "tools/track/runner.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;
using Status = TrackedCase::Status;

class Kept final : public RunWriter {
 public:
  void append(std::string_view lines) override { text += lines; }
  void finish() override { finished = true; }
  std::string text;
  bool finished = false;
};

TrackCase named(const std::string& name, TrackCase::Kind kind = TrackCase::Kind::graph) {
  TrackCase one;
  one.name = name;
  one.kind = kind;
  one.file = "suite.yaml";
  one.line = 3;
  return one;
}

TrackedRun header() {
  TrackedRun run;
  run.date = "2026-11-22T12:31:05Z";
  run.host = "host";
  return run;
}

RunResult run_all(const std::vector<TrackCase>& cases, const RunSteps& steps, Kept& kept) {
  return run_cases(header(), cases, steps, kept);
}

TEST(TrackRun, GoesOnAfterCasesThatFail) {
  Kept kept;
  RunSteps steps;
  steps.measure = [&](const TrackCase& one) -> std::vector<TrackedCase> {
    // Each case is stored before the next one begins.
    if (one.name == "c") { EXPECT_NE(kept.text.find("\"case\":\"b\""), std::string::npos); }
    if (one.name == "b") fail_input("no such op");
    TrackedCase record = record_of(one);
    record.quantities["time"] = {2, 1, 3, ""};
    record.budget["time"] = 1.5;
    if (one.name == "d") record.status = Status::wrong;
    return {record};
  };
  const RunResult result = run_all({named("a"), named("b"), named("c"), named("d")}, steps, kept);
  EXPECT_EQ(result.end, "complete");
  EXPECT_EQ(result.failed, 2u);
  EXPECT_EQ(result.over_budget, 3u);
  ASSERT_EQ(result.cases.size(), 4u);
  EXPECT_EQ(result.cases[1].reason, "no such op");
  EXPECT_TRUE(kept.finished);
  EXPECT_EQ(over_budget(result.cases[0]), std::vector<std::string>{"time 2.000 s of 1.500 s"});
}

TEST(TrackRun, ALostDeviceFailsTheRestButCommands) {
  Kept kept;
  RunSteps steps;
  bool works = true;
  steps.device_works = [&] { return works; };
  steps.measure = [&](const TrackCase& one) -> std::vector<TrackedCase> {
    if (one.name == "refused") fail_device("out of memory");
    if (one.name == "lost") {
      works = false;
      fail_device("device lost in vkQueueSubmit");
    }
    return {record_of(one)};
  };
  const RunResult result = run_all({named("refused"), named("good"), named("lost"), named("rest"),
                                    named("command", TrackCase::Kind::command)},
                                   steps, kept);
  EXPECT_EQ(result.end, "device lost");
  EXPECT_EQ(result.failed, 3u);
  EXPECT_EQ(result.cases[1].status, Status::ok);
  EXPECT_EQ(result.cases[3].reason, "the device was lost: device lost in vkQueueSubmit");
  EXPECT_EQ(result.cases[4].status, Status::ok);
  EXPECT_NE(kept.text.find("{\"end\":\"device lost\""), std::string::npos);
}

TEST(TrackRun, AnInterruptKeepsWhatWasMeasured) {
  Kept kept;
  RunSteps steps;
  int measured = 0;
  steps.measure = [&](const TrackCase& one) -> std::vector<TrackedCase> {
    if (++measured == 2) throw Cancelled();
    return {record_of(one)};
  };
  const RunResult result = run_all({named("a"), named("b"), named("c")}, steps, kept);
  EXPECT_EQ(result.end, "interrupted");
  EXPECT_EQ(result.cases.size(), 1u);
}

// ---- Commands.

std::vector<TrackedCase> command(const std::string& script, const TrackCase& like = named("c")) {
  TrackCase one = like;
  one.kind = TrackCase::Kind::command;
  one.command = {"sh", "-c", script};
  one.folder = "/";
  return measure_command(one);
}

std::string complaint(const std::string& script, double timeout = 20) {
  TrackCase one = named("c");
  one.timeout = timeout;
  try {
    command(script, one);
  } catch (const Error& error) { return error.what(); }
  return "";
}

std::string prints(const std::string& json) { return "cat <<'END'\n" + json + "\nEND\n"; }

TEST(TrackCommand, ReadsWhatGoogleBenchmarkPrints) {
  TrackCase one = named("c");
  one.executions = 2;
  one.counters = {{"top1", "more"}};
  const auto records = command(prints(R"(Running ./bench
{"context": {"date": "x"}, "benchmarks": [
 {"name": "BM_a/8", "run_name": "BM_a/8", "run_type": "iteration", "real_time": 10, "cpu_time": 5, "time_unit": "us", "top1": 0.5, "items_per_second": 3},
 {"name": "BM_a/8", "run_name": "BM_a/8", "run_type": "iteration", "real_time": 12, "cpu_time": 5, "time_unit": "us", "top1": 0.7},
 {"name": "BM_a/8_mean", "run_name": "BM_a/8", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 99, "time_unit": "us"},
 {"name": "BM_b_mean", "run_name": "BM_b", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 7, "time_unit": "ms"},
 {"name": "BM_b_median", "run_name": "BM_b", "run_type": "aggregate", "aggregate_name": "median", "real_time": 6, "time_unit": "ms"},
 {"name": "BM_b_stddev", "run_name": "BM_b", "run_type": "aggregate", "aggregate_name": "stddev", "real_time": 0.1, "time_unit": "ms"},
 {"name": "BM_c", "error_occurred": true, "error_message": "no memory", "real_time": 0, "time_unit": "ns"}
]})"),
                               one);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].name, "c/BM_a/8");
  EXPECT_NEAR(records[0].quantities.at("time").value, 11e-6, 1e-12);
  EXPECT_EQ(records[0].samples.size(), 2u) << "an execution is a block";
  EXPECT_EQ(records[0].quantities.at("top1").rule, "more");
  EXPECT_NEAR(records[0].quantities.at("top1").value, 0.6, 1e-12);
  EXPECT_FALSE(records[0].quantities.contains("items_per_second"));
  EXPECT_NEAR(records[1].quantities.at("time").value, 6e-3, 1e-12);
  EXPECT_EQ(records[2].status, Status::failed);
  EXPECT_EQ(records[2].reason, "no memory");
}

TEST(TrackCommand, TakesTheTimeOfTheProcessor) {
  TrackCase one = named("c");
  one.cpu_time = true;
  const auto records =
      command(prints(R"({"benchmarks": [{"name": "a", "real_time": 9, "cpu_time": 5}]})"), one);
  EXPECT_NEAR(records.at(0).quantities.at("time").value, 5e-9, 1e-15);
}

TEST(TrackCommand, SaysWhyThereIsNothing) {
  EXPECT_EQ(complaint("echo bad >&2; exit 3"), "exited with 3; its last words: bad");
  EXPECT_EQ(complaint("kill -11 $$"), "was ended by signal 11");
  EXPECT_EQ(complaint("echo x >&2; sleep 60", 0.3),
            "took more than 0.3 s and was killed; its last words: x");
  EXPECT_NE(complaint("echo hello").find("no JSON of Google Benchmark"), std::string::npos);
  EXPECT_NE(complaint("head -c 1000000 /dev/urandom").find("no JSON"), std::string::npos);
  EXPECT_NE(complaint(prints(R"({"benchmarks": [7]})")).find("no object"), std::string::npos);
  EXPECT_NE(complaint(prints(R"({"benchmarks": []})")).find("printed no benchmark"),
            std::string::npos);
  EXPECT_NE(complaint(prints(R"({"benchmarks": [{"name":"a","real_time":1,"time_unit":"h"}]})"))
                .find("time_unit 'h'"),
            std::string::npos);
  EXPECT_NE(complaint("head -c 80000000 /dev/zero").find("more than 64 MiB"), std::string::npos);
  for (const char* time : {"-1", "0", "\"x\"", "1e999"}) {
    const std::string text = str(R"({"benchmarks": [{"name": "a", "real_time": )", time, "}]}");
    if (complaint(prints(text)).empty()) {
      EXPECT_EQ(command(prints(text)).at(0).status, Status::failed) << time;
    }
  }
}

// A benchmark that one execution lacks has no honest time.
TEST(TrackCommand, ABenchmarkIsInEveryExecution) {
  const fs::path mark = fs::temp_directory_path() / str("tcc-mark-", ::getpid());
  const auto records =
      command(str("if [ -e ", mark.string(), " ]; then n=b; else n=a; touch ", mark.string(),
                  "; fi\n", R"(echo "{\"benchmarks\":[{\"name\":\"$n\",\"real_time\":1}]}")"));
  fs::remove(mark);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].reason, "in 1 of 3 executions only");
}

// ---- The program, on lavapipe and without a device.

class TrackRunProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / str("tcc-track-run-", ::getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void suite(const std::string& cases) const {
    std::ofstream(folder_ / "suite.yaml") << "suite: s\ncases:\n" << cases;
  }
  std::string models() const { return (testing::source_dir() / "configs/models").string(); }
  testing::Outcome track(const std::string& rest) const {
    return testing::run_command("cd '" + folder_.string() + "' && '" +
                                testing::program("tcc-track").string() +
                                "' run suite.yaml --store store " + rest + " 2>&1");
  }
  std::vector<StoredRun> stored() const {
    std::vector<StoredRun> runs;
    Damage damage;
    read_runs(*open_store((folder_ / "store").string()), {.details = true}, damage,
              [&](StoredRun&& run) { runs.push_back(std::move(run)); });
    EXPECT_FALSE(damage.any());
    return runs;
  }
  // Waits until a run has a case, a minute at most.
  void wait_for_case() const {
    for (int i = 0; i < 600 && !has_case(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }

  fs::path folder_;

 private:
  bool has_case() const {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder_ / "store" / "runs", error))
      if (!entry.path().filename().string().starts_with(".") &&
          read_file(entry.path()).find("\"case\"") != std::string::npos)
        return true;
    return false;
  }
};

TEST_F(TrackRunProgram, WritesOneRunOfAllKinds) {
  const auto& devices = test::devices_present(test::Devices::software);
  if (devices.empty()) GTEST_SKIP() << "there is no software device";
  suite("  - {graph: " + models() + "/mlp.yaml, dims: {B: 1}}\n  - {kernel: " +
        (testing::source_dir() / "examples/kernels/matmul.yaml").string() +
        ", dims: {M: 64, N: 64, K: 64}}\n"
        "  - {command: [sh, -c, \"echo '{\\\"benchmarks\\\":[{\\\"name\\\":\\\"a\\\","
        "\\\"real_time\\\":1}]}'\"], name: gb}\n");
  const auto outcome = track(
      "--device vulkan:0 --check --blocks 3 --label a=b --host h "
      "--commit abc");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  const auto runs = stored();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].run.labels.at("a"), "b");
  EXPECT_EQ(runs[0].run.commit, "abc");
  EXPECT_EQ(runs[0].run.host, "h");
  EXPECT_EQ(runs[0].end.how, "complete");
  ASSERT_EQ(runs[0].cases.size(), 3u);
  for (int i : {0, 1}) {
    const TrackedCase& one = runs[0].cases[static_cast<size_t>(i)];
    for (const char* quantity : {"time", "compile time", "launches", "arena bytes",
                                 "constant bytes", "source bytes", "kernels", "error"})
      EXPECT_TRUE(one.quantities.contains(quantity)) << quantity;
    EXPECT_LT(one.quantities.at("error").value, 1e-5);
    EXPECT_EQ(one.samples.size(), 3u);
    ASSERT_FALSE(one.kernels.empty());
    EXPECT_FALSE(one.kernels[0].key.empty());
    EXPECT_GT(one.kernels[0].seconds.value_or(0), 0);
    EXPECT_FALSE(one.from_cache);
  }
  std::set<std::string> layers;
  for (const TrackedKernel& kernel : runs[0].cases[0].kernels)
    layers.insert(kernel.layers.begin(), kernel.layers.end());
  EXPECT_TRUE(layers.contains("h") && layers.contains("a") && layers.contains("y"));
  EXPECT_EQ(runs[0].cases[2].name, "gb/a");
  // Its file follows the schema.
  const testing::Schema schema(
      nlohmann::json::parse(read_file(testing::source_dir() / "docs" / "track-run.schema.json")));
  std::istringstream lines(read_file(folder_ / "store" / "runs" / (runs[0].run.name + ".jsonl")));
  for (std::string line; std::getline(lines, line);)
    EXPECT_EQ(schema.violation(YAML::Load(line)), "");
}

// Counts need neither a device nor a compiler, and are the same every time.
TEST_F(TrackRunProgram, CountsForATarget) {
  suite("  - {graph: " + models() + "/mlp.yaml, dims: {B: 1}, budget: {launches: 2}}\n");
  EXPECT_EQ(track("--target cuda:sm_90a").code, 1) << "3 launches of 2";
  EXPECT_EQ(track("--target cuda:sm_90a").code, 1);
  const auto runs = stored();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].run.target, "cuda:sm_90a");
  EXPECT_EQ(runs[0].run.device, "");
  EXPECT_EQ(runs[0].run.machine(), runs[1].run.machine());
  for (const char* quantity : {"launches", "arena bytes", "constant bytes", "source bytes"})
    EXPECT_EQ(runs[0].cases[0].quantities.at(quantity).value,
              runs[1].cases[0].quantities.at(quantity).value);
  EXPECT_FALSE(runs[0].cases[0].quantities.contains("time"));
}

// A real process, ended in its second case; what becomes of its run.
class TrackRunEnded : public TrackRunProgram {
 protected:
  std::vector<StoredRun> runs_after(int signal) const {
    suite("  - {graph: " + models() +
          "/mlp.yaml, dims: {B: 1}}\n"
          "  - {command: [sleep, '60'], name: long}\n");
    const std::string program = testing::program("tcc-track").string();
    const pid_t child = ::fork();
    if (child == 0) {
      if (::chdir(folder_.c_str()) != 0) ::_exit(1);
      ::execl(program.c_str(), program.c_str(), "run", "suite.yaml", "--target", "vulkan",
              "--store", "store", nullptr);
      ::_exit(1);
    }
    wait_for_case();
    ::kill(child, signal);
    ::waitpid(child, nullptr, 0);
    return stored();
  }
};

TEST_F(TrackRunEnded, AKilledProcessLosesNothing) {
  const auto runs = runs_after(SIGKILL);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].end.how, "") << "cut off";
  ASSERT_EQ(runs[0].cases.size(), 1u);
  EXPECT_EQ(runs[0].run.planned, 2u);
}

TEST_F(TrackRunEnded, AnInterruptedProcessSaysSo) {
  for (const int signal : {SIGINT, SIGTERM}) {
    fs::remove_all(folder_ / "store");
    const auto runs = runs_after(signal);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].end.how, "interrupted");
    EXPECT_EQ(runs[0].cases.size(), 1u);
  }
}

// The first case of three is stored, and the second takes long.
class TrackRunFaults : public TrackRunProgram {
 protected:
  void SetUp() override {
    TrackRunProgram::SetUp();
    if (test::devices_present(test::Devices::software).empty())
      GTEST_SKIP() << "there is no software device";
    const std::string small = "  - {graph: " + models() + "/mlp.yaml, dims: {B: ";
    std::ofstream(folder_ / "large.yaml")
        << "tcc: 1\ninputs:\n  x: {dtype: f32, shape: [4096, 4096]}\n"
           "nodes:\n  - {out: y, op: matmul, in: [x, x]}\noutputs: [y]\n";
    suite(small + "1}}\n  - {graph: large.yaml}\n" + small + "2}}\n");
  }
  void expect_second_failed(const std::string& why) const {
    const auto runs = stored();
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].end.how, "complete");
    ASSERT_EQ(runs[0].cases.size(), 3u);
    EXPECT_EQ(runs[0].cases[0].status, Status::ok);
    EXPECT_EQ(runs[0].cases[1].status, Status::failed);
    EXPECT_NE(runs[0].cases[1].reason.find(why), std::string::npos) << runs[0].cases[1].reason;
    EXPECT_EQ(runs[0].cases[2].status, Status::ok) << runs[0].cases[2].reason;
    EXPECT_GT(runs[0].cases[2].quantities.at("time").value, 0);
  }
};

TEST_F(TrackRunFaults, ACrashCostsItsCase) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizer ends the process, by a code of its own";
  const std::string program = testing::program("tcc-track").string();
  const pid_t child = ::fork();
  if (child == 0) {
    if (::chdir(folder_.c_str()) != 0) ::_exit(1);
    ::execl(program.c_str(), program.c_str(), "run", "suite.yaml", "--device", "vulkan:0",
            "--blocks", "1", "--store", "store", nullptr);
    ::_exit(1);
  }
  wait_for_case();
  pid_t worker = 0;
  std::ifstream(str("/proc/", child, "/task/", child, "/children")) >> worker;
  ASSERT_GT(worker, 0);
  ::kill(worker, SIGSEGV);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  expect_second_failed("the measuring process was killed by SIGSEGV");
}

TEST_F(TrackRunFaults, ACaseThatTakesTooLongFails) {
  EXPECT_EQ(track("--device vulkan:0 --blocks 1 --limit 4").code, 1);
  expect_second_failed("the measuring process took more than 4 s");
}

// Budgets stand beside comparisons: nothing grew, and it is too much all the same.
TEST_F(TrackRunProgram, BudgetsHoldInCompare) {
  if (test::kSanitized) GTEST_SKIP() << "libraries are opened with RTLD_DEEPBIND";
  if (test::devices_present(test::Devices::software).empty())
    GTEST_SKIP() << "there is no software device";
  suite("  - {graph: " + models() + "/mlp.yaml, dims: {B: 1}, budget: {launches: 2}}\n");
  const fs::path library = testing::binary_dir() / "lib" / "libtcc-core.so";
  fs::copy_file(fs::canonical(library), folder_ / "libtcc-core.so");
  const auto outcome = testing::run_command(
      "cd '" + folder_.string() + "' && '" + testing::program("tcc-track").string() +
      "' compare '" + library.string() +
      "' libtcc-core.so suite.yaml --device vulkan:0 --only counts 2>&1");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("1 over budget"), std::string::npos) << outcome.text;
}

TEST_F(TrackRunProgram, SuitesErrorsNameTheLine) {
  const std::vector<std::pair<std::string, std::string>> errors = {
      {"  - {command: []}", "suite.yaml:3: key 'command': has no program"},
      {"  - {graph: g.yaml, command: [x]}", "has one of the keys"},
      {"  - {name: x}", "has one of the keys"},
      {"  - {command: [x], budget: {launchs: 3}}", "no quantity 'launchs'; did you mean"},
      {"  - {command: [x], budget: {time: 3kg}}", "'3kg' is no amount; it is as 120us"},
      {"  - {command: [x], budget: {arena: 3s}}", "it is as 4096"},
      {"  - {command: [x], budget: {launches: -1}}", "is no amount"},
      {"  - {command: [x], counters: {a: big}}", "'more' or 'less'"},
      {"  - {command: [x], counters: {time: less}}", "tcc-track's own"},
      {"  - {command: [x], timeout: 0s}", "is a time of at most"},
      {"  - {command: [x], executions: 0}", "between 1 and 100"},
      {"  - {command: [x], dims: {M: 1}}", "a command has no dims"},
      {"  - {kernel: nowhere.yaml}", "is not there"}};
  for (const auto& [text, message] : errors) {
    suite(text + "\n");
    const auto outcome = track("--target vulkan");
    EXPECT_EQ(outcome.code, 2) << text;
    EXPECT_NE(outcome.text.find(message), std::string::npos) << text << "\n" << outcome.text;
  }
}

TEST_F(TrackRunProgram, ExitCodesTell) {
  suite("  - {command: [false], name: x}\n");
  EXPECT_EQ(track("").code, 1);
  EXPECT_EQ(track("--filter nothing").code, 2);
  EXPECT_EQ(track("--device cuda:77 --label x").code, 2);
  suite("  - {graph: " + models() + "/mlp.yaml, dims: {X: 1}}\n");
  const auto outcome = track("--target vulkan");
  EXPECT_EQ(outcome.code, 1) << "the case failed; the run did not";
  EXPECT_NE(outcome.text.find("failed"), std::string::npos);
}

}  // namespace
}  // namespace tcc::tools
