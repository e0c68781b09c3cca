// Tuning records for tests, and a folder for their files that nothing else looks into.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "autotune/record_file.h"
#include "autotune/records.h"

namespace tcc::autotune {

inline Record example_record(const std::string& digits, double seconds) {
  Record record;
  record.key = {"pointwise", 1, std::string(32 - digits.size(), '0') + digits, "cuda:sm_90a"};
  record.name = "add_\"relu\"\n";
  record.operands = "f32[8] -> f32[8]";
  record.family = std::string(32, 'f');
  record.extents = {8, 8};
  record.environment = {"NVIDIA H200", "570.1",  "nvrtc 13.0",
                        "0123",        "nvidia", {{"compute_units", 132}, {"wgmma", 1}}};
  record.best = {{"threads", 128}, {"vector", 4}};
  record.seconds = seconds;
  record.low = 0.99 * seconds;
  record.high = 1.02 * seconds;
  record.default_seconds = 2 * seconds;
  record.samples = 50;
  record.error = 0.25;
  record.runners_up = {{{{"threads", 64}, {"vector", 4}}, 1.5 * seconds, 0, 0}};
  record.policy = "median of 50, cold L2";
  record.tcc = "0.1.0";
  record.date = "2026-11-21";
  return record;
}

inline RecordStore store_of(std::initializer_list<Record> records) {
  RecordStore store;
  for (const Record& record : records) store.add(record);
  return store;
}

class RecordsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(::testing::TempDir()) /
        (std::string("tcc_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "configs");
    ::setenv("TCC_CONFIG_DIR", (folder_ / "configs").c_str(), 1);
    ::unsetenv("TCC_TUNING_PATH");
  }
  void TearDown() override {
    ::unsetenv("TCC_CONFIG_DIR");
    ::unsetenv("TCC_TUNING_PATH");
    std::filesystem::remove_all(folder_);
  }

  RecordStore load(const std::vector<std::filesystem::path>& paths) {
    warnings_.clear();
    return load_records(paths, [&](const std::string& text) { warnings_.push_back(text); });
  }
  // Reads `text` as "a.yaml".
  RecordStore parse(const std::string& text) {
    warnings_.clear();
    RecordStore store;
    read_record_text(text, "a.yaml", store,
                     [&](const std::string& warning) { warnings_.push_back(warning); });
    return store;
  }

  std::filesystem::path folder_;
  std::vector<std::string> warnings_;
};

}  // namespace tcc::autotune
