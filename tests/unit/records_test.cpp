// Tuning files: what is written reads back and follows the schema; joining; updating; precedence.
#include "autotune/records.h"

#include <fstream>
#include <random>

#include "autotune/record_file.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/unit/records_fixture.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;

TEST_F(RecordsTest, WhatIsWrittenReadsBack) {
  Record a = example_record("a", 1.25e-6), b = example_record("b", 0.0123457);
  b.environment.driver = "580.0";
  auto files = save_records(store_of({b, a}), folder_ / "new" / "folder");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].filename(), "cuda-sm_90a.pointwise.yaml");
  RecordStore back = load({files[0].parent_path()});
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
  ASSERT_EQ(back.records().size(), 2u);
  a.name = "add_\"relu\"?";
  a.low = 1.2375e-6, a.high = 1.275e-6, a.runners_up[0].seconds = 1.875e-6;  // of six digits
  EXPECT_EQ(back.records().at(a.key), a);
  EXPECT_EQ(back.records().at(b.key).environment, b.environment);
  // Writing what was read changes nothing.
  std::string text = read_file(files[0]);
  save_records(back, files[0].parent_path(), Saving::merge);
  EXPECT_EQ(read_file(files[0]), text);
}

TEST_F(RecordsTest, FilesDoNotDependOnTheOrderOfRecords) {
  Record a = example_record("a", 1e-6), b = example_record("b", 1e-6);
  const Record* one[] = {&a, &b};
  const Record* other[] = {&b, &a};
  EXPECT_EQ(record_file_text(one), record_file_text(other));
}

TEST_F(RecordsTest, AnEnvironmentIsNamedByItsContent) {
  Record a = example_record("a", 1e-6), b = example_record("b", 1e-6);
  b.environment.driver = "580.0";
  const Record* one[] = {&a};
  const Record* both[] = {&a, &b};
  std::string alone = record_file_text(one), together = record_file_text(both);
  size_t reference = alone.find("    environment: ");
  std::string line = alone.substr(reference, alone.find('\n', reference) - reference);
  EXPECT_NE(together.find(line), std::string::npos) << together;
}

TEST_F(RecordsTest, UnchangedFilesAreNotWritten) {
  fs::path file = save_records(store_of({example_record("a", 1e-6)}), folder_)[0];
  auto long_ago = fs::last_write_time(file) - std::chrono::hours(1);
  fs::last_write_time(file, long_ago);
  save_records(store_of({example_record("a", 1e-6)}), folder_);
  EXPECT_EQ(fs::last_write_time(file), long_ago);
}

TEST_F(RecordsTest, DamageIsKeptBesideTheNewFile) {
  fs::path file = folder_ / "cuda-sm_90a.pointwise.yaml";
  std::ofstream(file) << "tcc_tuning: 1\nrecords: []\n";
  save_records(store_of({example_record("a", 1e-6)}), folder_);
  EXPECT_EQ(read_file(file.string() + ".damaged"), "tcc_tuning: 1\nrecords: []\n");
  EXPECT_EQ(load({folder_}).records().size(), 1u);
  EXPECT_TRUE(warnings_.empty());
}

// ---- joining

// Few values, so that keys, environments, times and configs coincide.
Record random_record(std::mt19937& random) {
  auto below = [&](unsigned bound) { return random() % bound; };
  Record record = example_record(std::to_string(below(3)), 1e-6 * (1 + below(3)));
  record.environment.driver = std::vector<std::string>{"570.9", "570.12", ""}[below(3)];
  record.environment.device = below(2) ? "NVIDIA H200" : "NVIDIA H100";
  record.best.set("threads", 32 << below(3));
  record.date = below(2) ? "2026-11-21" : "2026-11-22";
  if (below(2)) record.runners_up.clear();
  return record;
}

RecordStore random_store(std::mt19937& random) {
  RecordStore store;
  for (size_t i = random() % 6; i > 0; --i) store.add(random_record(random));
  return store;
}

RecordStore joined(RecordStore a, const RecordStore& b) {
  a.merge(b);
  return a;
}

TEST_F(RecordsTest, MergingIsASemilattice) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    RecordStore a = random_store(random), b = random_store(random), c = random_store(random);
    EXPECT_EQ(joined(a, a).records(), a.records());
    EXPECT_EQ(joined(a, b).records(), joined(b, a).records());
    EXPECT_EQ(joined(joined(a, b), c).records(), joined(a, joined(b, c)).records());
    EXPECT_EQ(joined(joined(a, b), b).records(), joined(a, b).records());
  }
}

TEST_F(RecordsTest, PreferenceIsAStrictTotalOrder) {
  std::mt19937 random(8);
  for (int i = 0; i < 20000; ++i) {
    Record a = random_record(random), b = random_record(random), c = random_record(random);
    a.key = b.key = c.key;
    EXPECT_EQ(preferred(a, b) + preferred(b, a), a == b ? 0 : 1);
    if (preferred(a, b) && preferred(b, c)) { EXPECT_TRUE(preferred(a, c)); }
  }
}

