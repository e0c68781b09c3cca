// Tuning files: what is written reads back, merging, precedence, look-up tiers, hostile files.
#include "autotune/records.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "autotune/record_file.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;

class RecordsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              (std::string("tcc_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    ::setenv("TCC_CONFIG_DIR", (folder_ / "configs").c_str(), 1);
    ::unsetenv("TCC_TUNING_PATH");
  }
  void TearDown() override {
    ::unsetenv("TCC_CONFIG_DIR");
    ::unsetenv("TCC_TUNING_PATH");
    fs::remove_all(folder_);
  }

  RecordStore load(const std::vector<fs::path>& paths) {
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

  fs::path folder_;
  std::vector<std::string> warnings_;
};

Record record(const std::string& digits, double seconds) {
  Record record;
  record.key = {"pointwise", 1, std::string(32 - digits.size(), '0') + digits, "cuda:sm_90a"};
  record.name = "add_\"relu\"\n";
  record.operands = "f32[8] -> f32[8]";
  record.environment = {"NVIDIA H200", "570.1", "nvrtc 13.0", "0123"};
  record.best = {{"threads", 128}, {"vector", 4}};
  record.seconds = seconds;
  record.default_seconds = 2 * seconds;
  record.samples = 50;
  record.error = 0.25;
  return record;
}

RecordStore store_of(std::initializer_list<Record> records) {
  RecordStore store;
  for (const Record& r : records) store.add(r);
  return store;
}

const char* const kHead = "tcc_tuning: 1\ndevice: d\ntemplate: pointwise\nrecords:\n";
const char* const kRecord =
    "  - key: \"00000000000000000000000000000001\"\n    version: 1\n    config: {threads: 32}\n"
    "    seconds: 1.5e-06\n";

TEST_F(RecordsTest, WhatIsWrittenReadsBack) {
  Record a = record("a", 1.25e-6), b = record("b", 0.0123457);
  auto files = save_records(store_of({b, a}), folder_ / "new" / "folder");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].filename(), "cuda-sm_90a.pointwise.yaml");
  RecordStore back = load({files[0].parent_path()});
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
  ASSERT_EQ(back.records().size(), 2u);
  const Record& r = back.records().at(a.key);
  EXPECT_EQ(r.name, "add_\"relu\"?");
  EXPECT_EQ(r.operands, a.operands);
  EXPECT_EQ(r.environment, a.environment);
  EXPECT_EQ(r.best, a.best);
  EXPECT_EQ(r.seconds, a.seconds);
  EXPECT_EQ(r.default_seconds, a.default_seconds);
  EXPECT_EQ(r.samples, 50);
  EXPECT_EQ(r.error, 0.25);
  // Writing what was read changes nothing.
  std::string text = read_file(files[0]);
  save_records(back, files[0].parent_path());
  EXPECT_EQ(read_file(files[0]), text);
}

TEST_F(RecordsTest, SavingKeepsTheBetterRecordAndOthers) {
  save_records(store_of({record("a", 2e-6), record("b", 2e-6)}), folder_);
  Record slower = record("a", 3e-6), elsewhere = record("b", 3e-6);
  elsewhere.environment.driver = "580.0";
  save_records(store_of({slower, elsewhere, record("c", 1e-6)}), folder_);
  RecordStore store = load({folder_});
  EXPECT_EQ(store.records().size(), 3u);
  EXPECT_EQ(store.records().at(slower.key).seconds, 2e-6);
  // The old driver's time says nothing about the new one's.
  EXPECT_EQ(store.records().at(elsewhere.key).seconds, 3e-6);
}

TEST_F(RecordsTest, EqualTimesAreDecidedByTheConfig) {
  Record a = record("a", 1e-6), b = a;
  b.best = {{"threads", 256}, {"vector", 4}};
  RecordStore one = store_of({a, b}), other = store_of({b, a});
  EXPECT_EQ(one.records().at(a.key).best, other.records().at(a.key).best);
}

TEST_F(RecordsTest, LaterPathsTakePrecedence) {
  save_records(store_of({record("a", 1e-6), record("b", 1e-6), record("c", 1e-6)}),
               folder_ / "configs/tuned");
  save_records(store_of({record("a", 2e-6), record("b", 2e-6)}), folder_ / "env");
  save_records(store_of({record("a", 3e-6)}), folder_ / "option");
  ::setenv("TCC_TUNING_PATH", (folder_ / "env").c_str(), 1);
  RecordStore store = load({folder_ / "option"});
  EXPECT_EQ(store.records().at(record("a", 0).key).seconds, 3e-6);
  EXPECT_EQ(store.records().at(record("b", 0).key).seconds, 2e-6);
  EXPECT_EQ(store.records().at(record("c", 0).key).seconds, 1e-6);
  EXPECT_EQ(default_tuning_folders().size(), 2u);
  EXPECT_THROW(load({folder_ / "nowhere"}), Error);
}

TEST_F(RecordsTest, DamagedRecordsAreSkippedWithFileAndLine) {
  std::string bad = kRecord;
  bad.replace(bad.find("1.5e-06"), 7, "-1");
  RecordStore store = parse(std::string(kHead) + bad + kRecord);
  EXPECT_EQ(store.records().size(), 1u);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("a.yaml:8: "), std::string::npos) << warnings_[0];
  EXPECT_NE(warnings_[0].find("record skipped"), std::string::npos) << warnings_[0];
}

