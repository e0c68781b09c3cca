#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "support/system.h"

namespace tcc::system {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostAtOnce = size_t{1} << 30;  // bytes of one read or write

// Returns $VARIABLE, else the folder under $HOME.
fs::path home_folder(const char* variable, const char* under_home) {
  if (const char* folder = std::getenv(variable); folder && *folder) return folder;
  if (const char* home = std::getenv("HOME"); home && *home) return fs::path(home) / under_home;
  return {};
}

// Calls again what a signal interrupted.
template <class Call>
int64_t uninterrupted(const Call& call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

}  // namespace

void* open_library(const char* name, std::string& reason) {
  if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  const char* text = ::dlerror();
  reason = text ? text : "";
  if (reason.find("No such file") != std::string::npos) reason.clear();
  return nullptr;
}

void* library_symbol(void* library, const char* name) { return ::dlsym(library, name); }

fs::path own_file() {
  Dl_info info;
  if (!::dladdr(reinterpret_cast<const void*>(&own_file), &info) || !info.dli_fname) return {};
  std::error_code error;
  const fs::path file = fs::canonical(info.dli_fname, error);
  return error ? fs::path() : file;
}

fs::path cache_home() { return home_folder("XDG_CACHE_HOME", ".cache"); }
fs::path config_home() { return home_folder("XDG_CONFIG_HOME", ".config"); }

int64_t process_id() { return ::getpid(); }

int64_t memory_bytes() { return int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGE_SIZE); }

std::byte* allocate_pages(size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  ::madvise(data, bytes, MADV_HUGEPAGE);  // several times fewer page faults; only a hint
  return static_cast<std::byte*>(data);
}

void free_pages(std::byte* pages, size_t bytes) { ::munmap(pages, bytes); }

int open_to_read(const fs::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int open_to_write(const fs::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
}

int create_file(const fs::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

std::optional<FileStatus> file_status(int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  return FileStatus{S_ISREG(status.st_mode), status.st_size};
}

int64_t read_some(int descriptor, void* to, size_t bytes) {
  return uninterrupted([&] { return ::read(descriptor, to, std::min(bytes, kMostAtOnce)); });
}

int64_t write_some(int descriptor, const void* from, size_t bytes) {
  return uninterrupted([&] { return ::write(descriptor, from, std::min(bytes, kMostAtOnce)); });
}

// Some devices and pipes cannot be synced, which is no failure.
bool sync_file(int descriptor) { return ::fsync(descriptor) == 0 || errno == EINVAL; }

bool close_file(int descriptor) { return ::close(descriptor) == 0; }

void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

const std::byte* map_file(int descriptor, size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  return data == MAP_FAILED ? nullptr : static_cast<const std::byte*>(data);
}

void unmap_file(const std::byte* data, size_t bytes) {
  ::munmap(const_cast<std::byte*>(data), bytes);
}

}  // namespace tcc::system
