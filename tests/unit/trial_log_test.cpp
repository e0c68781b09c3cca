// The trial log: what is written reads back, a killed writer damages one line at most, hostile
// logs.
#include "autotune/trial_log.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/error.h"
#include "support/file.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;

class TrialLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(::testing::TempDir()) /
        (std::string("tcc_log_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "trials.jsonl";
  }
  void TearDown() override { fs::remove_all(folder_); }

  TrialHistory read(const fs::path& path) {
    warnings_.clear();
    return read_trial_log(path, [&](const std::string& text) { warnings_.push_back(text); });
  }
  TrialHistory read_text(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return read(path_);
  }

  fs::path folder_, path_;
  std::vector<std::string> warnings_;
};

LoggedTask task(const std::string& region = std::string(32, 'a')) {
  LoggedTask task;
  task.key = {"contraction", 3, region, "cuda:sm_90a"};
  task.name = "linear_\"gelu\"";
  task.operands = "f32[32, 784] -> f32[32, 512]";
  task.environment = {"NVIDIA H200", "570.1", "nvrtc", "01", "nvidia", {{"compute_units", 132}}};
  task.space.parameters = {{"block_m", {16, 32, 64}, "rows"}, {"stages", {1, 2}, ""}};
  task.default_config = {{"block_m", 32}, {"stages", 1}};
  task.bound_seconds = 1.25e-6;
  return task;
}

LoggedTrial trial(int64_t block, Effort effort = Effort::full) {
  LoggedTrial trial;
  trial.config = {{"block_m", block}, {"stages", 2}};
  trial.effort = effort;
  trial.estimate = 1e-5 / 3;
  trial.compile_seconds = 0.25;
  trial.result.status = Measurement::Status::measured;
  trial.result.seconds = 1e-5 / 7;
  trial.result.low = 1e-5 / 8;
  trial.result.high = 1e-5 / 6;
  trial.result.samples = {1e-5 / 7, 1e-5 / 9};
  trial.result.error = 0.1;
  trial.result.clocks = {1980, 3201, "power cap"};
  return trial;
}

void write_small_log(const fs::path& path) {
  auto log = open_trial_log(path);
  log->begin(task());
  log->append(task().key, trial(16));
  log->append(task().key, trial(32));
}

TEST_F(TrialLogTest, WhatIsWrittenReadsBack) {
  LoggedTrial crashed = trial(64, Effort::quick);
  crashed.result = {};
  crashed.result.status = Measurement::Status::crashed;
  crashed.result.error = INFINITY;
  crashed.result.reason = "SIGSEGV\n\"quoted\" \xff" + std::string(5000, 'x');
  write_small_log(path_);
  open_trial_log(path_)->append(task().key, crashed);

  TrialHistory history = read(path_);
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
  ASSERT_EQ(history.size(), 1u);
  const auto& [back, trials] = history.at(task().key);
  EXPECT_EQ(back.key, task().key);
  EXPECT_EQ(back.name, task().name);
  EXPECT_EQ(back.operands, task().operands);
  EXPECT_EQ(back.environment, task().environment);
  EXPECT_EQ(back.default_config, task().default_config);
  EXPECT_EQ(back.bound_seconds, task().bound_seconds);
  ASSERT_EQ(back.space.parameters.size(), 2u);
  EXPECT_EQ(back.space.hash(), task().space.hash());
  ASSERT_EQ(trials.size(), 3u);
  const Measurement &measured = trials[0].result, expected = trial(16).result;
  EXPECT_EQ(trials[0].config, trial(16).config);
  EXPECT_EQ(trials[0].effort, Effort::full);
  EXPECT_EQ(trials[0].estimate, trial(16).estimate);
  EXPECT_EQ(trials[0].compile_seconds, 0.25);
  EXPECT_EQ(measured.status, expected.status);
  EXPECT_EQ(measured.seconds, expected.seconds);  // every digit
  EXPECT_EQ(measured.low, expected.low);
  EXPECT_EQ(measured.high, expected.high);
  EXPECT_EQ(measured.samples, expected.samples);
  EXPECT_EQ(measured.clocks.sm_mhz, 1980);
  EXPECT_EQ(measured.clocks.throttle, "power cap");
  EXPECT_EQ(trials[2].effort, Effort::quick);
  EXPECT_EQ(trials[2].result.status, Measurement::Status::crashed);
  EXPECT_TRUE(std::isinf(trials[2].result.error));
  EXPECT_TRUE(trials[2].result.reason.starts_with("SIGSEGV\n\"quoted\" "));
  EXPECT_LE(trials[2].result.reason.size(), 1010u);
}

