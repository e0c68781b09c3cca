#include "tools/track/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "support/error.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

ErrorKind kind_of(tcc_status status) {
  switch (status) {
    case TCC_NO_DEVICE: return ErrorKind::no_device;
    case TCC_DEVICE_FAILED: return ErrorKind::device;
    case TCC_INTERNAL: return ErrorKind::internal;
    default: return ErrorKind::bad_input;
  }
}

class ServedLibrary final : public Served {
 public:
  explicit ServedLibrary(const std::string& path) : library_(path) {}
  nlohmann::json hello() override { return {{"version", library_.version()}}; }
  nlohmann::json answer(const nlohmann::json&) override {
    fail_input("a library that is only opened answers nothing");
  }

 private:
  Library library_;
};

}  // namespace

fs::path find_library(const fs::path& path) {
  if (fs::is_regular_file(path)) return fs::canonical(path);
  const char* const places[] = {"lib/libtcc-core.so", "lib/x86_64-linux-gnu/libtcc-core.so",
                                "lib64/libtcc-core.so", "lib/aarch64-linux-gnu/libtcc-core.so",
                                "libtcc-core.so"};
  std::string looked;
  for (const char* place : places) {
    if (fs::is_regular_file(path / place)) return fs::canonical(path / place);
    looked += (looked.empty() ? "" : ", ") + std::string(place);
  }
  fail_input(path.string(), fs::exists(path) ? ": no libtcc-core.so there" : ": not there",
             " (a library, a build folder or an installation; looked for ", looked, ")");
}

void Library::Close::operator()(void* handle) const { dlclose(handle); }

Library::Library(const fs::path& path) : path_(find_library(path)) {
  // Its own symbols come before those of the libraries that are open already: several versions of
  // tcc live side by side.
  handle_.reset(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND));
  if (!handle_) fail_input(path_.string(), ": ", dlerror());
  const auto find = [&]<class F>(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(handle_.get(), name));
    if (!function)
      fail_input(path_.string(), ": has no function ", name,
                 "; it was built before tcc could be tracked");
  };
  find(version_, "tcc_version");
  find(last_error_, "tcc_last_error");
  find(graph_load, "tcc_graph_load");
  find(graph_destroy, "tcc_graph_destroy");
  find(compile, "tcc_compile");
  find(compiled_destroy, "tcc_compiled_destroy");
  find(num_inputs, "tcc_compiled_num_inputs");
  find(num_outputs, "tcc_compiled_num_outputs");
  find(input, "tcc_compiled_input");
  find(output, "tcc_compiled_output");
  find(launches, "tcc_launches");
  find(arena_bytes, "tcc_arena_bytes");
  find(constant_bytes, "tcc_constant_bytes");
  find(context_create, "tcc_context_create");
  find(context_destroy, "tcc_context_destroy");
  find(run_host, "tcc_context_run_host");
  find(time, "tcc_context_time");
  find(kernel_report, "tcc_kernel_report");
  const auto find_if_there = [&]<class F>(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(handle_.get(), name));
  };
  find_if_there(time_kernels, "tcc_context_time_kernels");
  find_if_there(kernel_source, "tcc_kernel_source");
}

Library::~Library() = default;

void Library::check(tcc_status status) const {
  if (status != TCC_OK) throw Error(kind_of(status), last_error_());
}

std::unique_ptr<Served> serve_library(const std::string& path) {
  return std::make_unique<ServedLibrary>(path);
}

std::string library_version(const fs::path& path, double limit) {
  const fs::path file = find_library(path);
  try {
    return Worker("library", file.string(), limit).hello().at("version");
  } catch (const WorkerEnded& error) {
    fail_input(file.string(), ": opening it failed: ", error.what());
  }
}

void copy_installation(const fs::path& path, const fs::path& to) {
  const fs::path original = find_library(path), beside = original.parent_path();
  fs::create_directories(to / "lib");
  fs::copy_file(original, to / "lib" / "libtcc-core.so");
  for (const auto& entry : fs::directory_iterator(beside))
    if (entry.is_regular_file() && entry.path().filename() != original.filename() &&
        entry.path().filename().string().find(".so") != std::string::npos)
      fs::copy_file(entry.path(), to / "lib" / entry.path().filename(),
                    fs::copy_options::skip_existing);
  // A build folder's library uses the configs of the tree that it was built from.
  for (const fs::path& configs :
       {beside / "../configs", beside / "../share/tcc/configs", beside / "../../share/tcc/configs",
        beside / "../../configs", beside / "../../../configs"})
    if (fs::is_directory(configs / "targets"))
      return fs::copy(configs, to / "configs", fs::copy_options::recursive);
}

LibraryCopy::LibraryCopy(const fs::path& path) {
  const fs::path original = find_library(path), beside = original.parent_path();
  // The library looks for its configs, its worker and other libraries in places that are relative
  // to its own: the copy finds the original's there.
  const fs::path above = beside.parent_path(), root = folder_.path(),
                 own = root / "above" / "beside";
  fs::create_directories(own);
  for (const auto& entry : fs::directory_iterator(beside))
    if (entry.path().filename() != original.filename())
      fs::create_symlink(entry.path(), own / entry.path().filename());
  for (const auto& [from, to] :
       {std::pair(above, root / "above"), std::pair(above.parent_path(), root)})
    for (const char* name : {"configs", "share"})
      if (fs::is_directory(from / name)) fs::create_symlink(from / name, to / name);
  file_ = own / original.filename();
  fs::copy_file(original, file_);
}

}  // namespace tcc::tools
