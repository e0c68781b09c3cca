// The files that a graph names, for its weights: in its folder, or given by the caller as bytes in
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/file.h"

namespace tcc {

// A mapped file, or bytes of another owner.
class FileBytes {
 public:
  explicit FileBytes(const std::filesystem::path& path) : file_(path), bytes_(file_.bytes()) {}
  explicit FileBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  const std::byte* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  MappedFile file_;
  std::span<const std::byte> bytes_;
};

// Fills `to` with the bytes of a file from `offset` on; returns false where there are none.
using ReadBytes =
    std::function<bool(const std::string& name, uint64_t offset, std::span<std::byte> to)>;
using BytesByName = std::map<std::string, std::span<const std::byte>, std::less<>>;

// Names come from an untrusted graph: nothing outside of the folder is opened, and without a folder
// nothing at all. Copies share the bytes, whose owner must keep them.
class GraphFiles {
 public:
  explicit GraphFiles(std::filesystem::path folder, BytesByName given = {}, bool opens_files = true,
                      ReadBytes read = {})
      : folder_(std::move(folder)),
        given_(std::move(given)),
        opens_files_(opens_files),
        read_(std::move(read)) {}

  // Given bytes come first. Throws Error(bad_input) with the name and the reason.
  FileBytes open(const std::string& name) const;
  // Returns whether the caller is asked for parts of the file, because it is not given as a whole.
  bool reads(const std::string& name) const { return read_ && !given_.contains(name); }
  // Reads such a part. Throws Error(bad_input) where the caller does not have it.
  std::vector<std::byte> read(const std::string& name, uint64_t offset, size_t count) const;
  // Returns the file's name for messages.
  std::filesystem::path place(const std::string& name) const;

 private:
  std::filesystem::path folder_;
  BytesByName given_;
  bool opens_files_;
  ReadBytes read_;
};

}  // namespace tcc