// The tool merges like this: from files, into files.
TEST_F(RecordsTest, MergedFilesDoNotDependOnTheOrder) {
  std::mt19937 random(9);
  for (int i = 0; i < 20; ++i) {
    RecordStore stores[2];
    for (RecordStore& store : stores) {
      RecordStore unwritten = random_store(random);
      unwritten.add(random_record(random));
      fs::path file = save_records(unwritten, folder_ / "one")[0];
      read_record_path(file, store, [](const std::string& warning) { FAIL() << warning; });
      fs::remove_all(folder_ / "one");
    }
    save_records(stores[0], folder_ / "ab", Saving::merge);
    fs::path ab = save_records(stores[1], folder_ / "ab", Saving::merge)[0];
    save_records(stores[1], folder_ / "ba", Saving::merge);
    fs::path ba = save_records(stores[0], folder_ / "ba", Saving::merge)[0];
    EXPECT_EQ(read_file(ab), read_file(ba));
    fs::remove_all(folder_ / "ab");
    fs::remove_all(folder_ / "ba");
  }
}

TEST_F(RecordsTest, TheNewerEnvironmentThenTheFasterThenTheSmallerHash) {
  Record a = example_record("a", 2e-6), newer = example_record("a", 3e-6);
  a.environment.driver = "570.9";
  newer.environment.driver = "570.12";
  EXPECT_TRUE(preferred(newer, a));
  EXPECT_FALSE(preferred(a, newer));
  Record faster = a;
  faster.seconds = 1e-6;
  EXPECT_TRUE(preferred(faster, a));
  Record other = a;
  other.best = {{"threads", 256}, {"vector", 4}};
  EXPECT_EQ(preferred(other, a), other.best.hash() < a.best.hash());
}

// ---- a sweep's results

// The sweep has compared them in duels: how fast ours was on another day does not count.
TEST_F(RecordsTest, WhatASweepFoundReplacesUnlessItIsTheSame) {
  Record ours = example_record("a", 2e-6);
  auto after = [&](const Record& newer) {
    RecordStore store = store_of({ours});
    store.update(store_of({newer}));
    return store.records().at(ours.key);
  };
  for (const double seconds : {1e-6, 1.99e-6, 3e-6}) {
    Record other = example_record("a", seconds);
    other.best = {{"threads", 256}, {"vector", 4}};
    EXPECT_EQ(after(other), other) << seconds;
  }
  // The old driver's time cannot be compared with the new one's.
  Record elsewhere = example_record("a", 9e-6);
  elsewhere.environment.driver = "580.0";
  EXPECT_EQ(after(elsewhere), elsewhere);
  // The same config again is no news.
  Record again = example_record("a", 1e-6);
  EXPECT_EQ(after(again), ours);
  // But the default's time is, where it was unknown.
  ours.default_seconds = 0;
  EXPECT_EQ(after(again), again);
  again.default_seconds = 0;
  EXPECT_EQ(after(again), ours);
}

TEST_F(RecordsTest, SavingKeepsOtherRecords) {
  save_records(store_of({example_record("a", 2e-6), example_record("b", 2e-6)}), folder_);
  save_records(store_of({example_record("c", 1e-6)}), folder_);
  EXPECT_EQ(load({folder_}).records().size(), 3u);
}

TEST_F(RecordsTest, LaterPathsTakePrecedence) {
  auto three = [](double seconds, std::initializer_list<const char*> names) {
    RecordStore store;
    for (const char* name : names) store.add(example_record(name, seconds));
    return store;
  };
  save_records(three(1e-6, {"a", "b", "c"}), folder_ / "configs/tuned");
  save_records(three(2e-6, {"a", "b"}), folder_ / "env");
  save_records(three(3e-6, {"a"}), folder_ / "option");
  ::setenv("TCC_TUNING_PATH", (folder_ / "env").c_str(), 1);
  RecordStore store = load({folder_ / "option"});
  EXPECT_EQ(store.records().at(example_record("a", 0).key).seconds, 3e-6);
  EXPECT_EQ(store.records().at(example_record("b", 0).key).seconds, 2e-6);
  EXPECT_EQ(store.records().at(example_record("c", 0).key).seconds, 1e-6);
  EXPECT_EQ(default_tuning_folders().size(), 2u);
  EXPECT_THROW(load({folder_ / "nowhere"}), Error);
}

TEST_F(RecordsTest, AMissingPlaceOfTheVariableIsSaid) {
  save_records(store_of({example_record("a", 1e-6)}), folder_ / "env");
  const std::string missing = (folder_ / "nowhere").string();
  ::setenv("TCC_TUNING_PATH", (missing + ":" + (folder_ / "env").string()).c_str(), 1);
  EXPECT_EQ(load({}).records().size(), 1u);
  EXPECT_EQ(warnings_, std::vector{"TCC_TUNING_PATH: no file or folder '" + missing + "'"});
}

TEST_F(RecordsTest, AFolderThatCannotBeWrittenIsRefused) {
  std::ofstream(folder_ / "file") << "x";
  EXPECT_THROW(prepare_record_folder(folder_ / "file"), Error);
  EXPECT_THROW(save_records(store_of({example_record("a", 1e-6)}), folder_ / "file" / "below"),
               Error);
}

TEST_F(RecordsTest, FileNamesStayInTheFolder) {
  EXPECT_EQ(record_file_name("../../etc/x y", "t"), "..-..-etc-x-y.t.yaml");
  EXPECT_LT(record_file_name(std::string(5000, 'd'), std::string(5000, 't')).size(), 200u);
}

}  // namespace
}  // namespace tcc::autotune
