#include "frontend/zip.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "frontend/tensor_file.h"
#include "support/error.h"
#include "support/parallel.h"

namespace tcc {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50,
                   kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr int64_t kLocalHeaderBytes = 30, kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56;
constexpr uint64_t kMaxMembers = uint64_t{1} << 20;
constexpr int64_t kMaxDeflateRatio = 1032;  // 258 bytes per 2 bits
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint16_t kZip64Extra = 1;
constexpr uint16_t kEncryptedFlag = 1 << 0, kUtf8Flag = 1 << 11, kMaskedFlag = 1 << 13;
constexpr uint32_t kSeeZip64 = 0xffffffff;
constexpr int64_t kCrcPiece = int64_t{4} << 20;

// CRC-32 of memory, in pieces on all cores.
uint32_t crc_of(const std::byte* data, int64_t size) {
  const int64_t pieces = (size + kCrcPiece - 1) / kCrcPiece;
  std::vector<uint32_t> crcs(static_cast<size_t>(pieces));
  const auto piece_bytes = [&](int64_t i) { return std::min(kCrcPiece, size - i * kCrcPiece); };
  parallel_for(0, pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      auto* piece = reinterpret_cast<const Bytef*>(data + i * kCrcPiece);
      crcs[i] = static_cast<uint32_t>(crc32_z(0, piece, static_cast<size_t>(piece_bytes(i))));
    }
  });
  uLong crc = 0;
  for (int64_t i = 0; i < pieces; ++i)
    crc = crc32_combine(crc, crcs[i], static_cast<z_off_t>(piece_bytes(i)));
  return static_cast<uint32_t>(crc);
}

// Little-endian fields of a part of the file; never reads past the part's end.
class Fields {
 public:
  Fields(std::string_view text, int64_t offset, const std::string& file)
      : text_(text), offset_(offset), file_(file) {}

  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  std::string_view bytes(size_t count) {
    if (count > text_.size() - position_) fail("the archive's directory is truncated");
    position_ += count;
    return text_.substr(position_ - count, count);
  }
  bool at_end() const { return position_ == text_.size(); }

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    fail_input(file_, ": offset ", offset_ + static_cast<int64_t>(position_), ": ", parts...);
  }

 private:
  uint64_t number(size_t count) {
    const std::string_view field = bytes(count);
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(field[i]);
    return value;
  }

  std::string_view text_;
  size_t position_ = 0;
  int64_t offset_;
  const std::string& file_;
};

// Reads the archive's directory into a list of checked members.
class Directory {
 public:
  Directory(std::string_view archive, const std::string& path) : text_(archive), path_(path) {}

  std::vector<ZipMember> read() {
    find_end();
    Fields fields = fields_at(directory_offset_, directory_bytes_);
    std::vector<ZipMember> members;
    for (uint64_t i = 0; i < count_; ++i) {
      ZipMember member = read_entry(fields);
      if (member.name.ends_with('/')) continue;  // a folder
      locate_data(member);
      members.push_back(std::move(member));
    }
    if (!fields.at_end()) fields.fail("the archive's directory is longer than its entries");
    refuse_overlaps(members);
    return members;
  }

 private:
  int64_t size() const { return static_cast<int64_t>(text_.size()); }

  Fields fields_at(int64_t offset, int64_t bytes) const {
    if (offset < 0 || bytes < 0 || offset > size() || bytes > size() - offset)
      fail_input(path_, ": offset ", offset, ": outside the file of ", size(), " bytes");
    return Fields(text_.substr(static_cast<size_t>(offset), static_cast<size_t>(bytes)), offset,
                  path_);
  }

  // A size or offset from the file; what int64 cannot hold is outside every file.
  static int64_t as_size(uint64_t value) {
    return value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
               ? std::numeric_limits<int64_t>::max()
               : static_cast<int64_t>(value);
  }

  // The end record is the last thing in the file but for a comment of up to 64 KiB, whose length it
  // knows.
  void find_end() {
    const int64_t first = std::max<int64_t>(0, size() - kEndBytes - 0xffff);
    for (int64_t offset = size() - kEndBytes; offset >= first; --offset) {
      Fields fields = fields_at(offset, size() - offset);
      if (fields.u32() != kEnd) continue;
      const uint16_t disk = fields.u16(), directory_disk = fields.u16(), count_here = fields.u16();
      count_ = fields.u16();
      const uint32_t bytes = fields.u32(), directory_offset = fields.u32();
      if (fields.u16() != size() - offset - kEndBytes) continue;
      if (disk != 0 || directory_disk != 0 || count_here != count_)
        fail_input(path_, ": archives of several parts are not supported");
      directory_bytes_ = bytes;
      directory_offset_ = directory_offset;
      int64_t directory_limit = offset;
      if (count_ == 0xffff || bytes == kSeeZip64 || directory_offset == kSeeZip64)
        directory_limit = find_end64(offset);
      if (directory_offset_ > directory_limit ||
          directory_bytes_ > directory_limit - directory_offset_)
        fail_input(path_, ": offset ", offset, ": the archive's directory lies outside the file");
      if (count_ > kMaxMembers)
        fail_input(path_, ": ", count_, " members; at most ", kMaxMembers, " are read");
      return;
    }
    fail_input(path_, ": not a ZIP archive, or truncated: no end-of-directory record");
  }

