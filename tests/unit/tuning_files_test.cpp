// The tuning files of a compilation: the answers are those of the parsed files, whatever state the
// indexes on disk are in, and reading an index is fast.
#include "autotune/tuning_files.h"

#include <ctime>
#include <random>
#include <thread>

#include "autotune/record_index.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/sanitized.h"
#include "tests/source_dir.h"
#include "tests/unit/records_fixture.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;

class TuningFilesTest : public RecordsTest {
 protected:
  void SetUp() override {
    RecordsTest::SetUp();
    fs::create_directories(tuned());
    forget_tuning_files();
  }

  fs::path tuned() const { return folder_ / "tuned"; }
  fs::path cache() const { return folder_ / "cache"; }

  TuningFiles open(const fs::path& cache, sched::Api api = sched::Api::cuda) {
    warnings_.clear();
    return open_tuning_files({tuned()}, api, cache,
                             [&](const std::string& text) { warnings_.push_back(text); });
  }
  TuningFiles open() { return open(cache()); }

  std::vector<fs::path> indexes() const {
    std::vector<fs::path> files;
    std::error_code error;
    for (fs::recursive_directory_iterator entry(cache(), error), end; !error && entry != end;
         entry.increment(error))
      if (entry->is_regular_file()) files.push_back(entry->path());
    return files;
  }

  // Gives the threads of the kernel with the digits; 0: there is none.
  static int64_t threads(const TuningFiles& files, const std::string& digits) {
    const RecordKey key = example_record(digits, 1e-6).key;
    const RecordStore store = files.records(key, "");
    const auto found = store.records().find(key);
    return found == store.records().end() ? 0 : found->second.best["threads"];
  }

  static Record record(const std::string& digits, int64_t threads) {
    Record r = example_record(digits, 1e-6);
    r.best = {{"threads", threads}, {"vector", 4}};
    return r;
  }
};

// Regions of models, as they are compiled for a target.
struct Regions {
  Regions(const std::string& model, const std::string& target_name)
      : target(sched::target_by_name(target_name)),
        scheduled(backends::schedule(
            load_graph(testing::source_dir() / "configs/models" / (model + ".yaml")), target)) {}
  sched::Target target;
  backends::Scheduled scheduled;
};

TEST_F(TuningFilesTest, AnswerAsTheParsedFilesDo) {
  ::unsetenv("TCC_CONFIG_DIR");
  int known = 0, all = 0;
  for (const char* target : {"cuda:sm_90a", "cuda:sm_80", "vulkan:llvmpipe:sg8", "vulkan"})
    for (const char* model : {"mlp", "transformer-encoder-layer"}) {
      const Regions regions(model, target);
      const RecordStore expected = load_records({}, [](const auto&) {});
      for (const bool in_memory : {false, true, false}) {  // parsed, known, from indexes
        if (!in_memory) forget_tuning_files();
        const TuningFiles files =
            open_tuning_files({}, regions.target.api, cache(), [](const auto&) {});
        for (const sched::ScheduledRegion& region : regions.scheduled.regions) {
          const sched::ConfigChoice got = files.choose(region.candidate());
          const sched::ConfigChoice want = expected.choose(region.candidate());
          EXPECT_EQ(got.config, want.config) << target << " " << region.region().name();
          EXPECT_EQ(got.tier, want.tier) << target << " " << region.region().name();
          known += want.tier != sched::Tier::analytic;
          ++all;
        }
      }
    }
  EXPECT_GT(known, 0);
  EXPECT_LT(known, all);
}

