#include "backends/backend.h"

#include <algorithm>

#include "backends/device_source.h"
#include "scheduler/device_sources.h"
#include "support/error.h"

namespace tcc::backends {
namespace {

// The list is made before the first registration, whichever file that is in.
std::vector<const Backend*>& registered() {
  static std::vector<const Backend*> all;
  return all;
}

bool comes_before(const Backend* a, const Backend* b) { return name(a->api()) < name(b->api()); }

}  // namespace

std::vector<uint8_t> Backend::with_resources(const std::vector<uint8_t>&, const KernelResources&,
                                             int) const {
  throw InternalError(str(sched::name(api()), ": its kernels have no resources"));
}

std::vector<std::string> Backend::device_sources() const {
  const std::string folder = dialect().name + "/", &ending = dialect().source_ending;
  std::vector<std::string> names;
  for (std::string_view path : device_source_paths())
    if (path.starts_with(folder) && path.ends_with(ending)) {
      path.remove_prefix(folder.size());
      path.remove_suffix(ending.size());
      names.emplace_back(path);
    }
  return names;
}

std::string Backend::with_defines(const std::string& text, const std::string& defines,
                                  const std::string& file) const {
  return defines + "#line 1 \"" + file + "\"\n" + text;
}

void register_backend(const Backend& backend) {
  auto& all = registered();
  for (const Backend* other : all)
    TCC_CHECK(other->api() != backend.api(), "two back ends for ", name(backend.api()));
  all.insert(std::upper_bound(all.begin(), all.end(), &backend, comes_before), &backend);
  sched::register_device_sources(backend.api(), [&backend] { return backend.device_sources(); });
}

std::span<const Backend* const> backends() { return registered(); }

const Backend& backend_for(sched::Api api) {
  for (const Backend* backend : backends())
    if (backend->api() == api) return *backend;
  throw InternalError(str("there is no back end for ", name(api)));
}

}  // namespace tcc::backends
