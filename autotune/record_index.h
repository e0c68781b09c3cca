// An index is a tuning file in the form that look-up reads: binary, with only the fields that a
// choice depends on. Making it parses YAML, which takes a millisecond for a dozen records; reading
// it takes a millisecond for 10,000.
//
// An index is kept on disk beside compiled kernels, one file per tuning file, and is not trusted:
// it is made again when its checksum, version or tuning file is another, and every offset in it is
// checked where it is used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/plan_records.h"
#include "autotune/records.h"
#include "support/hash.h"

namespace tcc::autotune {

// This is the file system's view of a file. Times are nanoseconds since 1970.
struct FileStamp {
  int64_t bytes = 0, modified = 0, changed = 0;
  uint64_t inode = 0, device = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;

  // Returns nothing unless the path is a regular file.
  static std::optional<FileStamp> of(const std::filesystem::path& path);
  // Returns whether a file that looked like this at the time `checked` and looks like this now has
  // not been written since: file systems tell times in steps, of up to two seconds.
  bool is_settled(int64_t checked) const;
};
int64_t now_ns();

// The source names the file an index was made from.
struct IndexSource {
  Hash128 path;     // of the tuning file's name
  Hash128 content;  // of its text
  FileStamp stamp;
  int64_t checked = 0;  // when the content was last read
};

inline constexpr size_t kIndexHeaderBytes = 14 * sizeof(uint64_t);
// Returns the bytes, at least a header, with their size and checksum filled in.
std::string sealed_index(std::string bytes);

class RecordIndex {
 public:
  // Parses the text of a tuning file of either kind; `file` is its name in warnings, which the
  // index keeps.
  static RecordIndex parse(std::string_view text, const std::filesystem::path& file,
                           const IndexSource& source);
  // Returns nothing for bytes that are not a whole index of this tcc.
  static std::optional<RecordIndex> decode(std::string bytes);

  const std::string& bytes() const { return bytes_; }
  const IndexSource& source() const { return source_; }
  // Returns the same index with another stamp.
  void set_source(const IndexSource& source);

  const std::string& device() const { return device_; }  // of the file's records; "": it has none
  const std::string& kernel_template() const { return template_; }  // "": it has plans
  const std::vector<std::string>& warnings() const { return warnings_; }
  size_t size() const { return table_.size / kRowBytes; }  // records or plans

  // The records of a region (32 digits), of a family of regions; the plans of a site. What records
  // do not need for look-up is left out: name, operands, policy, intervals, runners-up, date.
  // Throw Error(bad_input) where the index is damaged after all.
  void add_region(int version, std::string_view region, RecordStore& to) const;
  void add_family(int version, std::string_view family, RecordStore& to) const;
  void add_plans(std::string_view site, PlanStore& to) const;

 private:
  static constexpr size_t kRowBytes = 16 + 16 + 4 + 4;  // region, family, version, offset
  struct Row;

  RecordIndex() = default;
  void read_body();
  Row row(size_t i) const;
  size_t lower_bound(std::string_view region) const;
  Record record(const Row& row) const;
  PlanRecord plan(const Row& row) const;

  std::string bytes_;
  IndexSource source_;
  std::string device_, template_;
  std::vector<std::string> warnings_;
  std::vector<Environment> environments_;
  std::vector<std::string> versions_;  // of tcc, of each environment
  std::vector<std::string> names_;     // of parameters
  struct Part {
    size_t begin = 0, size = 0;
  };
  std::string_view part(const Part& part) const {
    return std::string_view(bytes_).substr(part.begin, part.size);
  }
  Part table_, blobs_;  // of bytes_: rows sorted by region; what they point to
};

}  // namespace tcc::autotune
