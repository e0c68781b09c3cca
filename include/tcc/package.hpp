// Model packages: one file with a model's kernels for several kinds of devices, and its weights
// once. write_package() and `tcc-compile --package` make them (docs/packages.md). libtcc-runtime
// runs them, without a compiler: CMake finds it by `find_package(tcc)`, target tcc::runtime. Of
// tcc/tcc.hpp it has CompiledGraph, Context, HostTensor, list_devices() and version().
//
//   const tcc::Package package = tcc::Package::load("model.tccpkg");
//   tcc::Context context(package.open("auto"));
//   std::vector<tcc::HostTensor> outputs = context.run(inputs);
#pragma once

#include "tcc/tcc.hpp"

#if __cplusplus >= 202002L  // tcc/tcc.hpp says what is missing
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace tcc {

// Asks that a package be signed by minisign (docs/packages.md). Without a key nothing is verified.
struct PackageLoadOptions {
  // The author's public key: "RW...", or the text of minisign's .pub file. No byte of the package
  // is interpreted before its signature is verified, and files of weights beside it need signatures
  // by the same key. libsodium must be there, which is loaded when it is needed.
  std::optional<std::string> public_key{};
  // The signature's text; Package::load takes that of the file NAME.minisig by itself.
  std::optional<std::string> signature{};
};

// A package is immutable, and copies share its contents. Weights stay in the file, which is mapped,
// until a device gets them: it must not be changed meanwhile.
class Package {
 public:
  // Opens a package. Throws Error(bad_input), one line that begins with the file's name, for a file
  // that is missing, no package, damaged, of a version that this tcc does not read, or not signed
  // as `options` ask.
  static Package load(const std::filesystem::path& path, const PackageLoadOptions& options = {});
  // The same of bytes in memory, which are not copied: they must live as long as the package and
  // what it opened. `folder` is where weights in files beside the package are; "": it has none.
  static Package from_bytes(std::span<const std::byte> bytes,
                            const std::filesystem::path& folder = {},
                            const PackageLoadOptions& options = {});

  std::string name() const;                  // of the model
  std::string manifest() const;              // the text at the file's beginning
  std::vector<std::string> targets() const;  // of its parts: "cuda:sm_90a", "vulkan:nvidia:sg32"
  std::int64_t weight_bytes() const;         // of all weights
  // Returns the comment that the author signed with the bytes: by minisign's default
  // "timestamp:N\tfile:NAME\thashed", and "" where no key was given.
  std::string trusted_comment() const;

  // Returns the target of the part that open() takes for the device.
  std::string target_for(std::string_view device) const;
  // Loads what serves the device best to it: of the parts that the device can run, the one whose
  // target is nearest. `device` is "cuda:N", "vulkan:N", "null" or "auto". Throws
  // Error(no_device), Error(bad_input) for a package that is damaged, and Error(device) where no
  // part runs there: one line that says what the package has and what the device lacks for it.
  CompiledGraph open(std::string_view device) const;

  // Holds everything in the package against its checksums; open() does so with what it loads.
  // Throws Error(bad_input).
  void verify() const;

  struct Impl;

 private:
  explicit Package(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// The contents of a package, beside the graph.
struct PackageOptions {
  // The targets of its parts: "cuda:sm_80", "vulkan:nvidia", ... No device needs to be there. PTX
  // for later CUDA devices is added.
  std::vector<std::string> targets{};
  CompileOptions compile{};  // of all parts; `progress` begins anew for each, and ends with "write"
  // .safetensors files in the package's folder or below: weights whose bytes are in them are not
  // copied, and the package finds them there.
  std::vector<std::filesystem::path> weights{};
  // Called before a part is compiled, with its target.
  std::function<void(std::string_view target)> begins{};
};
struct PackageReport {
  std::vector<std::string> targets;  // of all parts
  std::int64_t bytes = 0;            // of the file
};
// Compiles the graph for each target, and writes the package at once: the file is there whole, or
// as it was. The same graph, options and tuning records give the same bytes. libtcc-core has it.
// Throws Error(bad_input) for a mistake in the graph or an option, a name that does not end in
// .tccpkg, and a file that cannot be written; Error(device) where a kernel's compiler fails; and
// Cancelled.
PackageReport write_package(const Graph& graph, const std::filesystem::path& file,
                            const PackageOptions& options);

}  // namespace tcc
#pragma GCC visibility pop
#endif