TEST_F(RecordsTest, HostileFilesAreWarnedAbout) {
  std::string many =
      "  - key: \"00000000000000000000000000000001\"\n    version: 1\n    seconds: 1\n"
      "    config: {";
  for (int i = 0; i < 100; ++i) many += "p" + std::to_string(i) + ": 1, ";
  std::string deep = "tcc_tuning: " + std::string(100000, '[');
  const std::vector<std::string> texts = {
      "",
      "hello",
      "[1, 2]",
      "{",
      deep,
      "a: &a [*a]",
      "tcc_tuning: 2\n",
      "tcc_tuning: x\n",
      "tcc_tuning: 1\ndevice: d\n",
      "tcc_tuning: 1\ndevice: d\ntemplate: \"../x\"\nrecords: []\n",
      "tcc_tuning: 1\ndevice: d\ntemplate: t\nrecords: {a: 1}\n",
      std::string(kHead) + "  - 7\n",
      std::string(kHead) + "  - {key: xyz, version: 1, config: {a: 1}, seconds: 1}\n",
      std::string(kHead) + "  - {key: " + std::string(32, '1') +
          ", version: 99999999999, config: {a: 1}, seconds: 1}\n",
      std::string(kHead) + "  - {key: " + std::string(32, 'a') +
          ", version: 1, config: {a: 9e99}, seconds: 1}\n",
      std::string(kHead) + "  - {key: " + std::string(32, 'a') +
          ", version: 1, config: {a: 1}, seconds: .nan}\n",
      std::string(kHead) + "  - {key: " + std::string(32, 'a') +
          ", version: 1, config: {\"a b\": 1}, seconds: 1}\n",
      std::string(kHead) + "  - {name: " + std::string(5000, 'n') +
          ", key: " + std::string(32, 'a') + ", version: 1, config: {a: 1}, seconds: 1}\n",
      std::string(kHead) + many + "}\n",
  };
  for (const std::string& text : texts) {
    EXPECT_TRUE(parse(text).records().empty()) << text.substr(0, 200);
    ASSERT_EQ(warnings_.size(), 1u) << text.substr(0, 200);
    EXPECT_EQ(warnings_[0].rfind("a.yaml", 0), 0u) << warnings_[0];
    EXPECT_EQ(warnings_[0].find('\n'), std::string::npos) << warnings_[0];
  }
}

TEST_F(RecordsTest, AFolderThatCannotBeWrittenIsRefused) {
  std::ofstream(folder_ / "file") << "x";
  EXPECT_THROW(prepare_record_folder(folder_ / "file"), Error);
  EXPECT_THROW(save_records(store_of({record("a", 1e-6)}), folder_ / "file" / "below"), Error);
}

TEST_F(RecordsTest, FileNamesStayInTheFolder) {
  EXPECT_EQ(record_file_name("../../etc/x y", "t"), "..-..-etc-x-y.t.yaml");
  EXPECT_LT(record_file_name(std::string(5000, 'd'), std::string(5000, 't')).size(), 200u);
}

// ---- look-up

class LookUpTest : public RecordsTest {
 protected:
  void SetUp() override {
    RecordsTest::SetUp();
    ::unsetenv("TCC_CONFIG_DIR");  // of the targets
    target_ = sched::target_by_name("cuda:sm_90a");
    graph_ = parse_yaml_graph(
        "tcc: 1\nname: g\ninputs: {x: {dtype: f32, shape: [64]}}\n"
        "nodes: [{out: y, op: relu, in: [x]}]\noutputs: [y]\n",
        "g.yaml", ".");
    scheduled_ = backends::schedule(graph_, target_);
    ASSERT_EQ(scheduled_.regions.size(), 1u);
  }

  const sched::Region& region() const { return scheduled_.regions[0]; }
  const sched::Template& kernel_template() const { return sched::template_for(region(), target_); }
  // Of another config than the default.
  Record fitting() const {
    Record r = record("", 1e-6);
    r.key = key_of(kernel_template(), region(), target_);
    sched::ConfigSpace space = kernel_template().space(region(), target_);
    r.environment = environment_of(space, target_);
    sched::Config standard = kernel_template().default_config(region(), target_);
    space.enumerate([&](const sched::Config& config) {
      r.best = config;
      return config == standard;
    });
    return r;
  }
  sched::Tier tier(const Record& r) const {
    RecordStore store;
    store.add(r);
    return store.choose(kernel_template(), region(), target_).tier;
  }

  sched::Target target_;
  ir::Graph graph_;
  backends::Scheduled scheduled_;
};

TEST_F(LookUpTest, Tiers) {
  Record r = fitting();
  EXPECT_EQ(tier(r), sched::Tier::exact);
  EXPECT_EQ(store_of({r}).choose(kernel_template(), region(), target_).config, r.best);

  Record other = r;
  other.environment.space = "0";
  EXPECT_EQ(tier(other), sched::Tier::stale);
  other = r;
  other.key.version += 1;
  EXPECT_EQ(tier(other), sched::Tier::analytic);
  other = r;
  other.best.set("threads", 31);  // not legal today
  EXPECT_EQ(tier(other), sched::Tier::analytic);
  other = r;
  other.key.device = "cuda:sm_80";
  EXPECT_EQ(tier(other), sched::Tier::analytic);
}

TEST_F(LookUpTest, AnotherDriverOrDeviceOfTheArchitecture) {
  target_.device = "NVIDIA H200";
  target_.driver = "570.1";
  Record r = fitting();
  EXPECT_EQ(tier(r), sched::Tier::exact);
  r.environment.driver = "560.0";
  EXPECT_EQ(tier(r), sched::Tier::stale);
  r.environment.device = "NVIDIA H100";
  EXPECT_EQ(tier(r), sched::Tier::device);
}

TEST_F(LookUpTest, OperandsNameTypes) {
  EXPECT_EQ(operands_text(region()), "f32[64] -> f32[64]");
  EXPECT_EQ(key_of(kernel_template(), region(), target_).region.size(), 32u);
}

}  // namespace
}  // namespace tcc::autotune
