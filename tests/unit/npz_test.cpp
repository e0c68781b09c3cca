#include "frontend/npz.h"

#include <zlib.h>

#include "tests/unit/tensor_file_fixture.h"

namespace tcc {
namespace {

using testing::content_of;
using testing::expect_bad_input;
using testing::expect_same;
using testing::refuses;

std::string little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 255);
  return text;
}

std::string deflated(const std::string& data) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

// A member of a hand-made archive, every field of which a test may falsify.
struct Part {
  std::string name, content;  // as stored
  uint64_t bytes = 0;         // uncompressed
  uint32_t crc = 0;
  int method = 0, flags = 0;
  bool zip64 = false;
  std::string local_name = name;
};

Part part_of(const std::string& name, const std::string& data, bool deflate) {
  Part part{name, deflate ? deflated(data) : data, data.size(), 0, deflate ? 8 : 0};
  part.crc =
      static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
  return part;
}

// NOLINTBEGIN(performance-inefficient-string-concatenation): it reads like the format's tables
std::string archive_of(const std::vector<Part>& parts, bool zip64_end = false,
                       const std::string& comment = "") {
  std::string text, directory;
  for (const Part& part : parts) {
    const size_t offset = text.size();
    const std::string common =
        little(part.flags, 2) + little(part.method, 2) + little(0, 4) + little(part.crc, 4);
    text += "PK\3\4" + little(20, 2) + common + little(0, 8) + little(part.local_name.size(), 2) +
            little(3, 2) + part.local_name + "xyz" + part.content;
    std::string extra, sizes = little(part.content.size(), 4) + little(part.bytes, 4),
                       place = little(offset, 4);
    if (part.zip64) {
      sizes = place = "\xff\xff\xff\xff";
      sizes += sizes;
      extra = little(0x5455, 2) + little(2, 2) + "tt" + little(1, 2) + little(24, 2) +
              little(part.bytes, 8) + little(part.content.size(), 8) + little(offset, 8);
    }
    directory += "PK\1\2" + little(0x14, 2) + little(20, 2) + common + sizes +
                 little(part.name.size(), 2) + little(extra.size(), 2) + little(0, 2) +
                 little(0, 8) + place + part.name + extra;
  }
  const size_t directory_offset = text.size();
  text += directory;
  if (zip64_end) {
    const size_t end = text.size();
    text += "PK\6\6" + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) +
            little(parts.size(), 8) + little(parts.size(), 8) + little(directory.size(), 8) +
            little(directory_offset, 8);
    text += "PK\6\7" + little(0, 4) + little(end, 8) + little(1, 4);
    return text + "PK\5\6" + little(0, 4) + std::string(12, '\xff') + little(0, 2);
  }
  return text + "PK\5\6" + little(0, 4) + little(parts.size(), 2) + little(parts.size(), 2) +
         little(directory.size(), 4) + little(directory_offset, 4) + little(comment.size(), 2) +
         comment;
}
// NOLINTEND(performance-inefficient-string-concatenation)

