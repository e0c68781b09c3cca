// The differences between operating systems, in one place: support/system_posix.cpp or
// support/system_windows.cpp is compiled. Everything else of the runtime is standard C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tcc::system {

#if defined(_WIN32)
inline constexpr bool kIsWindows = true;
#else
inline constexpr bool kIsWindows = false;
#endif

// Separates the paths of a list in an environment variable: Windows has ':' in paths.
inline constexpr char kPathListSeparator = kIsWindows ? ';' : ':';

// Returns a shared library, which stays open for good (drivers leave threads and exit handlers
// behind), or nullptr with the reason, "" where there is no file of that name.
void* open_library(const char* name, std::string& reason);
// Returns a function of it, or nullptr.
void* library_symbol(void* library, const char* name);

// Returns the program or shared library that holds this code; "" where that is not known.
std::filesystem::path own_file();
// Return the user's folders for caches and for settings; "" where the environment names none.
std::filesystem::path cache_home();
std::filesystem::path config_home();

int64_t process_id();
int64_t memory_bytes();  // of the machine

// Returns zero-filled pages, which the threads that first touch them make, or nullptr.
std::byte* allocate_pages(size_t bytes);
void free_pages(std::byte* pages, size_t bytes);

// Files by descriptors. What fails returns -1, false or nothing, and sets errno.
struct FileStatus {
  bool is_regular = false;
  int64_t bytes = 0;
};
int open_to_read(const std::filesystem::path& path);   // does not wait for a pipe's writer
int open_to_write(const std::filesystem::path& path);  // what exists: a device, a pipe
int create_file(const std::filesystem::path& path);    // EEXIST where there is something
std::optional<FileStatus> file_status(int descriptor);
int64_t read_some(int descriptor, void* to, size_t bytes);
int64_t write_some(int descriptor, const void* from, size_t bytes);
bool sync_file(int descriptor);  // survives a power cut from now on
bool close_file(int descriptor);
// Makes renamings in a folder survive a power cut, where the system can.
void sync_folder(const std::filesystem::path& folder);

// Returns a read-only view of the file's first bytes (more than 0), or nullptr; the descriptor may
// be closed.
const std::byte* map_file(int descriptor, size_t bytes);
void unmap_file(const std::byte* data, size_t bytes);

}  // namespace tcc::system
