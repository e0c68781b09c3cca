#include "tools/track/run_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "support/error.h"

namespace tcc::tools {
namespace {

std::string errno_text(int code) { return std::generic_category().message(code); }

}  // namespace

RunFile::RunFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  std::filesystem::create_directories(path_.parent_path(), error);
  if (error) fail_input(path_.parent_path().string(), ": cannot be made: ", error.message());
  if (std::filesystem::exists(path_, error)) fail_input(path_.string(), ": is there already");
  // It gets its name when it is locked, so that no other process takes it for a dead process's.
  const std::filesystem::path hidden = path_.parent_path() / ("." + path_.filename().string());
  descriptor_ = ::open(hidden.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_input(path_.string(), ": cannot be made: ", errno_text(errno));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 && ::rename(hidden.c_str(), path_.c_str()) == 0)
    return;
  const int reason = errno;
  ::unlink(hidden.c_str());
  ::close(descriptor_);
  fail_input(path_.string(), ": cannot be made: ", errno_text(reason));
}

RunFile::~RunFile() { ::close(descriptor_); }

void RunFile::append(std::string_view lines) {
  struct stat before {};
  if (::fstat(descriptor_, &before) != 0)
    fail_input(path_.string(), ": cannot be written: ", errno_text(errno));
  size_t done = 0;
  while (done < lines.size()) {
    const ssize_t count = ::write(descriptor_, lines.data() + done, lines.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int reason = count < 0 ? errno : ENOSPC;
      if (done > 0) (void)!::ftruncate(descriptor_, before.st_size);
      fail_input(path_.string(), ": cannot be written: ", errno_text(reason),
                 "; the lines before are kept");
    }
    done += static_cast<size_t>(count);
  }
}

void RunFile::sync() const { ::fsync(descriptor_); }

bool RunFile::is_open(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return locked;
}

}  // namespace tcc::tools