class Npz : public testing::TensorFileTest {
 protected:
  static std::string npy_of(const Tensor& tensor) {
    return npy_header_text(tensor.dtype(), tensor.shape()) +
           std::string(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
  }

  void write(const std::vector<std::pair<std::string, Tensor>>& tensors) const {
    std::vector<std::pair<std::string, const Tensor*>> list;
    list.reserve(tensors.size());
    for (const auto& [name, tensor] : tensors) list.emplace_back(name, &tensor);
    write_npz(folder / "x.npz", list);
  }

  void expect_refused(const std::vector<Part>& parts, const std::string& reason) {
    const auto path = put("bad.npz", archive_of(parts));
    expect_bad_input(
        [&] {
          const auto file = open_tensor_file(path);
          for (const auto& name : file->names()) file->load(name);
        },
        reason);
  }

  const Tensor tensor_ = random(DType::f32, {3, 5});
  const std::string npy_ = npy_of(tensor_);
};

TEST_F(Npz, RoundTrips) {
  for (int i = 0; i < 30; ++i) {
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (size_t count = bits() % 5; tensors.size() < count;) {
      const DType dtype = all_dtypes()[bits() % all_dtypes().size()].dtype;
      if (!has_npy_code(dtype)) continue;
      tensors.emplace_back(str("layer.", tensors.size(), ".weight/\xc3\xa9"),
                           random(dtype, random_shape()));
    }
    write(tensors);
    const auto file = open_tensor_file(folder / "x.npz");
    ASSERT_EQ(file->names().size(), tensors.size());
    for (size_t k = 0; k < tensors.size(); ++k) {
      EXPECT_EQ(file->names()[k], tensors[k].first);
      EXPECT_TRUE(file->contains(tensors[k].first));
      EXPECT_EQ(file->info(tensors[k].first).shape, tensors[k].second.shape());
      expect_same(file->load(tensors[k].first), tensors[k].second);
    }
  }
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(Npz, LargeMembersRoundTrip) {
  write({{"a", random(DType::f32, {3000, 1001})}, {"b", tensor_}});
  const NpzFile file = NpzFile::open(folder / "x.npz");
  bits.seed(12345);
  random(DType::f32, {3, 5});  // what tensor_ drew
  expect_same(file.load("a"), random(DType::f32, {3000, 1001}));
  expect_same(file.load("b"), tensor_);
}

TEST_F(Npz, TheSameTensorsGiveTheSameFile) {
  write({{"a", tensor_}});
  const std::string first = content_of(folder / "x.npz");
  write({{"a", tensor_}});
  EXPECT_EQ(content_of(folder / "x.npz"), first);
}

TEST_F(Npz, Bf16IsWrittenAsF32) {
  const Tensor brain = cast(cast(tensor_, DType::i8), DType::bf16);
  write({{"a", brain}});
  expect_same(NpzFile(folder / "x.npz").load("a"), cast(brain, DType::f32));
}

TEST_F(Npz, RefusesToWriteRepeatedNames) {
  expect_bad_input([&] { write({{"a", tensor_}, {"a", tensor_}}); }, "two tensors are named 'a'");
  EXPECT_EQ(files_in_folder(), 0u);
}

TEST_F(Npz, ReadsArchivesOfNumPy) {
  for (const char* name : {"compressed.npz", "stored.npz"}) {
    const auto file = open_tensor_file(fixture(name));
    const Tensor x = file->load("x");
    ASSERT_EQ(x.shape(), (std::vector<int64_t>{2, 3, 4}));
    for (int i = 0; i < 24; ++i) EXPECT_EQ(x.get(i), i);
    EXPECT_EQ(file->load("n").get_int(1), -2);
    EXPECT_EQ(file->load("empty").shape(), (std::vector<int64_t>{0, 5}));
  }
  const Tensor big = open_tensor_file(fixture("compressed.npz"))->load("big");
  EXPECT_EQ(big.numel(), 30000);
  // Written to a stream: data descriptors, and a comment at the end.
  EXPECT_EQ(open_tensor_file(fixture("streamed.npz"))->load("flags").get_int(3), 1);
}

TEST_F(Npz, ReadsHandMadeArchives) {
  for (const bool deflate : {false, true}) {
    for (const bool zip64 : {false, true}) {
      Part part = part_of("w.npy", npy_, deflate), folder_part = part_of("dir/", "", false);
      part.zip64 = zip64;
      const auto path = put("x.npz", archive_of({folder_part, part}, zip64));
      const NpzFile file(path);
      EXPECT_EQ(file.names(), std::vector<std::string>{"w"});
      expect_same(file.load("w"), tensor_);
    }
  }
  // A comment that contains the signature of the end record.
  put("x.npz", archive_of({part_of("w.npy", npy_, true)}, false,
                          "PK\5\6 is no end record, and this text is long enough"));
  expect_same(NpzFile(folder / "x.npz").load("w"), tensor_);
  EXPECT_TRUE(NpzFile(put("empty.npz", archive_of({}))).names().empty());
}

TEST_F(Npz, RefusesWhatIsDamagedOrHostile) {
  for (const bool deflate : {false, true}) {
    const Part good = part_of("w.npy", npy_, deflate);
    Part part = good;
    part.crc ^= 1;
    expect_refused({part}, "bad.npz: member 'w': damaged: its CRC is wrong");
    part = good;
    part.flags = 1;
    expect_refused({part}, "encrypted");
    part = good;
    part.method = 12;
    expect_refused({part}, "compression method 12");
    part = good;
    part.local_name = "v.npy";
    expect_refused({part}, "contradicts");
    expect_refused({good, good}, "occurs twice");
    expect_refused({good, part_of("w", npy_, deflate)}, "occurs twice");
    expect_refused({part_of("w.npy", "not numpy at all", deflate)}, "wrong magic");
    expect_refused({part_of("w.npy", npy_ + "x", deflate)}, "too long");
    expect_refused({part_of("w.npy", npy_.substr(0, npy_.size() - 1), deflate)}, "truncated");
    expect_refused({part_of("w.npy", "", deflate)}, "truncated");
  }
  Part part = part_of("w.npy", npy_, false);
  part.bytes += 1;
  expect_refused({part}, "its two sizes differ");
  expect_bad_input([&] { NpzFile(put("a.npz", "no archive, but long enough to be one")); },
                   "not a ZIP archive");
  expect_bad_input([&] { NpzFile(put("a.npz", "")); }, "not a ZIP archive");
  put("a.npz", archive_of({part_of("w.npy", npy_, false)}));
  expect_bad_input([&] { NpzFile(folder / "a.npz").load("other"); },
                   "no tensor 'other'; it has 'w'");
  put("a.npz", archive_of({part_of("fc1.weight.npy", npy_, false)}));
  expect_bad_input([&] { NpzFile(folder / "a.npz").load("fc1.weigth"); },
                   "did you mean 'fc1.weight'?");
}

TEST_F(Npz, BombsAreRefusedBeforeTheyAreAllocated) {
  // A header that declares 64 GiB, with an archive's directory that agrees.
  const std::string header = npy_header_text(DType::u8, {int64_t{64} << 30});
  Part part = part_of("w.npy", header, true);
  part.bytes = header.size() + (uint64_t{64} << 30);
  part.zip64 = true;
  Part by_directory = part;
  expect_refused({by_directory}, "cannot hold");
  // Data that inflates to more than the header declares: it is not inflated any further.
  expect_refused({part_of("w.npy", npy_ + std::string(10 << 20, '\0'), true)}, "too long");
  part = part_of("w.npy", npy_ + std::string(10 << 20, '\0'), true);
  part.bytes = npy_.size();
  expect_refused({part}, "longer than the archive's directory says");
  // Fewer compressed bytes than the directory claims.
  part = part_of("w.npy", npy_, true);
  part.bytes = npy_.size() + 60;
  expect_refused({part}, "too long");
  // Two members that share their data.
  std::string text = archive_of({part_of("a.npy", npy_, false), part_of("b.npy", npy_, false)});
  const size_t entry = text.rfind("PK\1\2");
  text.replace(entry + 42, 4, little(0, 4));  // b's header is a's ...
  text.replace(entry + 46, 5, "a.npy");       // ... under the same name
  expect_bad_input([&] { NpzFile{put("bad.npz", text)}; }, "overlaps");
}

TEST_F(Npz, EveryTruncationIsRefused) {
  std::vector<std::string> contents = {
      content_of(fixture("compressed.npz")), content_of(fixture("stored.npz")),
      content_of(fixture("streamed.npz")), archive_of({part_of("w.npy", npy_, true)}, true)};
  for (const std::string& content : contents) {
    for (size_t size = 0; size < content.size(); ++size)
      EXPECT_TRUE(refuses(put("cut.npz", content.substr(0, size)))) << size;
    EXPECT_FALSE(refuses(put("cut.npz", content)));
  }
}

TEST_F(Npz, NoBitFlipCrashes) {
  Part zip64 = part_of("w.npy", npy_, false);
  zip64.zip64 = true;
  std::vector<std::string> contents = {content_of(fixture("compressed.npz")),
                                       content_of(fixture("stored.npz")),
                                       archive_of({part_of("w.npy", npy_, true), zip64}, true)};
  contents[2].replace(contents[2].rfind("w.npy"), 5, "v.npy");
  for (std::string& content : contents) {
    for (size_t bit = 0; bit < 8 * content.size(); ++bit) {
      content[bit / 8] ^= static_cast<char>(1 << bit % 8);
      refuses(put("flip.npz", content));
      content[bit / 8] ^= static_cast<char>(1 << bit % 8);
    }
  }
}

// Stored data is covered by the CRC and the directory is cross-checked, so damage of the data never
// passes.
TEST_F(Npz, FlippedDataIsNoticed) {
  for (const bool deflate : {false, true}) {
    Part part = part_of("w.npy", npy_, deflate);
    const size_t first = archive_of({part}).find(part.content);
    for (size_t byte = 0; byte < part.content.size(); ++byte) {
      std::string text = archive_of({part});
      text[first + byte] ^= 1;
      EXPECT_TRUE(refuses(put("flip.npz", text))) << byte;
    }
  }
}

}  // namespace
}  // namespace tcc