// Each line says which kernel it is of; logs of trials that do not are read all the same.
TEST_F(TrialLogTest, TrialsNameTheirKernel) {
  write_small_log(path_);
  std::string text = read_file(path_);
  const std::string words[] = {"\"region\":\"" + task().key.region + "\",",
                               ",\"template\":\"contraction\""};
  const size_t first = text.find('\n') + 1, second = text.find('\n', first) + 1;
  for (const std::string& word : words) {
    const size_t at = text.find(word, second);
    ASSERT_NE(at, std::string::npos) << word << " in " << text;
    EXPECT_LT(text.find(word, first), second);
    text.erase(at, word.size());
  }
  EXPECT_EQ(read_text(text).at(task().key).trials.size(), 2u);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(TrialLogTest, TheLastOfEqualTrialsCounts) {
  auto log = open_trial_log(path_);
  log->begin(task());
  LoggedTrial again = trial(16);
  again.result.seconds = 5e-6;
  log->append(task().key, trial(16));
  log->append(task().key, trial(16, Effort::quick));
  log->append(task().key, again);
  auto trials = read(path_).at(task().key).trials;
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[0].effort, Effort::quick);
  EXPECT_EQ(trials[1].result.seconds, 5e-6);
}

// A killed process leaves a prefix of its log: every whole line of it counts, and so do lines that
// are appended later.
TEST_F(TrialLogTest, ATruncatedLogLosesItsLastLineAtMost) {
  write_small_log(path_);
  const std::string whole = read_file(path_);
  size_t lines = 0;
  for (size_t size = 0; size <= whole.size(); ++size) {
    if (size > 0 && whole[size - 1] == '\n') ++lines;
    // A line that lacks its end alone is whole.
    bool unended = size < whole.size() && whole[size] == '\n';
    size_t expected = lines + (unended ? 1 : 0);
    TrialHistory history = read_text(whole.substr(0, size));
    EXPECT_EQ(history.size(), expected > 0 ? 1u : 0u) << size;
    if (!history.empty()) { EXPECT_EQ(history.at(task().key).trials.size(), expected - 1) << size; }
    EXPECT_LE(warnings_.size(), 1u) << size;

    auto log = open_trial_log(path_);
    log->begin(task());
    log->append(task().key, trial(64));
    log.reset();
    history = read(path_);
    ASSERT_EQ(history.size(), 1u) << size;
    EXPECT_EQ(history.at(task().key).trials.size(), std::max<size_t>(expected, 1)) << size;
    EXPECT_LE(warnings_.size(), 1u) << size;
  }
}

TEST_F(TrialLogTest, DamagedLinesAreSkippedWithFileAndLine) {
  write_small_log(path_);
  std::string text = read_file(path_);
  text.insert(text.find('\n') + 1, "{\"trial\": damage\n\n");
  TrialHistory history = read_text(text);
  EXPECT_EQ(history.at(task().key).trials.size(), 2u);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(warnings_[0], path_.string() + ":2: no JSON; line skipped");
}

