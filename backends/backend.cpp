#include "backends/backend.h"

#include <algorithm>

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

std::string Backend::with_defines(const std::string& text, const std::string& defines,
                                  const std::string& file) const {
  return defines + "#line 1 \"" + file + "\"\n" + text;
}

void register_backend(const Backend& backend) {
  auto& all = registered();
  for (const Backend* other : all)
    TCC_CHECK(other->api() != backend.api(), "two back ends for ", name(backend.api()));
  all.insert(std::upper_bound(all.begin(), all.end(), &backend, comes_before), &backend);
}

std::span<const Backend* const> backends() { return registered(); }

const Backend& backend_for(sched::Api api) {
  for (const Backend* backend : backends())
    if (backend->api() == api) return *backend;
  throw InternalError(str("there is no back end for ", name(api)));
}

}  // namespace tcc::backends