  // The zip64 end record, found by a locator in front of the ordinary one. Returns its offset.
  int64_t find_end64(int64_t end_offset) {
    Fields locator = fields_at(end_offset - kLocatorBytes, kLocatorBytes);
    if (locator.u32() != kLocator64) return end_offset;  // 0xffff members and no zip64: possible
    locator.u32();
    const int64_t offset = as_size(locator.u64());
    Fields fields = fields_at(offset, kEnd64Bytes);
    if (fields.u32() != kEnd64)
      fail_input(path_, ": offset ", offset, ": no zip64 end-of-directory record");
    fields.bytes(8 + 2 + 2);  // its size, versions
    const uint32_t disk = fields.u32(), directory_disk = fields.u32();
    const uint64_t count_here = fields.u64();
    count_ = fields.u64();
    directory_bytes_ = as_size(fields.u64());
    directory_offset_ = as_size(fields.u64());
    if (disk != 0 || directory_disk != 0 || count_here != count_)
      fail_input(path_, ": archives of several parts are not supported");
    return offset;
  }

  ZipMember read_entry(Fields& fields) {
    if (fields.u32() != kCentralHeader) fields.fail("no entry of the archive's directory here");
    fields.bytes(4);  // versions
    const uint16_t flags = fields.u16(), method = fields.u16();
    fields.bytes(4);  // time
    ZipMember member;
    member.crc = fields.u32();
    uint64_t compressed = fields.u32(), bytes = fields.u32();
    const size_t name_bytes = fields.u16(), extra_bytes = fields.u16(),
                 comment_bytes = fields.u16();
    uint32_t disk = fields.u16();
    fields.bytes(6);  // attributes
    uint64_t header_offset = fields.u32();
    member.name = fields.bytes(name_bytes);
    const std::string_view extra = fields.bytes(extra_bytes);
    read_zip64_extra(extra, member, bytes, compressed, header_offset, disk);
    fields.bytes(comment_bytes);

    if (flags & (kEncryptedFlag | kMaskedFlag)) fail(member, "encrypted members are not supported");
    if (method != kStored && method != kDeflated)
      fail(member, "compression method ", method, " is not supported");
    if (disk != 0) fail(member, "archives of several parts are not supported");
    member.deflated = method == kDeflated;
    member.bytes = as_size(bytes);
    member.compressed_bytes = as_size(compressed);
    member.header_offset = as_size(header_offset);
    if (!member.deflated && bytes != compressed) fail(member, "stored, but its two sizes differ");
    if (member.deflated && member.bytes / kMaxDeflateRatio > member.compressed_bytes)
      fail(member, compressed, " compressed bytes cannot hold ", bytes);
    return member;
  }

  // Replaces the fields that are too small for their values, in the format's fixed order.
  void read_zip64_extra(std::string_view extra, const ZipMember& member, uint64_t& bytes,
                        uint64_t& compressed, uint64_t& header_offset, uint32_t& disk) {
    Fields blocks(extra, 0, path_);
    while (extra.size() >= 4 && !blocks.at_end()) {
      const uint16_t id = blocks.u16();
      const uint16_t block_bytes = blocks.u16();
      const std::string where = path_ + ": member " + quoted_name(member.name) + ": zip64 field";
      Fields block(blocks.bytes(block_bytes), 0, where);
      if (id != kZip64Extra) continue;
      for (uint64_t* value : {&bytes, &compressed, &header_offset})
        if (*value == kSeeZip64) *value = block.u64();
      if (disk == 0xffff) disk = block.u32();
    }
  }

