// The C ABI: packages are written.
#include "api/c_handles.h"

#include "tcc/package.hpp"

using namespace tcc::c;  // NOLINT: what follows is the ABI

tcc_status tcc_package_write(const tcc_graph* graph, const char* path,
                             const tcc_package_options* options) noexcept {
  return guard([&] {
    const tcc_package_options theirs = sized(given(options, "options"), "tcc_package_options");
    tcc::PackageOptions own;
    own.compile = options_of(theirs.compile);
    for (const char* target : span_of(theirs.targets, theirs.num_targets, "targets"))
      own.targets.emplace_back(&given(target, "a target"));
    for (const char* file : span_of(theirs.weights, theirs.num_weights, "weights"))
      own.weights.emplace_back(&given(file, "a file of weights"));
    if (theirs.begins)
      own.begins = [tell = theirs.begins, user = theirs.user](std::string_view target) {
        tell(user, std::string(target).c_str());
      };
    tcc::write_package(given(graph, "graph").graph, &given(path, "path"), own);
  });
}
