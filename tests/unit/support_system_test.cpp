// Things that each operating system does in its own way, and loops on plain threads. Nothing here
// is of one system: builds for others (./dev cross) run these tests, too.
#include "support/system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "support/error.h"
#include "support/file.h"
#include "support/parallel_threads.h"
#include "tests/expect_error.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

class System : public ::testing::Test {
 protected:
  System() { fs::create_directories(folder); }
  ~System() override {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }

  const fs::path folder =
      fs::temp_directory_path() / str("tcc-system-", system::process_id(), "-",
                                      ::testing::UnitTest::GetInstance()->random_seed());
};

TEST_F(System, LibrariesAreThereOrMissingOrDamaged) {
  std::string reason = "something";
  EXPECT_EQ(system::open_library("tcc-no-such-library.so", reason), nullptr);
  EXPECT_EQ(reason, "");
  write_file_atomic(folder / "damaged.dll", "This is no library.");
  EXPECT_EQ(system::open_library((folder / "damaged.dll").string().c_str(), reason), nullptr);
  EXPECT_NE(reason, "");
  ASSERT_TRUE(fs::is_regular_file(system::own_file())) << system::own_file();
}

TEST_F(System, MemoryIsZeroAndTheMachineHasSome) {
  EXPECT_GT(system::memory_bytes(), int64_t{1} << 26);
  constexpr size_t bytes = 5'000'001;
  std::byte* pages = system::allocate_pages(bytes);
  ASSERT_TRUE(pages);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pages) % 4096, 0u);
  EXPECT_TRUE(std::all_of(pages, pages + bytes, [](std::byte one) { return one == std::byte{0}; }));
  std::fill(pages, pages + bytes, std::byte{7});
  system::free_pages(pages, bytes);
  EXPECT_EQ(system::allocate_pages(size_t{1} << 62), nullptr);
}

// Line ends and the byte that ends a text on some systems stay; names may be in any language.
TEST_F(System, FilesKeepTheirBytes) {
  std::string all(1 << 16, ' ');
  std::iota(all.begin(), all.end(), '\0');
  const std::string content = "a\nb\r\nc\x1a\n" + all;
  const fs::path path = folder / fs::path(u8"größe 大.bin");
  write_file_atomic(path, content);
  EXPECT_EQ(read_file(path), content);
  EXPECT_EQ(fs::file_size(path), content.size());
  EXPECT_EQ(MappedFile(path).text(), content);
  write_file_atomic(path, "short\n");  // in the place of the other
  EXPECT_EQ(read_file(path), "short\n");
  EXPECT_EQ(files(), 1u);
}

TEST_F(System, UnfinishedFilesGo) {
  {
    AtomicFile file(folder / "x");
    file.write("half");
    EXPECT_EQ(files(), 1u);
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(System, FilesThatAreNoneAreRefused) {
  EXPECT_ERROR_KIND(read_file(folder / "none"), ErrorKind::bad_input, "none: cannot open: No such");
  EXPECT_ERROR_KIND(read_file(folder), ErrorKind::bad_input, "");
  EXPECT_ERROR_KIND(MappedFile(folder / "none"), ErrorKind::bad_input, "cannot open");
  EXPECT_ERROR_KIND(write_file_atomic(folder / "no" / "x", "1"), ErrorKind::bad_input, "cannot");
  write_file_atomic(folder / "x", "");
  EXPECT_EQ(MappedFile(folder / "x").size(), 0u);
  errno = 0;
  EXPECT_EQ(system::create_file(folder / "x"), -1);
  EXPECT_EQ(errno, EEXIST);
}

TEST_F(System, NamesInFilesStayInside) {
  write_file_atomic(folder / "w", "w");
  EXPECT_EQ(read_file(resolve_inside(folder, "w")), "w");
  EXPECT_ERROR_KIND(resolve_inside(folder / "no", "../w"), ErrorKind::bad_input, "'..'");
  EXPECT_ERROR_KIND(resolve_inside(folder, (folder / "w").string()), ErrorKind::bad_input,
                    "absolute path");
  if (!system::kIsWindows) return;
  for (const char* name : {"C:w", "\\w", "/w", "C:\\w", "\\\\server\\w"})
    EXPECT_ERROR_KIND(resolve_inside(folder, name), ErrorKind::bad_input, "absolute path");
}

TEST(ParallelThreads, CoverTheRangeOnce) {
  for (const int64_t count : {0, 1, 7, 1000}) {
    for (const int64_t grain : {0, 1, 3, 64, 5000}) {
      for (const int threads : {1, 2, 7}) {
        std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
        parallel_for_on_threads(5, 5 + count, grain, threads, [&](int64_t first, int64_t last) {
          EXPECT_LT(first, last);
          for (int64_t i = first; i < last; ++i) visits[static_cast<size_t>(i - 5)]++;
        });
        for (const auto& visit : visits) ASSERT_EQ(visit, 1);
      }
    }
  }
  EXPECT_GE(hardware_threads(), 1);
}

TEST(ParallelThreads, RethrowAndNest) {
  for (const int threads : {1, 4}) {
    EXPECT_THROW(parallel_for_on_threads(0, 100, 1, threads,
                                         [](int64_t first, int64_t) {
                                           if (first >= 50) throw std::runtime_error("x");
                                         }),
                 std::runtime_error);
  }
  std::atomic<int64_t> sum{0};
  parallel_for_on_threads(0, 10, 3, 2, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      parallel_for_on_threads(0, 10, 1, 2, [&](int64_t a, int64_t b) { sum += b - a; });
  });
  EXPECT_EQ(sum, 100);
}

}  // namespace
}  // namespace tcc
