// Files: whole reads with a limit, atomic writes, read-only maps, and paths that must stay inside a
// folder.
//
// Every failure is an Error(bad_input) whose message starts with the file's name and ends with the
// system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace tcc {

// The whole file. Refuses folders, devices and files larger than `max_bytes`.
std::string read_file(const std::filesystem::path& path, int64_t max_bytes = int64_t{1} << 30);

// Replaces the file with `content`, or leaves it as it was.
void write_file_atomic(const std::filesystem::path& path, std::string_view content);

// A file being written beside its final place. Only commit() makes it visible under `path`; without
// one, the destructor removes it. Readers see the old file or the new one, never a part; after
// commit() it also survives a power cut.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

// A read-only view of a regular file's bytes. The pages belong to the page cache: opening is cheap,
// and only what is read is loaded. A file that another process truncates while it is mapped faults
// on access (SIGBUS), as with any map; Windows refuses to truncate or to replace it.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// The real path of the existing file `relative` under `base_dir`. Refuses absolute paths, any "..",
// and links that lead out of `base_dir`: for names that come from an untrusted file in `base_dir`.
std::filesystem::path resolve_inside(const std::filesystem::path& base_dir,
                                     std::string_view relative);

}  // namespace tcc
