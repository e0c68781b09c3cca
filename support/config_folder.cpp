#include "support/config_folder.h"

#include <cstdlib>
#include <system_error>

#include "support/error.h"
#include "support/system.h"

namespace tcc {

namespace fs = std::filesystem;

fs::path config_folder() {
  if (const char* folder = std::getenv("TCC_CONFIG_DIR"); folder && *folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error))
      fail_input("TCC_CONFIG_DIR: '", folder, "' is no folder; it names the folder 'configs'");
    return folder;
  }
  const fs::path own = system::own_file().parent_path();
  const fs::path source = TCC_SOURCE_CONFIGS;  // of the tree that it was built from
  for (const fs::path& folder : {own / "../configs", own / "../share/tcc/configs",
                                 own / "../../share/tcc/configs", source}) {
    std::error_code error;
    if (fs::is_directory(folder / "targets", error)) return folder.lexically_normal();
  }
  return {};
}

}  // namespace tcc
