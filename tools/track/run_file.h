// A file that lines are appended to.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tcc::tools {

class RunFile {
 public:
  // Creates the file, which must not exist. It is locked (flock) as long as this object lives.
  explicit RunFile(const std::filesystem::path& path);
  ~RunFile();
  RunFile(const RunFile&) = delete;
  RunFile& operator=(const RunFile&) = delete;

  // Appends in one write; a part that was written before the disk was full is removed again. Throws
  // Error(bad_input) naming the file.
  void append(std::string_view lines);
  void sync() const;  // to the disk
  const std::filesystem::path& path() const { return path_; }

  // Returns whether a living process has the file open as a RunFile.
  static bool is_open(const std::filesystem::path& path);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace tcc::tools
