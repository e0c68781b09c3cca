// The kernel cache: round trips, damage, several writers, eviction, folders that cannot be written.
#include "backends/compile/kernel_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "backends/compile/process.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc::backends {
namespace {

namespace fs = std::filesystem;
using Code = std::vector<uint8_t>;

Code code_of(size_t size, uint8_t seed) {
  Code code(size);
  for (size_t i = 0; i < size; ++i) code[i] = static_cast<uint8_t>(seed + i * 7);
  return code;
}

Hash128 key_of(int number) { return Hasher{}.add("test").add(number).digest(); }

class KernelCacheTest : public ::testing::Test {
 protected:
  fs::path folder() const { return temporary_.path() / "cache"; }

 private:
  TemporaryFolder temporary_;
};

TEST_F(KernelCacheTest, FindsWhatWasInserted) {
  KernelCache cache(folder());
  EXPECT_TRUE(cache.on_disk());
  EXPECT_EQ(cache.find(key_of(1)), std::nullopt);
  cache.insert(key_of(1), code_of(1000, 1));
  cache.insert(key_of(2), {});
  EXPECT_EQ(cache.find(key_of(1)), code_of(1000, 1));
  EXPECT_EQ(cache.find(key_of(2)), Code{});
  KernelCache other(folder());
  EXPECT_EQ(other.find(key_of(1)), code_of(1000, 1));
}

TEST_F(KernelCacheTest, TheKeyDependsOnEveryPart) {
  const Hash128 key = kernel_key("source", "-O", "glslc 1", "vulkan:sg8");
  EXPECT_EQ(key, kernel_key("source", "-O", "glslc 1", "vulkan:sg8"));
  EXPECT_NE(key, kernel_key("sourc", "e-O", "glslc 1", "vulkan:sg8"));
  EXPECT_NE(key, kernel_key("source", "-O", "glslc 2", "vulkan:sg8"));
  EXPECT_NE(key, kernel_key("source", "-O", "glslc 1", "vulkan:sg16"));
}

TEST_F(KernelCacheTest, DamagedFilesAreReportedOnceAndReplaced) {
  KernelCache cache(folder());
  const Code code = code_of(500, 3);
  cache.insert(key_of(1), code);
  const std::string whole = read_file(cache.file_of(key_of(1)));
  std::vector<std::string> damaged = {"", whole.substr(0, 30), whole.substr(0, whole.size() - 1),
                                      whole + "x"};
  for (size_t place : {0, 8, 16, 32, 40, 56, 300}) {
    damaged.push_back(whole);
    damaged.back()[place] ^= 1;
  }
  testing::internal::CaptureStderr();
  for (const std::string& bytes : damaged) {
    write_file_atomic(cache.file_of(key_of(1)), bytes);
    EXPECT_EQ(cache.find(key_of(1)), std::nullopt) << bytes.size();
  }
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_NE(warnings.find("truncated; the kernel is compiled again"), std::string::npos)
      << warnings;
  EXPECT_EQ(std::count(warnings.begin(), warnings.end(), '\n'), 1) << warnings;
  cache.insert(key_of(1), code);
  EXPECT_EQ(cache.find(key_of(1)), code);
}

TEST_F(KernelCacheTest, AFileUnderAnotherNameIsNotTrusted) {
  KernelCache cache(folder());
  cache.insert(key_of(1), code_of(10, 1));
  fs::create_directories(cache.file_of(key_of(2)).parent_path());
  fs::copy_file(cache.file_of(key_of(1)), cache.file_of(key_of(2)));
  testing::internal::CaptureStderr();
  EXPECT_EQ(cache.find(key_of(2)), std::nullopt);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("holds another kernel"), std::string::npos);
}

// Opening a pipe would wait for its other end.
TEST_F(KernelCacheTest, APipeInThePlaceOfAFileIsNotOpened) {
  KernelCache cache(folder());
  const fs::path file = cache.file_of(key_of(1));
  fs::create_directories(file.parent_path());
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cache.find(key_of(1)), std::nullopt);
  cache.insert(key_of(1), code_of(100, 1));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find(file.string() + ": not a regular file"), std::string::npos) << said;
  EXPECT_NE(said.find("cannot be written"), std::string::npos) << said;
  EXPECT_EQ(cache.find(key_of(1)), code_of(100, 1)) << "memory has it";
  EXPECT_TRUE(fs::is_fifo(file));
}

TEST_F(KernelCacheTest, WithoutAFolderItKeepsEntriesInMemory) {
  KernelCache cache("");
  EXPECT_FALSE(cache.on_disk());
  cache.insert(key_of(1), code_of(100, 1));
  EXPECT_EQ(cache.find(key_of(1)), code_of(100, 1));
  EXPECT_EQ(KernelCache("").find(key_of(1)), std::nullopt);
}

TEST_F(KernelCacheTest, AFolderThatCannotBeMadeMeansMemoryOnly) {
  write_file_atomic(folder(), "a file where the folder should be");
  testing::internal::CaptureStderr();
  KernelCache cache(folder());
  const KernelCache again(folder());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find(str(folder().string(),
                          ": cannot be written; what is compiled is not kept for "
                          "the next process (TCC_CACHE_DIR names another folder)")),
            std::string::npos)
      << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << "it is said once: " << said;
  cache.insert(key_of(1), code_of(100, 1));
  EXPECT_EQ(cache.find(key_of(1)), code_of(100, 1));
}

TEST_F(KernelCacheTest, MemoryIsBounded) {
  KernelCache cache("", 1000);
  cache.insert(key_of(0), code_of(2000, 1));
  EXPECT_EQ(cache.find(key_of(0)), std::nullopt);
  for (int i = 1; i <= 10; ++i) cache.insert(key_of(i), code_of(300, 1));
  EXPECT_TRUE(cache.find(key_of(10)));
  EXPECT_FALSE(cache.find(key_of(1)));
}

TEST_F(KernelCacheTest, EvictsWhatWasNotUsedForTheLongestTime) {
  KernelCache cache(folder(), 10'000);
  for (int i = 0; i < 8; ++i) {
    cache.insert(key_of(i), code_of(1000, 1));
    const auto age = std::chrono::hours(100 - i);
    fs::last_write_time(cache.file_of(key_of(i)), fs::file_time_type::clock::now() - age);
  }
  EXPECT_TRUE(cache.find(key_of(0)));  // now the youngest
  const fs::path stale = cache.file_of(key_of(0)).parent_path() / ".crashed.1.0.tmp";
  write_file_atomic(stale, "half");
  fs::last_write_time(stale, fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache.insert(key_of(8), code_of(1000, 1));
  cache.insert(key_of(9), code_of(1000, 1));  // 10 x 1056 bytes: down to 7 files
  for (int i : {1, 2, 3}) EXPECT_FALSE(cache.find(key_of(i))) << i;
  for (int i : {0, 4, 5, 6, 7, 8, 9}) EXPECT_TRUE(cache.find(key_of(i))) << i;
  EXPECT_FALSE(fs::exists(stale));
}

TEST_F(KernelCacheTest, SeveralThreadsAndObjectsShareAFolder) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      KernelCache cache(folder(), 20'000);
      for (int i = 0; i < 40; ++i) {
        const Code code = code_of(1000, static_cast<uint8_t>(i % 10));
        cache.insert(key_of(i % 10), code);
        const auto found = cache.find(key_of(i % 10));
        if (found && *found != code) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  KernelCache cache(folder());
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(cache.find(key_of(i)), code_of(1000, static_cast<uint8_t>(i)));
}

}  // namespace
}  // namespace tcc::backends
