// A kernel's compiler refused a source: its message becomes an Error.
#pragma once

#include <filesystem>
#include <string>

namespace tcc::backends {

// Returns a safe file name without folders: the kernel's name and `ending` (".cu").
std::string source_file_name(std::string name, const std::string& ending);

// Throws Error(device) with the first lines of `messages`; the source is kept in `dump_folder`
// unless that is empty. `target` follows "does not compile" ("for sm_90a", or nothing).
[[noreturn]] void fail_compile(const std::string& source, const std::string& name,
                               const std::string& ending, const std::string& target,
                               const std::filesystem::path& dump_folder,
                               const std::string& messages);

}  // namespace tcc::backends
