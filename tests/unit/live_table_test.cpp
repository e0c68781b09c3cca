#include "tools/tune/live_table.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/sweep_fixture.h"

namespace tcc::tools {
namespace {

using autotune::KernelResult;
using Lines = std::vector<std::string>;

// The first `trials` trials of a kernel.
KernelResult part(const std::string& name, size_t trials) {
  KernelResult kernel = testing::tuned_kernel(name);
  kernel.trials.resize(trials);
  return kernel;
}

bool any_line_has(const Lines& lines, const std::string& words) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(words) != line.npos; });
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

SweepSetup setup(size_t kernels, size_t trials = 100) {
  SweepSetup setup;
  setup.kernels = kernels;
  setup.trials = trials;
  setup.compile_threads = 2;
  return setup;
}

TEST(LiveTableTest, RowsBarAndRates) {
  LiveTable table(setup(2));
  table.update(testing::tuned_kernel(), true);
  KernelResult running = part("softmax", 15);
  running.compile_seconds = 3;
  table.update(running, false);
  const Lines lines = table.frame({24, 132}, 18);
  // 76 + 15 of 2 x 75 configs, of which the default is measured once more.
  EXPECT_EQ(lines[0],
            "[########################................] 60%  1/2 kernels  0:18  ETA 0:11");
  EXPECT_EQ(lines[1],
            "5.1 candidates/s  compiling on 1.0 of 2 cores  all launches 273.60 us -> 161.60 us "
            "(1.69x)");
  ASSERT_EQ(lines.size(), 5u) << joined(lines);
  EXPECT_EQ(lines[3].find("matmul_gelu"), 0u);
  EXPECT_NE(lines[3].find("100%      76    68.40 us    40.40 us   1.69x       62%  18 fai"),
            std::string::npos)
      << lines[3];
  EXPECT_NE(lines[4].find("20%      15"), std::string::npos) << lines[4];
}

TEST(LiveTableTest, FitsEveryTerminal) {
  LiveTable table(setup(40));
  for (int i = 0; i < 30; ++i) table.update(part("kernel_" + std::to_string(i), 20), i % 3 != 0);
  for (size_t rows : {1, 2, 3, 5, 10, 24, 100})
    for (size_t columns : {1, 2, 10, 30, 60, 80, 300}) {
      const Lines lines = table.frame({rows, columns}, 10);
      EXPECT_LE(lines.size(), std::max<size_t>(rows, 2) - 1);
      for (const std::string& line : lines) {
        EXPECT_LE(line.size(), std::max<size_t>(columns, 2) - 1);
        EXPECT_TRUE(line.empty() || line.back() != ' ');
      }
    }
}

TEST(LiveTableTest, RunningKernelsAndTheLastFinishedAreShownFirst) {
  LiveTable table(setup(40));
  for (int i = 0; i < 20; ++i) table.update(part("done_" + std::to_string(i), 20), true);
  table.update(part("running", 20), false);
  const Lines lines = table.frame({9, 100}, 10);  // three header lines, four kernels, the rest
  ASSERT_EQ(lines.size(), 8u) << joined(lines);
  EXPECT_EQ(lines[3].find("done_17 "), 0u);
  EXPECT_EQ(lines[5].find("done_19 "), 0u);
  EXPECT_EQ(lines[6].find("running "), 0u);
  EXPECT_EQ(lines[7], "... 17 more, 19 waiting");
}

TEST(LiveTableTest, NarrowTerminalsKeepTimesAndGains) {
  LiveTable table(setup(1));
  table.update(testing::tuned_kernel(), false);
  const Lines lines = table.frame({24, 40}, 10);
  EXPECT_TRUE(any_line_has(lines, "40.40 us   1.69x")) << joined(lines);
  EXPECT_FALSE(any_line_has(lines, "f32")) << joined(lines);
}

TEST(LiveTableTest, WhatStaysSaysSo) {
  LiveTable table(setup(1));
  KernelResult kernel = part("matmul", 12);
  kernel.kept = "no finals";
  table.update(kernel, true);
  EXPECT_TRUE(any_line_has(table.frame({24, 120}, 10), "kept: no finals"));
  SweepSetup batches = setup(1);
  batches.one_batch = false;
  LiveTable several(batches);
  several.update(kernel, true);
  EXPECT_FALSE(any_line_has(several.frame({24, 120}, 10), "all launches"));
}

TEST(LiveTableTest, DeviceColumnWhereThereAreSeveral) {
  SweepSetup two = setup(1);
  two.several_devices = true;
  LiveTable table(two), other(setup(1));
  table.update(testing::tuned_kernel(), false);
  other.update(testing::tuned_kernel(), false);
  EXPECT_TRUE(any_line_has(table.frame({24, 120}, 1), "cuda:0"));
  EXPECT_FALSE(any_line_has(other.frame({24, 120}, 1), "cuda:0"));
}

TEST(LiveTableTest, BudgetBoundsTheTimeLeft) {
  SweepSetup short_sweep = setup(4);
  short_sweep.budget_seconds = 20;
  LiveTable table(short_sweep);
  EXPECT_NE(table.frame({24, 80}, 5)[0].find("25%  0/4 kernels  0:05  ETA 0:15"),
            std::string::npos);
  table.update(part("matmul", 10), false);  // at this rate it would take minutes
  EXPECT_NE(table.frame({24, 80}, 10)[0].find("ETA 0:10"), std::string::npos);
}

TEST(LiveTableTest, TrialsOfALogSayNothingOfTheRate) {
  LiveTable table(setup(1));
  KernelResult kernel = part("matmul", 50);
  kernel.resumed = 40;
  table.update(kernel, false);
  const Lines lines = table.frame({24, 80}, 10);
  EXPECT_EQ(lines[1].find("1.0 candidates/s"), 0u) << lines[1];
  EXPECT_NE(lines[0].find("ETA 0:25"), std::string::npos) << lines[0];  // 25 left, one per second
}

TEST(LiveTableTest, ErrorsAndControlCharactersInStatus) {
  LiveTable table(setup(1));
  KernelResult kernel = part("bad\033[2Jname", 1);
  kernel.error = "no\nmemory";
  table.update(kernel, true);
  const Lines lines = table.frame({24, 120}, 10);
  EXPECT_TRUE(any_line_has(lines, "error: no memory")) << joined(lines);
  EXPECT_FALSE(any_line_has(lines, "\033"));
}

TEST(ProgressTest, RewindCountsBrokenLines) {
  EXPECT_EQ(rewind({}, 80), "\r");
  EXPECT_EQ(rewind({"abc", "", "def"}, 80), "\r\033[3A");
  EXPECT_EQ(rewind({std::string(79, 'x'), "abc"}, 40), "\r\033[3A");  // now in two rows
}

TEST(ProgressTest, Texts) {
  EXPECT_EQ(progress_bar(0.5, 10), "[#####.....]");
  EXPECT_EQ(progress_bar(7, 4), "[####]");
  EXPECT_EQ(progress_bar(-1, 4), "[....]");
  EXPECT_EQ(format_clock(42.9), "0:42");
  EXPECT_EQ(format_clock(3722), "1:02:02");
  EXPECT_EQ(fit("abcdef", 4), "abc~");
  EXPECT_EQ(fit("ab", 4), "ab  ");
  EXPECT_EQ(fit("ab", 0), "");
  EXPECT_EQ(printable("a\tb\x7f"), "a?b?");
}

}  // namespace
}  // namespace tcc::tools
