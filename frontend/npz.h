// NumPy's .npz: a ZIP archive of .npy members
// (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT).
//
// Read: stored and deflated members, zip64, CRC-checked. A member's sizes are checked before
// anything is allocated: the inflated bytes are bounded by the member's own .npy header and by the
// largest ratio of deflate. Encrypted, repeated and overlapping members are refused. Written:
// stored, the same bytes for the same tensors (no time stamps).
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/graph_files.h"
#include "frontend/npy.h"
#include "frontend/tensor_file.h"
#include "frontend/zip.h"
#include "support/file.h"

namespace tcc {

class NpzFile : public TensorFile {
 public:
  static NpzFile open(const std::filesystem::path& path) { return NpzFile(path); }
  explicit NpzFile(const std::filesystem::path& path) : NpzFile(path, FileBytes(path)) {}
  NpzFile(const std::filesystem::path& path, FileBytes bytes);  // `path` stands in messages

  // Returns the members' names without the extension .npy.
  std::vector<std::string> names() const override;
  bool contains(std::string_view name) const override;
  TensorInfo info(std::string_view name) const override;
  Tensor load(std::string_view name) const override;

 private:
  const ZipMember& find(std::string_view name) const;
  std::string where(const ZipMember& member) const;

  std::filesystem::path path_;
  FileBytes file_;
  std::vector<ZipMember> members_;
  std::map<std::string, size_t, std::less<>> index_;  // name -> place in members_
};

// Writes atomically: the file is complete or unchanged. bf16 and f8 are written as f32. Throws
// Error(bad_input) for repeated names.
void write_npz(const std::filesystem::path& path,
               std::span<const std::pair<std::string, const Tensor*>> tensors);

}  // namespace tcc
