#include "support/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "support/error.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

std::string errno_text(int code) { return std::generic_category().message(code); }

[[noreturn]] void fail_errno(const std::string& path, std::string_view what, int code = errno) {
  fail_input(path, ": ", what, ": ", errno_text(code));
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

// Opens a regular file for reading; O_NONBLOCK so that a pipe's name cannot block us.
int open_regular(const std::string& path, int64_t& size) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail_errno(path, "cannot open");
  struct stat status;
  if (::fstat(descriptor, &status) != 0) {
    const int code = errno;
    ::close(descriptor);
    fail_errno(path, "cannot stat", code);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor);
    fail_input(path, ": not a regular file");
  }
  size = status.st_size;
  return descriptor;
}

// Makes a rename durable. Not every file system can: the file itself is already complete, so
// failures do not matter.
void sync_folder(const fs::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() >= 0) ::fsync(descriptor.get());
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

std::string read_file(const fs::path& path, int64_t max_bytes) {
  int64_t size = 0;
  const Descriptor file(open_regular(path.string(), size));
  if (size > max_bytes)
    fail_input(path.string(), ": ", size, " bytes; at most ", max_bytes, " are read");
  std::string content(static_cast<size_t>(size), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t count = ::read(file.get(), content.data() + done, content.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno(path.string(), "cannot read");
    if (count == 0) break;  // it shrank meanwhile
    done += static_cast<size_t>(count);
  }
  content.resize(done);
  return content;
}

void write_file_atomic(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

AtomicFile::AtomicFile(const fs::path& path) : path_(path) {
  std::error_code ignored;
  // Write through a link instead of replacing it.
  if (fs::is_symlink(path_, ignored)) {
    const fs::path target = fs::canonical(path_, ignored);
    if (!ignored) path_ = target;
  }
  if (fs::is_directory(path_, ignored)) fail_input(path.string(), ": cannot write: it is a folder");
  // A device or a pipe has no other name that could be moved to its place.
  if (fs::exists(path_, ignored) && !fs::is_regular_file(path_, ignored)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (descriptor_ < 0) fail_errno(path.string(), "cannot write");
    return;
  }
  // A name that no other process or thread uses; O_EXCL settles what remains (a file left by a
  // crash).
  static std::atomic<unsigned> counter{0};
  const std::string stem = (folder_of(path_) / str(".", path_.filename().string())).string();
  for (int attempt = 0; descriptor_ < 0 && attempt < 100; ++attempt) {
    temporary_ = str(stem, ".", ::getpid(), ".", counter++, ".tmp");
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  if (descriptor_ < 0) fail_errno(path_.string(), "cannot create a temporary file beside it");
  struct stat old_status;
  if (::stat(path_.c_str(), &old_status) == 0)
    (void)!::fchmod(descriptor_, old_status.st_mode & 07777);  // best effort: keep its mode
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t size) {
  TCC_CHECK(descriptor_ >= 0, "write after commit to ", path_.string());
  auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = ::write(descriptor_, bytes, std::min(size, size_t{1} << 30));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno(path_.string(), "cannot write");
    bytes += count;
    size -= static_cast<size_t>(count);
  }
}

void AtomicFile::commit() {
  TCC_CHECK(descriptor_ >= 0, "second commit to ", path_.string());
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail_errno(path_.string(), "cannot write");
  const int close_result = ::close(std::exchange(descriptor_, -1));
  const bool is_moved = !temporary_.empty();
  if (close_result != 0 || (is_moved && ::rename(temporary_.c_str(), path_.c_str()) != 0)) {
    const int code = errno;
    if (is_moved) ::unlink(temporary_.c_str());
    fail_errno(path_.string(), "cannot write", code);
  }
  if (!is_moved) return;
  sync_folder(folder_of(path_));
}

MappedFile::MappedFile(const fs::path& path) {
  int64_t size = 0;
  const Descriptor file(open_regular(path.string(), size));
  if (size == 0) return;  // an empty map is an error for mmap
  void* data = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) fail_errno(path.string(), "cannot map");
  data_ = static_cast<const std::byte*>(data);
  size_ = static_cast<size_t>(size);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

fs::path resolve_inside(const fs::path& base_dir, std::string_view relative) {
  const fs::path name(relative);
  if (relative.empty()) fail_input("empty file name");
  if (relative.find('\0') != std::string_view::npos) fail_input("file name with a zero byte");
  if (name.is_absolute())
    fail_input(relative, ": an absolute path; it must lie inside ", base_dir.string());
  if (std::find(name.begin(), name.end(), "..") != name.end())
    fail_input(relative, ": '..' is not allowed; the file must lie inside ", base_dir.string());

  std::error_code error;
  const fs::path base = fs::canonical(base_dir.empty() ? fs::path(".") : base_dir, error);
  if (error) fail_input(base_dir.string(), ": ", error.message());
  const fs::path full = fs::canonical(base / name, error);
  if (error) fail_input((base_dir / name).string(), ": cannot open: ", error.message());
  const bool inside =
      std::mismatch(base.begin(), base.end(), full.begin(), full.end()).first == base.end();
  if (!inside) fail_input((base_dir / name).string(), ": a link leads out of ", base_dir.string());
  return full;
}

}  // namespace tcc
