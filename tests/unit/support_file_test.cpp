#include "support/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <numeric>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/hash.h"
#include "support/json_writer.h"
#include "support/parallel.h"
#include "tests/unit/tensor_file_fixture.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;
using testing::content_of;
using testing::expect_bad_input;

class SupportFile : public testing::TensorFileTest {};

TEST_F(SupportFile, WritesAndReads) {
  const std::string content("a\0b\n", 4);
  write_file_atomic(folder / "x", content);
  EXPECT_EQ(read_file(folder / "x"), content);
  write_file_atomic(folder / "x", "");
  EXPECT_EQ(read_file(folder / "x"), "");
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(SupportFile, ReadRefusesWhatIsNoFileOrTooLarge) {
  put("x", "12345");
  EXPECT_EQ(read_file(folder / "x", 5), "12345");
  expect_bad_input([&] { read_file(folder / "x", 4); }, "at most 4");
  expect_bad_input([&] { read_file(folder / "none"); }, "none: cannot open: No such file");
  expect_bad_input([&] { read_file(folder); }, "not a regular file");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_bad_input([&] { read_file(folder / "pipe"); }, "not a regular file");
}

TEST_F(SupportFile, AFailedWriteLeavesNothing) {
  expect_bad_input([&] { write_file_atomic(folder / "no/x", "1"); }, "No such file or directory");
  expect_bad_input([&] { write_file_atomic(folder, "1"); }, "it is a folder");
  put("x", "old");
  {
    AtomicFile file(folder / "x");
    file.write("half of the new conte");
  }
  EXPECT_EQ(content_of(folder / "x"), "old");
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(SupportFile, AFullDiskIsAnError) {
  put("x", "old");
  // A limit on the size of files stands in for a full disk.
  struct rlimit old_limit;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  auto* old_handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit = old_limit;
  limit.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  expect_bad_input([&] { write_file_atomic(folder / "x", std::string(100000, 'x')); },
                   "x: cannot write: File too large");
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(content_of(folder / "x"), "old");
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(SupportFile, KeepsLinksAndModes) {
  put("target", "old");
  fs::create_symlink("target", folder / "link");
  ASSERT_EQ(::chmod((folder / "target").c_str(), 0640), 0);
  write_file_atomic(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(content_of(folder / "target"), "new");
  EXPECT_EQ(fs::status(folder / "target").permissions(), fs::perms{0640});
}

TEST_F(SupportFile, WritesIntoDevicesAndPipes) {
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  write_file_atomic(pipe, "text");
  char read[8] = {};
  EXPECT_EQ(::read(reader, read, sizeof read), 4);
  EXPECT_STREQ(read, "text");
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(SupportFile, ConcurrentWritersLeaveOneWholeFile) {
  parallel_for(0, 32, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      write_file_atomic(folder / "x", std::string(1000, static_cast<char>('a' + i)));
  });
  const std::string content = content_of(folder / "x");
  EXPECT_EQ(content, std::string(1000, content[0]));
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(SupportFile, Maps) {
  put("x", "mapped");
  MappedFile file(folder / "x");
  EXPECT_EQ(file.text(), "mapped");
  MappedFile moved = std::move(file);
  EXPECT_EQ(moved.text(), "mapped");
  put("empty", "");
  EXPECT_EQ(MappedFile(folder / "empty").size(), 0u);
  expect_bad_input([&] { MappedFile(folder / "none"); }, "none: cannot open");
  expect_bad_input([&] { MappedFile{folder}; }, "not a regular file");
}

TEST_F(SupportFile, ResolvesOnlyInside) {
  fs::create_directories(folder / "model/data");
  put("secret", "s");
  put("model/data/w", "w");
  const fs::path base = folder / "model";
  EXPECT_EQ(resolve_inside(base, "data/w"), fs::canonical(base / "data/w"));
  EXPECT_EQ(resolve_inside(base, "./data//w"), fs::canonical(base / "data/w"));
  expect_bad_input([&] { resolve_inside(base, "../secret"); }, "'..' is not allowed");
  expect_bad_input([&] { resolve_inside(base, "data/../data/w"); }, "'..' is not allowed");
  expect_bad_input([&] { resolve_inside(base, (folder / "secret").string()); }, "absolute path");
  expect_bad_input([&] { resolve_inside(base, "none"); }, "No such file");
  expect_bad_input([&] { resolve_inside(base, ""); }, "empty");
  expect_bad_input([&] { resolve_inside(base, std::string_view("data/w\0x", 8)); }, "zero byte");

  fs::create_symlink("../secret", base / "out");
  fs::create_symlink("..", base / "up");
  fs::create_symlink("data/w", base / "in");
  expect_bad_input([&] { resolve_inside(base, "out"); }, "leads out of");
  expect_bad_input([&] { resolve_inside(base, "up/secret"); }, "leads out of");
  EXPECT_EQ(resolve_inside(base, "in"), fs::canonical(base / "data/w"));
  // A sibling whose name begins like the base is outside.
  fs::create_directories(folder / "model2");
  put("model2/w", "w");
  fs::create_symlink("../model2/w", base / "sibling");
  expect_bad_input([&] { resolve_inside(base, "sibling"); }, "leads out of");
  // The base itself may be reached by a link.
  fs::create_symlink("model", folder / "alias");
  EXPECT_EQ(resolve_inside(folder / "alias", "data/w"), fs::canonical(base / "data/w"));
}

TEST(Hash, PublishedVectors) {
  // SipHash-2-4-128's reference vectors: the input 0, 1, ..., n - 1.
  EXPECT_EQ(Hasher{}.hex(), "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(hash_of(std::string(1, '\0')).hex(), "da87c1d86b99af44347659119b22fc45");
  EXPECT_EQ(hash_of(std::string("\0\1\2\3\4\5\6", 7)).hex(), "a1f1ebbed8dbc153c0b84aa61ff08239");
  EXPECT_EQ(hash_of(std::string("\0\1\2\3\4\5\6\7", 8)).hex(), "3b62a9ba6258f5610f83e264f31497b4");
}

TEST(Hash, SplitsOfRawBytesDoNotMatterButDelimitersDo) {
  std::string text(1000, '\0');
  std::iota(text.begin(), text.end(), '\0');
  const Hash128 whole = hash_of(text);
  for (size_t cut : {1, 7, 8, 9, 500, 999})
    EXPECT_EQ(
        Hasher{}.add_raw(text.data(), cut).add_raw(text.data() + cut, text.size() - cut).digest(),
        whole);
  EXPECT_NE(Hasher{}.add("ab").add("c").hex(), Hasher{}.add("a").add("bc").hex());
  EXPECT_NE(Hasher{}.add(1).hex(), Hasher{}.add(2).hex());
  EXPECT_EQ(Hasher{}.add(int32_t{-1}).hex(), Hasher{}.add(int64_t{-1}).hex());
  EXPECT_EQ(whole.hex().size(), 32u);
}

TEST(Json, ParsesBack) {
  JsonWriter json(JsonWriter::Style::indented);
  json.begin_object();
  json.member("text", "quote\" back\\ line\n bell\a caf\xc3\xa9 bad\xff\xc3");
  json.member("number", 0.1)
      .member("big", int64_t{INT64_MIN})
      .member("flag", true)
      .member("nan", NAN);
  json.key("list")
      .begin_array()
      .value(1)
      .value("two")
      .begin_object()
      .end_object()
      .begin_array()
      .end_array()
      .null()
      .end_array();
  json.end_object();
  const auto parsed = nlohmann::json::parse(json.text());
  EXPECT_EQ(parsed["text"], "quote\" back\\ line\n bell\a caf\xc3\xa9 bad\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(parsed["number"].get<double>(), 0.1);
  EXPECT_EQ(parsed["big"].get<int64_t>(), INT64_MIN);
  EXPECT_EQ(parsed["flag"], true);
  EXPECT_TRUE(parsed["nan"].is_null());
  EXPECT_EQ(parsed["list"].size(), 5u);

  JsonWriter compact;
  compact.begin_object()
      .member("a", 1)
      .key("b")
      .begin_array()
      .value(2)
      .value(3)
      .end_array()
      .end_object();
  EXPECT_EQ(compact.text(), R"({"a":1,"b":[2,3]})");
}

TEST(Json, MisuseIsABug) {
  EXPECT_THROW(JsonWriter{}.begin_object().value(1), InternalError);
  EXPECT_THROW(JsonWriter{}.begin_array().key("a"), InternalError);
  EXPECT_THROW(JsonWriter{}.begin_array().end_object(), InternalError);
  EXPECT_THROW(JsonWriter{}.begin_array().text(), InternalError);
}

TEST(Parallel, CoversTheRangeOnce) {
  for (int64_t count : {0, 1, 7, 1000, 100000}) {
    for (int64_t grain : {0, 1, 64, 1000000}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
      parallel_for(5, 5 + count, grain, [&](int64_t first, int64_t last) {
        EXPECT_LT(first, last);
        for (int64_t i = first; i < last; ++i) visits[static_cast<size_t>(i - 5)]++;
      });
      for (const auto& visit : visits) ASSERT_EQ(visit, 1);
    }
  }
  EXPECT_GE(parallelism(), 1);
}

TEST(Parallel, RethrowsAndNests) {
  EXPECT_THROW(parallel_for(0, 100, 1,
                            [](int64_t first, int64_t) {
                              if (first == 50) fail_input("x");
                            }),
               Error);
  std::atomic<int64_t> sum{0};
  parallel_for(0, 10, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      parallel_for(0, 10, 1, [&](int64_t a, int64_t b) { sum += b - a; });
  });
  EXPECT_EQ(sum, 100);
}

}  // namespace
}  // namespace tcc