// A config that somebody edited is not used, and it is not passed over in silence.
TEST_F(TuningFilesTest, WarnOfIllegalRecordsOnce) {
  const Regions regions("transformer-encoder-layer", "cuda:sm_90a");
  RecordStore store;
  for (const sched::ScheduledRegion& region : regions.scheduled.regions) {
    const sched::Candidate& candidate = region.candidate();
    Record record;
    record.key = key_of(candidate);
    record.environment = environment_of(candidate.space(), regions.target);
    record.tcc = tcc_version();
    record.best = {{"block_k", 17}};
    record.seconds = 1e-6;
    store.add(record);
  }
  const size_t records = store.records().size(), files = save_records(store, tuned()).size();
  ASSERT_GT(records, files);
  for (int time = 0; time < 2; ++time) {
    {
      const TuningFiles open_files = open();
      for (int again = 0; again < 2; ++again)
        for (const sched::ScheduledRegion& region : regions.scheduled.regions)
          EXPECT_EQ(open_files.choose(region.candidate()).config,
                    region.candidate().default_config());
      EXPECT_EQ(warnings_.size(), 0u);
      open_files.warn_of_illegal([&](const auto& text) { warnings_.push_back(text); });
    }
    ASSERT_EQ(warnings_.size(), files);
    size_t warned = 0;
    for (const std::string& warning : warnings_) {
      const std::string path = warning.substr(0, warning.find(": "));
      EXPECT_TRUE(fs::exists(path)) << warning;
      EXPECT_TRUE(warning.ends_with(" not legal here, and not used; see tcc-tune why")) << warning;
      warned += std::stoul(warning.substr(path.size() + 2));
    }
    EXPECT_EQ(warned, records);
  }
  // A legal record elsewhere takes their place, and there is nothing to say.
  RecordStore right;
  for (const sched::ScheduledRegion& region : regions.scheduled.regions) {
    Record record = store.records().at(key_of(region.candidate()));
    record.best = region.candidate().default_config();
    right.add(record);
  }
  save_records(right, folder_ / "newer");
  warnings_.clear();
  {
    const TuningFiles both =
        open_tuning_files({tuned(), folder_ / "newer"}, sched::Api::cuda, cache(),
                          [&](const std::string& text) { warnings_.push_back(text); });
    for (const sched::ScheduledRegion& region : regions.scheduled.regions)
      EXPECT_EQ(both.choose(region.candidate()).tier, sched::Tier::exact);
    both.warn_of_illegal([&](const auto& text) { warnings_.push_back(text); });
  }
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(TuningFilesTest, ReadTheOtherApisFilesOnlyWhenAsked) {
  Record other = record("2", 64);
  other.key.device = "vulkan:llvmpipe:sg8";
  save_records(store_of({record("1", 128), other}), tuned());
  EXPECT_EQ(open().size(), 1u);
  EXPECT_EQ(indexes().size(), 1u);
  EXPECT_EQ(open(cache(), sched::Api::vulkan).size(), 1u);
  EXPECT_EQ(indexes().size(), 2u);
  forget_tuning_files();
  EXPECT_EQ(open().size(), 1u);
  EXPECT_EQ(threads(open(), "1"), 128);
}

TEST_F(TuningFilesTest, SeeThatAFileHasChanged) {
  save_records(store_of({record("1", 128)}), tuned());
  EXPECT_EQ(threads(open(), "1"), 128);
  // In place, at once, of the same size: nothing but the content tells, if the clock is coarse.
  const fs::path file = tuned() / "cuda-sm_90a.pointwise.yaml";
  std::string text = read_file(file);
  for (const int64_t value : {256, 512, 128}) {
    const size_t at = text.find("threads: ") + 9;
    text.replace(at, 3, std::to_string(value));
    std::FILE* out = std::fopen(file.c_str(), "r+");
    ASSERT_TRUE(out);
    std::fwrite(text.data(), 1, text.size(), out);
    std::fclose(out);
    EXPECT_EQ(threads(open(), "1"), value);
    forget_tuning_files();
    EXPECT_EQ(threads(open(), "1"), value) << "from the index";
  }
  save_records(store_of({record("2", 64)}), tuned());
  EXPECT_EQ(threads(open(), "2"), 64);
  fs::remove(file);
  EXPECT_EQ(threads(open(), "2"), 0);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(TuningFilesTest, LaterPathsComeFirst) {
  save_records(store_of({record("1", 128), record("2", 64)}), tuned());
  save_records(store_of({record("1", 32)}), folder_ / "newer");
  const TuningFiles files = open_tuning_files({tuned(), folder_ / "newer"}, sched::Api::cuda,
                                              cache(), [](const auto&) {});
  EXPECT_EQ(threads(files, "1"), 32);
  EXPECT_EQ(threads(files, "2"), 64);
  EXPECT_THROW(open_tuning_files({folder_ / "none"}, sched::Api::cuda, cache(), [](auto&) {}),
               Error);
}

TEST_F(TuningFilesTest, NeedNoFolderForIndexes) {
  save_records(store_of({record("1", 128)}), tuned());
  write_file_atomic(folder_ / "file", "no folder");
  for (const fs::path& unusable : {fs::path(), folder_ / "file", folder_ / "file/below"}) {
    forget_tuning_files();
    EXPECT_EQ(threads(open(unusable), "1"), 128);
    EXPECT_EQ(threads(open(unusable), "1"), 128);
    EXPECT_TRUE(warnings_.empty());
  }
}

TEST_F(TuningFilesTest, WarnEveryTimeOfWhatIsSkipped) {
  save_records(store_of({record("1", 128), record("2", 96)}), tuned());
  const fs::path file = tuned() / "cuda-sm_90a.pointwise.yaml";
  std::string text = read_file(file);
  const size_t at = text.find("threads: 96");
  text.replace(at, 11, "threads: xx");
  write_file_atomic(file, text);
  write_file_atomic(tuned() / "b.yaml", "no: tuning file\n");
  for (const bool begin : {true, false, true}) {
    if (begin) forget_tuning_files();
    EXPECT_EQ(threads(open(), "1"), 128);
    EXPECT_EQ(threads(open(), "2"), 0);
    open();
    ASSERT_EQ(warnings_.size(), 2u);
    EXPECT_NE(warnings_[0].find("b.yaml:1: is no tuning file"), std::string::npos) << warnings_[0];
    EXPECT_NE(warnings_[1].find("record skipped"), std::string::npos) << warnings_[1];
  }
}

TEST_F(TuningFilesTest, DamagedIndexesAreMadeAgain) {
  save_records(store_of({record("1", 128), record("2", 64)}), tuned());
  open();
  ASSERT_EQ(indexes().size(), 1u);
  const fs::path index = indexes()[0];
  const std::string good = read_file(index);
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    std::string bad = good;
    if (round == 0)
      bad.clear();
    else if (round < 20)
      bad.resize(random() % good.size());
    else
      bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
    write_file_atomic(index, bad);
    forget_tuning_files();
    EXPECT_EQ(threads(open(), "1"), 128);
    EXPECT_EQ(threads(open(), "2"), 64);
    EXPECT_TRUE(warnings_.empty());
    EXPECT_TRUE(RecordIndex::decode(read_file(index)));
  }
  // Another file's index under this one's name.
  save_records(store_of({record("1", 32)}), folder_ / "other");
  open_tuning_files({folder_ / "other"}, sched::Api::cuda, cache(), [](auto&) {});
  ASSERT_EQ(indexes().size(), 2u);
  for (const fs::path& one : indexes())
    if (one != index) fs::copy_file(one, index, fs::copy_options::overwrite_existing);
  forget_tuning_files();
  EXPECT_EQ(threads(open(), "1"), 128);
}

// The indexes have a right checksum, so that everything after it is read.
TEST_F(TuningFilesTest, ForgedIndexesAreHarmless) {
  const RecordStore store = store_of({record("1", 128), record("2", 64), record("3", 32)});
  std::vector<const Record*> records;
  for (const auto& [key, one] : store.records()) records.push_back(&one);
  const std::string good =
      RecordIndex::parse(record_file_text(records), "a.yaml", IndexSource{}).bytes();
  std::mt19937 random(2);
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes)
      bad[random() % bad.size()] = static_cast<char>(random() % 3 ? random() : 0xff);
    const auto index = RecordIndex::decode(sealed_index(bad));
    if (!index) continue;
    ++read;
    RecordStore out;
    PlanStore plans;
    try {
      index->add_family(1, std::string(32, 'f'), out);
      for (const Record* one : records) index->add_region(1, one->key.region, out);
      for (const Record* one : records) index->add_plans(one->key.region, plans);
    } catch (const Error&) {}
    EXPECT_LE(out.records().size(), 10u);
  }
  EXPECT_GT(read, 1000);
}

