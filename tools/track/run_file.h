// A file that lines are appended to.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tcc::tools {

class RunFile {
 public:
  // Makes it; it must not exist. It is locked (flock) as long as this object lives.
  explicit RunFile(const std::filesystem::path& path);
  ~RunFile();
  RunFile(const RunFile&) = delete;
  RunFile& operator=(const RunFile&) = delete;

  // In one write; a part that was written before the disk was full is taken back. Throws
  // Error(bad_input) naming the file.
  void append(std::string_view lines);
  void sync() const;  // to the disk
  const std::filesystem::path& path() const { return path_; }

  // Whether a living process has it open as a RunFile.
  static bool is_open(const std::filesystem::path& path);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace tcc::tools
