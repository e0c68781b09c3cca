#include "tcc/package.hpp"

#include "api/impl.h"
#include "runtime/package.h"
#include "support/error.h"

namespace tcc {

struct Package::Impl {
  exec::Package package;
};

namespace {

std::optional<exec::SignedBy> signed_by(const PackageLoadOptions& options) {
  if (!options.public_key) {
    if (options.signature) fail_input("a signature is given, and no public key to verify it with");
    return std::nullopt;
  }
  exec::SignedBy by{exec::PublicKey(*options.public_key, "public_key"), {}};
  if (options.signature) by.signature = {*options.signature, "<signature>"};
  return by;
}

}  // namespace

Package Package::load(const std::filesystem::path& path, const PackageLoadOptions& options) {
  return Package(std::make_shared<const Impl>(Impl{exec::Package::load(path, signed_by(options))}));
}

Package Package::from_bytes(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                            const PackageLoadOptions& options) {
  return Package(std::make_shared<const Impl>(
      Impl{exec::Package(nullptr, bytes, "<package>", folder, signed_by(options))}));
}

std::string Package::name() const { return impl_->package.name(); }
std::string Package::manifest() const { return impl_->package.manifest(); }
std::int64_t Package::weight_bytes() const { return impl_->package.weight_bytes(); }
std::string Package::trusted_comment() const { return impl_->package.trusted_comment(); }

std::vector<std::string> Package::targets() const {
  std::vector<std::string> targets;
  for (const exec::Package::Part& part : impl_->package.parts()) targets.push_back(part.target);
  return targets;
}

std::string Package::target_for(std::string_view device) const {
  const auto opened = runtime::open_device(device);
  return impl_->package.parts()[runtime::choose_part(impl_->package, *opened).part].target;
}

CompiledGraph Package::open(std::string_view device_name) const {
  const auto device = runtime::open_device(device_name);
  exec::Executable executable = runtime::choose_part(impl_->package, *device).executable;
  runtime::HostFunctions functions = host_functions(executable);
  return CompiledGraph(std::make_shared<const CompiledGraph::Impl>(
      CompiledGraph::Impl{std::make_shared<const runtime::Program>(
          device, std::move(executable), nullptr, std::move(functions))}));
}

void Package::verify() const { impl_->package.verify(); }

}  // namespace tcc
