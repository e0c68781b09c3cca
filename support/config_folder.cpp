#include "support/config_folder.h"

#include <dlfcn.h>

#include <cstdlib>
#include <system_error>

#include "support/error.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

// The folder of the program or shared library that holds this code.
fs::path own_folder() {
  Dl_info info;
  if (!::dladdr(reinterpret_cast<const void*>(&config_folder), &info) || !info.dli_fname) return {};
  std::error_code error;
  const fs::path file = fs::canonical(info.dli_fname, error);
  return error ? fs::path() : file.parent_path();
}

}  // namespace

fs::path config_folder() {
  if (const char* folder = std::getenv("TCC_CONFIG_DIR"); folder && *folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error))
      fail_input("TCC_CONFIG_DIR: '", folder, "' is no folder; it names the folder 'configs'");
    return folder;
  }
  const fs::path own = own_folder();
  const fs::path source = TCC_SOURCE_CONFIGS;  // of the tree that it was built from
  for (const fs::path& folder : {own / "../configs", own / "../share/tcc/configs",
                                 own / "../../share/tcc/configs", source}) {
    std::error_code error;
    if (fs::is_directory(folder / "targets", error)) return folder.lexically_normal();
  }
  return {};
}

}  // namespace tcc