  // The local header repeats the name; its sizes may be missing, so the directory's count.
  void locate_data(ZipMember& member) {
    Fields fields =
        fields_at(member.header_offset, std::min(directory_offset_ - member.header_offset, size()));
    if (fields.u32() != kLocalHeader) fail(member, "no member at offset ", member.header_offset);
    fields.bytes(4);  // version, flags
    const uint16_t method = fields.u16();
    fields.bytes(4 + 12);  // time, CRC, sizes
    const size_t name_bytes = fields.u16(), extra_bytes = fields.u16();
    const bool same =
        fields.bytes(name_bytes) == member.name && (method == kDeflated) == member.deflated;
    if (!same)
      fail(member, "the header at offset ", member.header_offset,
           " contradicts the archive's directory");
    fields.bytes(extra_bytes);
    member.data_offset =
        member.header_offset + kLocalHeaderBytes + static_cast<int64_t>(name_bytes + extra_bytes);
    if (member.compressed_bytes > directory_offset_ - member.data_offset)
      fail(member, "offset ", member.data_offset, ": truncated: it has ", member.compressed_bytes,
           " bytes, the file ", directory_offset_ - member.data_offset);
  }

  // Members that share bytes are how small archives expand to enormous ones.
  void refuse_overlaps(const std::vector<ZipMember>& members) const {
    std::vector<const ZipMember*> sorted;
    sorted.reserve(members.size());
    for (const ZipMember& member : members) sorted.push_back(&member);
    std::sort(sorted.begin(), sorted.end(),
              [](auto* a, auto* b) { return a->header_offset < b->header_offset; });
    for (size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i - 1]->data_offset + sorted[i - 1]->compressed_bytes > sorted[i]->header_offset)
        fail(*sorted[i], "it overlaps member ", quoted_name(sorted[i - 1]->name));
  }

  template <class... Parts>
  [[noreturn]] void fail(const ZipMember& member, const Parts&... parts) const {
    fail_input(path_, ": member ", quoted_name(member.name), ": ", parts...);
  }

  std::string_view text_;
  const std::string& path_;
  uint64_t count_ = 0;
  int64_t directory_offset_ = 0, directory_bytes_ = 0;
};

// Appends little-endian fields.
class Record {
 public:
  Record& u16(uint64_t value) { return number(value, 2); }
  Record& u32(uint64_t value) { return number(value, 4); }
  Record& u64(uint64_t value) { return number(value, 8); }
  Record& bytes(std::string_view text) {
    text_ += text;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  Record& number(uint64_t value, int count) {
    for (int i = 0; i < count; ++i) text_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }

  std::string text_;
};

bool needs_zip64(int64_t value) { return value >= int64_t{kSeeZip64}; }
uint64_t field32(int64_t value) {
  return needs_zip64(value) ? kSeeZip64 : static_cast<uint64_t>(value);
}

// The fields that local header and directory share, from "version needed" to the sizes.
void append_common(Record& record, const ZipMember& member, bool zip64) {
  const bool ascii =
      std::all_of(member.name.begin(), member.name.end(), [](char c) { return (c & 0x80) == 0; });
  constexpr uint16_t first_of_1980 =
      1 << 5 | 1;  // no time stamp: the same tensors give the same file
  record.u16(zip64 ? 45 : 20).u16(ascii ? 0 : kUtf8Flag).u16(kStored).u16(0).u16(first_of_1980);
  record.u32(member.crc).u32(field32(member.compressed_bytes)).u32(field32(member.bytes));
}

}  // namespace

std::vector<ZipMember> read_zip_directory(std::string_view archive, const std::string& path) {
  return Directory(archive, path).read();
}

ZipMemberReader::ZipMemberReader(std::span<const std::byte> archive, const ZipMember& member,
                                 std::string where)
    : input_(archive.subspan(static_cast<size_t>(member.data_offset),
                             static_cast<size_t>(member.compressed_bytes))),
      where_(std::move(where)),
      expected_crc_(member.crc),
      deflated_(member.deflated) {
  if (deflated_ && inflateInit2(&stream_, -MAX_WBITS) != Z_OK)
    fail_device(where_, ": cannot start zlib");
}

ZipMemberReader::~ZipMemberReader() {
  if (deflated_) inflateEnd(&stream_);
}

void ZipMemberReader::read(std::byte* to, size_t size) {
  if (size == 0) return;
  if (!deflated_) {
    TCC_CHECK(size <= input_.size() - consumed_, "read past the end of a member");
    copy_bytes(to, input_.data() + consumed_, size);
    consumed_ += size;
    return;
  }
  if (inflate_into(to, size) != size) fail_input(where_, ": the compressed data ends early");
  crc_ = crc32_z(crc_, reinterpret_cast<const Bytef*>(to), size);
}

