// A library is a libtcc-core.so that is opened beside others in one process, and used through its C
// ABI.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "backends/compile/process.h"
#include "tcc/c_api.h"
#include "tools/track/worker.h"

namespace tcc::tools {

class Library {
 public:
  // `path` is the library, a build folder or an installation's prefix. Throws Error(bad_input)
  // where none is found there, or where it lacks a function.
  explicit Library(const std::filesystem::path& path);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string version() const { return version_(); }
  // Throws the error that the status means, with the library's own message.
  void check(tcc_status status) const;

  // The functions that a comparison needs.
  decltype(&tcc_graph_load) graph_load;
  decltype(&tcc_graph_destroy) graph_destroy;
  decltype(&tcc_compile) compile;
  decltype(&tcc_compiled_destroy) compiled_destroy;
  decltype(&tcc_compiled_num_inputs) num_inputs;
  decltype(&tcc_compiled_num_outputs) num_outputs;
  decltype(&tcc_compiled_input) input;
  decltype(&tcc_compiled_output) output;
  decltype(&tcc_launches) launches;
  decltype(&tcc_arena_bytes) arena_bytes;
  decltype(&tcc_constant_bytes) constant_bytes;
  decltype(&tcc_kernel_report) kernel_report;
  decltype(&tcc_context_create) context_create;
  decltype(&tcc_context_destroy) context_destroy;
  decltype(&tcc_context_run_host) run_host;
  decltype(&tcc_context_time) time;
  // It is null in libraries before 0.2, which cannot time their kernels one by one.
  decltype(&tcc_context_time_kernels) time_kernels;
  decltype(&tcc_kernel_source) kernel_source;  // null there, too

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  std::filesystem::path path_;
  std::unique_ptr<void, Close> handle_;
  decltype(&tcc_version) version_;
  decltype(&tcc_last_error) last_error_;
};

// Opens the library in a worker, which has `limit` seconds for it, and returns its version. Throws
// Error(bad_input), naming the file, where that fails or ends the worker.
std::string library_version(const std::filesystem::path& path, double limit);
std::unique_ptr<Served> serve_library(const std::string& path);

// Returns the file that Library opens for `path`. Throws Error(bad_input) where there is none.
std::filesystem::path find_library(const std::filesystem::path& path);

// Copies the library that is found at `path`, the files beside it and its configs into a new folder
// `to`, which then serves as an installation.
void copy_installation(const std::filesystem::path& path, const std::filesystem::path& to);

// A copy of the library in a folder of its own, removed at the end: opened beside the original, it
// is another library, whose code and data lie elsewhere.
class LibraryCopy {
 public:
  explicit LibraryCopy(const std::filesystem::path& path);
  const std::filesystem::path& path() const { return file_; }

 private:
  backends::TemporaryFolder folder_;
  std::filesystem::path file_;
};

}  // namespace tcc::tools
