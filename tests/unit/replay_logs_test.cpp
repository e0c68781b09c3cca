// The default search on logs of real sweeps: tests/replay/cases on an NVIDIA H200, made by
// `tcc-tune tests/replay/cases/*.yaml --search exhaustive --trials 1000000 --log FILE`; spaces of
// thousands of configs by `--search random --trials 1000`.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "autotune/replay.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/source_dir.h"

namespace tcc::autotune {
namespace {

TrialHistory logged_sweeps() {
  TrialHistory all;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::source_dir() / "tests/replay/logs"))
    all.merge(
        read_trial_log(entry.path(), [](const std::string& warning) { ADD_FAILURE() << warning; }));
  return all;
}

TEST(ReplayLogs, TheDefaultSearchComesCloseWithFewTrials) {
  const TrialHistory logs = logged_sweeps();
  ReplayOptions options;   // at most max(32, 3 % of the space) trials, 20 seeds
  options.quick_cost = 1;  // any config that was looked at is a trial
  const ReplayResult found = replay(logs, SearchKind::automatic, options);
  const ReplayResult random = replay(logs, SearchKind::random, options);
  std::cout << replay_table(found, random);
  ASSERT_GE(found.tasks.size(), 12u);
  for (const ReplayTask& task : found.tasks) {
    if (task.kernel_template == "contraction") { EXPECT_GE(task.space, 500u) << task.name; }
    for (const ReplayRun& run : task.runs)
      EXPECT_LE(run.configs, std::max<size_t>(32, task.space * 3 / 100) + 1) << task.name;
  }
  EXPECT_LE(found.mean_ratio(), 1.03);
  EXPECT_LE(found.worst_task_ratio(), 1.08);
  EXPECT_LT(found.mean_ratio(), random.mean_ratio());
}

// docs/performance.md shows what the program prints.
TEST(ReplayLogs, TheDocumentedTablesAreThePrintedOnes) {
  const std::string page = read_file(testing::source_dir() / "docs/performance.md");
  ReplayOptions options;
  options.seeds = 1;  // the layout alone: times of searches may change in the last digit
  for (const char* log : {"h200-matrix.jsonl.gz", "h200-memory.jsonl.gz", "h200-units.jsonl.gz"}) {
    const TrialHistory history =
        read_trial_log(testing::source_dir() / "tests/replay/logs" / log, {});
    const ReplayResult found = replay(history, SearchKind::automatic, options);
    const std::string table = replay_table(found, replay(history, SearchKind::random, options));
    EXPECT_NE(page.find(table.substr(0, table.find("| ", table.find("---:|\n")))),
              std::string::npos)
        << table;
    for (const ReplayTask& task : found.tasks)
      EXPECT_NE(page.find(str("\n| ", task.name, " ", task.operands, " | ", task.kernel_template,
                              " | ", task.space, " | ")),
                std::string::npos)
          << task.name << " " << task.operands;
  }
}

}  // namespace
}  // namespace tcc::autotune
