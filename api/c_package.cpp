// The C ABI: packages.
#include "api/c_handles.h"

#include "tcc/package.hpp"

using namespace tcc::c;  // NOLINT: what follows is the ABI

struct tcc_package {
  explicit tcc_package(tcc::Package p)
      : package(std::move(p)), name(package.name()), manifest(package.manifest()) {
    for (const std::string& target : package.targets()) targets.push_back(target);
  }
  const tcc::Package package;
  const std::string name, manifest;
  std::vector<std::string> targets;
};

tcc_status tcc_package_load(const char* path, tcc_package** package) noexcept {
  return guard([&] {
    given(package, "package");
    *package = new tcc_package(tcc::Package::load(&given(path, "path")));
  });
}

tcc_status tcc_package_from_bytes(const void* bytes, size_t size, const char* folder,
                                  tcc_package** package) noexcept {
  return guard([&] {
    given(package, "package");
    const auto* data = static_cast<const std::byte*>(bytes);
    if (size > 0) given(data, "bytes");
    *package = new tcc_package(tcc::Package::from_bytes({data, size}, folder ? folder : ""));
  });
}

void tcc_package_destroy(tcc_package* package) noexcept { delete package; }

const char* tcc_package_name(const tcc_package* package) noexcept {
  return package ? package->name.c_str() : "";
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