TEST_F(TrialLogTest, HostileLinesAreSkipped) {
  write_small_log(path_);
  const std::string log = read_file(path_);
  const std::string head = log.substr(0, log.find('\n') + 1);
  std::string line = log.substr(head.size());
  line.resize(line.find('\n'));
  auto with = [&](const std::string& from, const std::string& to) {
    std::string text = line;
    EXPECT_NE(text.find(from), std::string::npos) << from << " in " << line;
    return text.replace(text.find(from), from.size(), to);
  };
  std::string samples = "\"samples\":[1";
  for (int i = 0; i < 5000; ++i) samples += ",1";
  std::vector<std::string> lines = {
      "[]",
      "7",
      "null",
      "{}",
      "\x01\x02\xff",
      std::string(100000, '['),
      "{\"trial\":" + std::string(1000, '{'),
      std::string((1 << 20) + 1, ' '),
      "{\"tcc_trials\":2}",
      "{\"tcc_trials\":\"1\"}",
      "{\"tcc_trials\":1}",
      with("\"trial\":\"", "\"trial\":\"0"),
      with("\"stages\":2", "\"stages\":2.5"),
      with("\"stages\":2", "\"stages\":18446744073709551615"),
      with("\"stages\":2", "\"stages\":1e999"),
      with("\"stages\":2", "\"stages\":-9223372036854775808"),
      with("\"stages\":2", "\"stages\":{\"a\":[1]}"),
      with("\"full\"", "\"some\""),
      with("\"full\"", "1"),
      with("\"measured\"", "\"fine\""),
      with("\"median\":", "\"median\":-"),
      with("\"median\":", "\"median\":0,\"m\":"),
      with("\"median\":", "\"median\":null,\"m\":"),
      with("\"estimate\":", "\"estimate\":\"\",\"e\":"),
      with("\"samples\":[", "\"samples\":[0,"),
      with("\"samples\":[", "\"samples\":{},\"s\":["),
      with("\"samples\":[", samples + ","),
      with("\"clocks\":{", "\"clocks\":[],\"c\":{"),
      with("\"reason\":\"", "\"reason\":\"" + std::string(5000, 'r')),
      with("\"error\":0.1", "\"error\":-1"),
      with("\"config\":{", "\"config\":{},\"c\":{"),
  };
  for (const std::string& hostile : lines) {
    TrialHistory history = read_text(head + hostile + "\n" + line + "\n");
    SCOPED_TRACE(hostile.substr(0, 200));
    EXPECT_EQ(history.at(task().key).trials.size(), 1u);
    ASSERT_EQ(warnings_.size(), 1u);
    EXPECT_TRUE(warnings_[0].starts_with(path_.string() + ":2: ")) << warnings_[0];
    EXPECT_TRUE(warnings_[0].ends_with("; line skipped")) << warnings_[0];
  }
}

TEST_F(TrialLogTest, ManyDamagedLinesGiveFewWarnings) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "damage\n";
  EXPECT_TRUE(read_text(text).empty());
  EXPECT_EQ(warnings_.size(), 21u);
  EXPECT_NE(warnings_.back().find("980 more lines skipped"), std::string::npos);
}

TEST_F(TrialLogTest, Gzip) {
  write_small_log(path_);
  const std::string text = read_file(path_);
  const fs::path packed = folder_ / "trials.jsonl.gz";
  gzFile file = gzopen(packed.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  EXPECT_EQ(read(packed).at(task().key).trials.size(), 2u);
  EXPECT_TRUE(warnings_.empty());
  EXPECT_THROW(open_trial_log(packed), Error);  // appending to it would damage it

  std::string bytes = read_file(packed);
  std::ofstream(packed, std::ios::binary) << bytes.substr(0, bytes.size() - 12);
  read(packed);
  ASSERT_FALSE(warnings_.empty());
  EXPECT_TRUE(warnings_[0].starts_with(packed.string())) << warnings_[0];
  for (size_t i = 12; i < bytes.size(); i += 3) bytes[i] = static_cast<char>(~bytes[i]);
  std::ofstream(packed, std::ios::binary) << bytes;
  read(packed);
  EXPECT_FALSE(warnings_.empty());
}

// A few kilobytes that unpack to gigabytes: one line is too long, and the rest is not read.
TEST_F(TrialLogTest, AGzipBombIsBounded) {
  const fs::path packed = folder_ / "bomb.gz";
  gzFile file = gzopen(packed.c_str(), "wb1");
  const std::string zeros(1 << 22, '0');
  for (int i = 0; i < 130; ++i) gzwrite(file, zeros.data(), static_cast<unsigned>(zeros.size()));
  gzclose(file);
  EXPECT_TRUE(read(packed).empty());
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_NE(warnings_[0].find("more than 512 MiB; the rest is not read"), std::string::npos);
}

TEST_F(TrialLogTest, WritersOfOneFileDoNotMixLines) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      auto log = open_trial_log(path_);
      log->begin(task());
      for (int i = 0; i < 50; ++i) log->append(task().key, trial(100 * t + i));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read(path_).at(task().key).trials.size(), 200u);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(TrialLogTest, MissingAndImpossibleFiles) {
  EXPECT_TRUE(read(folder_ / "nowhere").empty());
  EXPECT_TRUE(warnings_.empty());
  EXPECT_TRUE(read(folder_).empty());
  EXPECT_EQ(warnings_.size(), 1u);
  EXPECT_THROW(open_trial_log(folder_), Error);
  EXPECT_THROW(open_trial_log(folder_ / "no" / "such" / "folder"), Error);
  EXPECT_THROW(open_trial_log("/dev/full"), Error);
}

}  // namespace
}  // namespace tcc::autotune
