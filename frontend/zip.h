// The part of the ZIP format that .npz files use
// (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT).
//
// Read: stored and deflated members, zip64. Written: stored, zip64 where needed. Archives are
// untrusted: encrypted and overlapping members, archives of several parts, and sizes that do not
// fit the file are refused with Error(bad_input).
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/file.h"

namespace tcc {

struct ZipMember {
  std::string name;
  int64_t header_offset = 0, data_offset = 0;
  int64_t compressed_bytes = 0, bytes = 0;
  uint32_t crc = 0;
  bool deflated = false;
};

// The members (folders left out) in the directory's order; every offset and size lies inside
// `archive`, and `bytes` is not more than deflate can make of `compressed_bytes`. Names may repeat.
// `path` begins every message.
std::vector<ZipMember> read_zip_directory(std::string_view archive, const std::string& path);

// Reads one member as a stream. `where` begins every message.
class ZipMemberReader {
 public:
  ZipMemberReader(std::span<const std::byte> archive, const ZipMember& member, std::string where);
  ~ZipMemberReader();
  ZipMemberReader(const ZipMemberReader&) = delete;
  ZipMemberReader& operator=(const ZipMemberReader&) = delete;

  // Returns the next `size` bytes, or throws. It never inflates more than it is asked for.
  void read(std::byte* to, size_t size);
  // Checks that the member ends here, and its CRC.
  void finish();

 private:
  size_t inflate_into(std::byte* to, size_t size);

  std::span<const std::byte> input_;
  std::string where_;
  uint32_t expected_crc_;
  bool deflated_;
  z_stream stream_{};
  size_t consumed_ = 0;  // bytes of input_ that the stream has got
  uLong crc_ = 0;
  bool ended_ = false;
};

// Writes an archive; nothing is visible under its name before commit(). The same members give the
// same bytes.
class ZipWriter {
 public:
  explicit ZipWriter(const std::filesystem::path& path);

  // A stored member made of `head` and `body`.
  void add(const std::string& name, std::string_view head, std::span<const std::byte> body);
  void commit();

 private:
  void write(std::string_view text);

  std::filesystem::path path_;
  AtomicFile file_;
  int64_t offset_ = 0;
  std::vector<ZipMember> members_;
};

}  // namespace tcc
