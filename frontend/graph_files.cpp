#include "frontend/graph_files.h"

#include "frontend/tensor_file.h"
#include "support/error.h"

namespace tcc {

FileBytes GraphFiles::open(const std::string& name) const {
  if (const auto found = given_.find(name); found != given_.end()) return FileBytes(found->second);
  if (!opens_files_)
    fail_input("the graph comes from memory without a folder, and the bytes of its file ",
               quoted_name(name), " are not given");
  return FileBytes(resolve_inside(folder_.empty() ? "." : folder_, name));
}

std::vector<std::byte> GraphFiles::read(const std::string& name, uint64_t offset,
                                        size_t count) const {
  std::vector<std::byte> bytes(count);
  if (!read_(name, offset, bytes))
    fail_input("the caller has no ", count, " bytes of ", quoted_name(name), " from offset ",
               offset);
  return bytes;
}

std::filesystem::path GraphFiles::place(const std::string& name) const {
  return given_.contains(name) ? std::filesystem::path(name) : folder_ / name;
}

}  // namespace tcc
