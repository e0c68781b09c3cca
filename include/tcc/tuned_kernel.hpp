// Users' own kernels are tuned by `tcc-tune --kernel` (docs/tuning-your-own-kernels.md). A program
// loads the kernel file, compiles it with the config that the tuning records have for the device
// and the dims, and launches it like a compiled graph.
//
//   tcc::KernelFile file = tcc::KernelFile::load("matmul.yaml");
//   tcc::CompiledGraph matmul =
//       tcc::compile(file, "cuda:0", {.dims = {{"M", 512}}, .tuning = {"tuned"}});
//   tcc::Context context(matmul, stream);
//   context.run_device(inputs, outputs);  // or run(), run_host() on host memory
#pragma once

#include "tcc/tcc.hpp"

#if __cplusplus >= 202002L  // tcc/tcc.hpp says what is missing

#pragma GCC visibility push(default)
namespace tcc {

// A kernel file and the sources that it names. A KernelFile is immutable, and copies share its
// contents.
class KernelFile {
 public:
  // Throws Error(bad_input) "FILE:LINE: ..." for every mistake in the file.
  static KernelFile load(const std::filesystem::path& path);

  std::string name() const;
  std::map<std::string, std::int64_t> dims() const;  // and their default values
  std::vector<ValueSpec> inputs() const;             // shapes as the file writes them
  std::vector<ValueSpec> outputs() const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  explicit KernelFile(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Compiles the kernel, specialised for its dims, as a graph of one launch. Inputs and outputs are
// those of the file, in its order; CompiledGraph::kernels() gives config and tier. The options
// `dims`, `tuning`, `use_cache`, `cache_dir`, `warn`, `progress` and `cancelled` are used, the
// others are ignored. Throws Error(bad_input) for a mistake in the file, a wrong dim or a default
// config that is not legal, Error(no_device), and Error(device) where the source does not compile.
CompiledGraph compile(const KernelFile& kernel, std::string_view device,
                      const CompileOptions& options = {});

}  // namespace tcc
#pragma GCC visibility pop
#endif