TEST_F(TuningFilesTest, HaveThePlans) {
  PlanRecord plan;
  plan.key = {"cuda:sm_90a", "split_k", std::string(32, 'a')};
  plan.choice = 4;
  plan.default_choice = 1;
  plan.seconds = {{1, 2e-6}, {4, 1e-6}};
  plan.date = "2026-11-21";
  PlanStore store;
  store.add(plan);
  save_plans(store, tuned());
  sched::PlanSite site{"split_k", std::string(32, 'a'), {1, 2, 4}, 1, "site"};
  sched::Target target = sched::target_by_name("cuda:sm_90a");
  for (const bool begin : {true, false, true}) {
    if (begin) forget_tuning_files();
    EXPECT_EQ(open().choose(site, target), 4);
  }
  site.alternatives = {1, 2};
  EXPECT_EQ(open().choose(site, target), 1);
  site.alternatives = {1, 2, 4};
  site.kind = "fuse";
  EXPECT_EQ(open().choose(site, target), 1);
  EXPECT_EQ(open().choose(site, sched::target_by_name("cuda:sm_80")), 1);
}

TEST_F(TuningFilesTest, AreSharedByThreads) {
  for (const char* digits : {"1", "2", "3"}) {
    Record one = record(digits, 128);
    one.key.kernel_template = std::string("template_") + digits;
    save_records(store_of({one}), tuned());
  }
  std::atomic<int> wrong = 0;
  const auto work = [&] {
    for (int i = 0; i < 20; ++i) {
      if (i % 5 == 0) forget_tuning_files();
      const TuningFiles files =
          open_tuning_files({tuned()}, sched::Api::cuda, cache(), [&](auto&) { ++wrong; });
      RecordKey key = example_record("2", 1e-6).key;
      key.kernel_template = "template_2";
      if (files.size() != 3 || files.records(key, "").records().size() != 1) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Seconds of this thread.
double cpu_seconds() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST_F(TuningFilesTest, TenThousandRecordsTakeAtMostTwoMilliseconds) {
  constexpr int kTemplates = 5, kEach = 2000;
  std::mt19937_64 random(3);
  for (int t = 0; t < kTemplates; ++t) {
    RecordStore store;
    for (int i = 0; i < kEach; ++i) {
      Record one = example_record("", 1e-6);
      one.key.kernel_template = str("template_", t);
      one.key.region = hash_of(str(t, " ", i)).hex();
      one.family = hash_of(str(t, " ", i % 50)).hex();
      one.best = {{"block_m", 128}, {"block_n", 256}, {"stages", 4}, {"cluster", 2},
                  {"split", 1},     {"group", 8},     {"warps", 8},  {"swizzle", i}};
      one.runners_up.clear();
      store.add(one);
    }
    save_records(store, tuned());
  }
  // The stamps of files that have just been written do not suffice.
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_EQ(open().size(), size_t{kTemplates} * kEach);
  RecordKey key = example_record("", 1e-6).key;
  key.kernel_template = "template_3";
  key.region = hash_of("3 77").hex();
  double first = 1, next = 1;
  for (int i = 0; i < 20; ++i) {
    forget_tuning_files();
    double start = cpu_seconds();
    EXPECT_EQ(open().records(key, "", false).records().at(key).best["swizzle"], 77);
    first = std::min(first, cpu_seconds() - start);
    start = cpu_seconds();
    EXPECT_EQ(open().records(key, "", false).records().size(), 1u);
    next = std::min(next, cpu_seconds() - start);
  }
  std::printf("10,000 records: %.2f ms in a new process, %.3f ms afterwards\n", first * 1e3,
              next * 1e3);
  if (test::kSanitized) return;
  EXPECT_LT(first, 2e-3);
  EXPECT_LT(next, 0.5e-3);
}

}  // namespace
}  // namespace tcc::autotune
