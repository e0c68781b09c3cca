// The C ABI: packages.
#include "api/c_handles.h"

#include "tcc/package.hpp"

using namespace tcc::c;  // NOLINT: what follows is the ABI

struct tcc_package {
  explicit tcc_package(tcc::Package p)
      : package(std::move(p)),
        name(package.name()),
        manifest(package.manifest()),
        trusted_comment(package.trusted_comment()) {
    for (const std::string& target : package.targets()) targets.push_back(target);
  }
  const tcc::Package package;
  const std::string name, manifest, trusted_comment;
  std::vector<std::string> targets;
};

namespace {

std::span<const std::byte> given_bytes(const void* bytes, size_t size) {
  const auto* data = static_cast<const std::byte*>(bytes);
  if (size > 0) given(data, "bytes");
  return {data, size};
}

}  // namespace

tcc_status tcc_package_load(const char* path, tcc_package** package) noexcept {
  return guard([&] {
    given(package, "package");
    *package = new tcc_package(tcc::Package::load(&given(path, "path")));
  });
}

tcc_status tcc_package_load_signed(const char* path, const char* public_key,
                                   tcc_package** package) noexcept {
  return guard([&] {
    given(package, "package");
    const tcc::PackageLoadOptions options{.public_key = &given(public_key, "public_key")};
    *package = new tcc_package(tcc::Package::load(&given(path, "path"), options));
  });
}

tcc_status tcc_package_from_bytes(const void* bytes, size_t size, const char* folder,
                                  tcc_package** package) noexcept {
  return guard([&] {
    given(package, "package");
    *package =
        new tcc_package(tcc::Package::from_bytes(given_bytes(bytes, size), folder ? folder : ""));
  });
}

tcc_status tcc_package_from_signed_bytes(const void* bytes, size_t size, const char* folder,
                                         const char* public_key, const char* signature,
                                         tcc_package** package) noexcept {
  return guard([&] {
    given(package, "package");
    const tcc::PackageLoadOptions options{.public_key = &given(public_key, "public_key"),
                                          .signature = &given(signature, "signature")};
    *package = new tcc_package(
        tcc::Package::from_bytes(given_bytes(bytes, size), folder ? folder : "", options));
  });
}

void tcc_package_destroy(tcc_package* package) noexcept { delete package; }

const char* tcc_package_name(const tcc_package* package) noexcept {
  return package ? package->name.c_str() : "";
}

const char* tcc_package_trusted_comment(const tcc_package* package) noexcept {
  return package ? package->trusted_comment.c_str() : "";
}

const char* tcc_package_manifest(const tcc_package* package) noexcept {
  return package ? package->manifest.c_str() : "";
}

size_t tcc_package_num_targets(const tcc_package* package) noexcept {
  return package ? package->targets.size() : 0;
}

const char* tcc_package_target(const tcc_package* package, size_t index) noexcept {
  return package && index < package->targets.size() ? package->targets[index].c_str() : nullptr;
}

tcc_status tcc_package_open(const tcc_package* package, const char* device,
                            tcc_compiled** compiled) noexcept {
  return guard([&] {
    given(compiled, "compiled");
    *compiled = new tcc_compiled(given(package, "package").package.open(&given(device, "device")));
  });
}

tcc_status tcc_package_verify(const tcc_package* package) noexcept {
  return guard([&] { given(package, "package").package.verify(); });
}
