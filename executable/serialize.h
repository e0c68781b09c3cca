// Executables and kernels as bytes: the one form in which they are kept in files and sent to other
// processes. A file holds a version, its constants' bytes (equal ones once), the executable, and a
// checksum of it:
//
//   "tcc-exec", version (u32), 0 (u32)
//   constants, each at a multiple of 64 bytes
//   the executable's fields (executable/fields.h)
//   their place and size (u64 each), their content_hash (16 bytes), "tcc-end."
//
// Files are hostile: whatever passes the readers keeps within its buffers and its device's limits,
// and writes neither inputs nor constants, as far as the executable says. Machine code is trusted:
// what a kernel does with its arguments is not looked at, so that a file is run as a program is.
// Constants of other programs are shared by their content_hash, which does not withstand someone
// who makes collisions on purpose.
//
// All readers throw Error(bad_input), which begins with the given name, for bytes that are no such
// thing, were changed or are cut off, and for a version that they do not know.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executable/executable.h"

namespace tcc::exec {

inline constexpr uint32_t kFormatVersion = 17;
// Versions from here on are read: those that packages were written in (docs/packages.md).
inline constexpr uint32_t kOldestFormatVersion = 9;
// "9 to 11": for messages.
std::string format_versions();

// Loads one constant at a time.
using Sink = std::function<void(std::span<const std::byte>)>;
void write_executable(const Executable& executable, const Sink& sink);
void save_executable(const Executable& executable, const std::filesystem::path& path);

// Constants stay where they are: `owner` keeps the bytes as long as the executable's store lives. A
// constant is held against its checksum when it is loaded.
Executable read_executable(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                           const std::string& name);
// Maps the file.
Executable load_executable(const std::filesystem::path& path);

// An executable whose constants are elsewhere, by numbers: a part of a package
// (executable/package.h), which has its checksum. The kernels' texts are left out.
struct PackagePart {
  Executable executable;           // without stores
  std::vector<int64_t> constants;  // its own, then those of each variant
};
std::vector<uint8_t> write_part(const PackagePart& part);
PackagePart read_part(std::span<const std::byte> bytes, const std::string& name);

// The bytes have a version and a checksum; the source text is left out.
std::vector<uint8_t> write_sequence(const StandaloneSequence& sequence);
StandaloneSequence read_sequence(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace tcc::exec