void ZipMemberReader::finish() {
  if (deflated_) {
    std::byte extra;
    if (inflate_into(&extra, 1) != 0 || !ended_ || stream_.avail_in > 0 ||
        consumed_ < input_.size())
      fail_input(where_, ": the compressed data is longer than the archive's directory says");
  } else {
    crc_ = crc_of(input_.data(), static_cast<int64_t>(input_.size()));
  }
  if (crc_ != expected_crc_) fail_input(where_, ": damaged: its CRC is wrong");
}

size_t ZipMemberReader::inflate_into(std::byte* to, size_t size) {
  constexpr size_t most = size_t{1} << 30;  // zlib counts in 32 bits
  size_t done = 0;
  while (done < size && !ended_) {
    if (stream_.avail_in == 0) {
      const size_t next = std::min(most, input_.size() - consumed_);
      stream_.next_in =
          const_cast<Bytef*>(reinterpret_cast<const Bytef*>(input_.data() + consumed_));
      stream_.avail_in = static_cast<uInt>(next);
      consumed_ += next;
    }
    const auto room = static_cast<uInt>(std::min(most, size - done));
    stream_.next_out = reinterpret_cast<Bytef*>(to + done);
    stream_.avail_out = room;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    done += room - stream_.avail_out;
    ended_ = status == Z_STREAM_END;
    if (status == Z_BUF_ERROR) break;  // the input is used up
    if (status == Z_MEM_ERROR) fail_device(where_, ": out of host memory");
    if (status != Z_OK && status != Z_STREAM_END) fail_input(where_, ": damaged compressed data");
  }
  return done;
}

ZipWriter::ZipWriter(const std::filesystem::path& path) : path_(path), file_(path) {}

void ZipWriter::add(const std::string& name, std::string_view head,
                    std::span<const std::byte> body) {
  if (name.size() > 0xffff)
    fail_input(path_.string(), ": the name ", quoted_name(name), " is too long for a ZIP archive");
  ZipMember member;
  member.name = name;
  member.header_offset = offset_;
  member.bytes = member.compressed_bytes = static_cast<int64_t>(head.size() + body.size());
  const uint32_t head_crc =
      crc_of(reinterpret_cast<const std::byte*>(head.data()), static_cast<int64_t>(head.size()));
  const uint32_t body_crc = crc_of(body.data(), static_cast<int64_t>(body.size()));
  member.crc =
      static_cast<uint32_t>(crc32_combine(head_crc, body_crc, static_cast<z_off_t>(body.size())));

  const bool zip64 = needs_zip64(member.bytes);
  Record record;
  record.u32(kLocalHeader);
  append_common(record, member, zip64);
  record.u16(name.size()).u16(zip64 ? 20 : 0).bytes(name);
  if (zip64) record.u16(kZip64Extra).u16(16).u64(member.bytes).u64(member.bytes);
  write(record.text());
  write(head);
  file_.write(body.data(), body.size());
  offset_ += static_cast<int64_t>(body.size());
  members_.push_back(std::move(member));
}

void ZipWriter::commit() {
  const int64_t directory_offset = offset_;
  for (const ZipMember& member : members_) {
    Record extra;
    if (needs_zip64(member.bytes)) extra.u64(member.bytes).u64(member.bytes);
    if (needs_zip64(member.header_offset)) extra.u64(member.header_offset);
    const bool zip64 = !extra.text().empty();
    Record record;
    record.u32(kCentralHeader).u16(zip64 ? 45 : 20);
    append_common(record, member, zip64);
    record.u16(member.name.size())
        .u16(zip64 ? 4 + extra.text().size() : 0)
        .u16(0)
        .u16(0)
        .u16(0)
        .u32(0);
    record.u32(field32(member.header_offset)).bytes(member.name);
    if (zip64) record.u16(kZip64Extra).u16(extra.text().size()).bytes(extra.text());
    write(record.text());
  }
  const int64_t directory_bytes = offset_ - directory_offset, end_offset = offset_;
  const size_t count = members_.size();
  Record end;
  if (count >= 0xffff || needs_zip64(directory_offset) || needs_zip64(directory_bytes)) {
    end.u32(kEnd64).u64(kEnd64Bytes - 12).u16(45).u16(45).u32(0).u32(0);
    end.u64(count).u64(count).u64(directory_bytes).u64(directory_offset);
    end.u32(kLocator64).u32(0).u64(end_offset).u32(1);
  }
  const size_t count16 = std::min<size_t>(count, 0xffff);
  end.u32(kEnd).u16(0).u16(0).u16(count16).u16(count16);
  end.u32(field32(directory_bytes)).u32(field32(directory_offset)).u16(0);
  write(end.text());
  file_.commit();
}

void ZipWriter::write(std::string_view text) {
  file_.write(text);
  offset_ += static_cast<int64_t>(text.size());
}

}  // namespace tcc
