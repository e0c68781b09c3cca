#include <windows.h>
// windows.h comes first: these need its types.
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <share.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "support/system.h"

namespace tcc::system {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostAtOnce = size_t{1} << 30;  // bytes of one read or write

std::string error_text(DWORD code) {
  return std::system_category().message(static_cast<int>(code));
}

// Returns the folder tcc's files of that kind lie in: as UTF-16, since a user's name may be any
// text.
fs::path environment_folder(const wchar_t* variable) {
  const wchar_t* folder = ::_wgetenv(variable);
  return folder && *folder ? fs::path(folder) : fs::path();
}

int open_file(const fs::path& path, int flags) {
  int descriptor = -1;
  const errno_t code = ::_wsopen_s(&descriptor, path.c_str(), flags | _O_BINARY | _O_NOINHERIT,
                                   _SH_DENYNO, _S_IREAD | _S_IWRITE);
  errno = code;
  return descriptor;
}

}  // namespace

void* open_library(const char* name, std::string& reason) {
  // Drivers come from the system's folder or beside the program, never from the current folder.
  if (HMODULE library = ::LoadLibraryExA(name, nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS))
    return reinterpret_cast<void*>(library);
  const DWORD code = ::GetLastError();
  reason = code == ERROR_MOD_NOT_FOUND ? "" : error_text(code);
  return nullptr;
}

void* library_symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(::GetProcAddress(reinterpret_cast<HMODULE>(library), name));
}

fs::path own_file() {
  HMODULE own = nullptr;
  constexpr DWORD flags =
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (!::GetModuleHandleExW(flags, reinterpret_cast<LPCWSTR>(&own_file), &own)) return {};
  std::vector<wchar_t> name(1 << 15);  // the longest path that Windows has
  const DWORD length = ::GetModuleFileNameW(own, name.data(), static_cast<DWORD>(name.size()));
  return length == 0 || length == name.size() ? fs::path() : fs::path(name.data());
}

fs::path cache_home() { return environment_folder(L"LOCALAPPDATA"); }
fs::path config_home() { return environment_folder(L"APPDATA"); }

int64_t process_id() { return ::_getpid(); }

int64_t memory_bytes() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  return ::GlobalMemoryStatusEx(&status) ? static_cast<int64_t>(status.ullTotalPhys) : 0;
}

std::byte* allocate_pages(size_t bytes) {
  return static_cast<std::byte*>(
      ::VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
}

void free_pages(std::byte* pages, size_t) { ::VirtualFree(pages, 0, MEM_RELEASE); }

int open_to_read(const fs::path& path) { return open_file(path, _O_RDONLY); }
int open_to_write(const fs::path& path) { return open_file(path, _O_WRONLY); }
int create_file(const fs::path& path) { return open_file(path, _O_WRONLY | _O_CREAT | _O_EXCL); }

std::optional<FileStatus> file_status(int descriptor) {
  struct _stat64 status;
  if (::_fstat64(descriptor, &status) != 0) return std::nullopt;
  return FileStatus{(status.st_mode & _S_IFMT) == _S_IFREG, status.st_size};
}

int64_t read_some(int descriptor, void* to, size_t bytes) {
  return ::_read(descriptor, to, static_cast<unsigned>(std::min(bytes, kMostAtOnce)));
}

int64_t write_some(int descriptor, const void* from, size_t bytes) {
  return ::_write(descriptor, from, static_cast<unsigned>(std::min(bytes, kMostAtOnce)));
}

// Devices cannot be synced, which is no failure.
bool sync_file(int descriptor) {
  const std::optional<FileStatus> status = file_status(descriptor);
  return (status && !status->is_regular) || ::_commit(descriptor) == 0;
}

bool close_file(int descriptor) { return ::_close(descriptor) == 0; }

void sync_folder(const fs::path&) {}  // Windows has no such call: its file systems keep a journal

const std::byte* map_file(int descriptor, size_t bytes) {
  auto* const file = reinterpret_cast<HANDLE>(::_get_osfhandle(descriptor));
  HANDLE mapping = ::CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
  // The view keeps the mapping.
  void* data = mapping ? ::MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, bytes) : nullptr;
  if (mapping) ::CloseHandle(mapping);
  if (!data) errno = ENOMEM;
  return static_cast<const std::byte*>(data);
}

void unmap_file(const std::byte* data, size_t) { ::UnmapViewOfFile(data); }

}  // namespace tcc::system
