#include "support/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "support/error.h"
#include "support/system.h"

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
    if (value_ >= 0) system::close_file(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

// Opens a regular file for reading.
int open_regular(const fs::path& path, int64_t& size) {
  const int descriptor = system::open_to_read(path);
  if (descriptor < 0) fail_errno(path.string(), "cannot open");
  const std::optional<system::FileStatus> status = system::file_status(descriptor);
  if (!status) {
    const int code = errno;
    system::close_file(descriptor);
    fail_errno(path.string(), "cannot stat", code);
  }
  if (!status->is_regular) {
    system::close_file(descriptor);
    fail_input(path.string(), ": not a regular file");
  }
  size = status->bytes;
  return descriptor;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

std::string read_file(const fs::path& path, int64_t max_bytes) {
  int64_t size = 0;
  const Descriptor file(open_regular(path, size));
  if (size > max_bytes)
    fail_input(path.string(), ": ", size, " bytes; at most ", max_bytes, " are read");
  std::string content(static_cast<size_t>(size), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const int64_t count =
        system::read_some(file.get(), content.data() + done, content.size() - done);
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
    descriptor_ = system::open_to_write(path_);
    if (descriptor_ < 0) fail_errno(path.string(), "cannot write");
    return;
  }
  // A name that no other process or thread uses; creating settles what remains (a file left
  // by a crash).
  static std::atomic<unsigned> counter{0};
  const fs::path folder = folder_of(path_);
  const std::string stem = str(".", path_.filename().string(), ".", system::process_id(), ".");
  for (int attempt = 0; descriptor_ < 0 && attempt < 100; ++attempt) {
    temporary_ = folder / str(stem, counter++, ".tmp");
    descriptor_ = system::create_file(temporary_);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  if (descriptor_ < 0) fail_errno(path_.string(), "cannot create a temporary file beside it");
  if (const fs::file_status old = fs::status(path_, ignored); fs::exists(old))
    fs::permissions(temporary_, old.permissions(), ignored);  // best effort: keep its mode
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  system::close_file(descriptor_);
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void AtomicFile::write(const void* data, size_t size) {
  TCC_CHECK(descriptor_ >= 0, "write after commit to ", path_.string());
  auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const int64_t count = system::write_some(descriptor_, bytes, size);
    if (count < 0) fail_errno(path_.string(), "cannot write");
    bytes += count;
    size -= static_cast<size_t>(count);
  }
}

void AtomicFile::commit() {
  TCC_CHECK(descriptor_ >= 0, "second commit to ", path_.string());
  if (!system::sync_file(descriptor_)) fail_errno(path_.string(), "cannot write");
  const bool is_moved = !temporary_.empty();
  std::error_code error, ignored;
  if (!system::close_file(std::exchange(descriptor_, -1)))
    error = {errno, std::generic_category()};
  else if (is_moved)
    fs::rename(temporary_, path_, error);
  if (error) {
    if (is_moved) fs::remove(temporary_, ignored);
    fail_input(path_.string(), ": cannot write: ", error.message());
  }
  if (is_moved) system::sync_folder(folder_of(path_));
}

MappedFile::MappedFile(const fs::path& path) {
  int64_t size = 0;
  const Descriptor file(open_regular(path, size));
  if (size == 0) return;  // there is no empty map
  data_ = system::map_file(file.get(), static_cast<size_t>(size));
  if (!data_) fail_errno(path.string(), "cannot map");
  size_ = static_cast<size_t>(size);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) system::unmap_file(data_, size_);
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
  if (name.has_root_path())  // Windows: a drive alone is one, too
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
