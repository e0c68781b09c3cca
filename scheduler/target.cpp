#include "scheduler/target.h"

#include <algorithm>

#include "executable/quirks.h"
#include "ir/suggest.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// The list is made before the first registration, whichever file that is in.
std::vector<TargetKind>& registered() {
  static std::vector<TargetKind> all;
  return all;
}

}  // namespace

RegisterTargets::RegisterTargets(const TargetKind& kind) {
  auto& all = registered();
  const auto at = std::lower_bound(all.begin(), all.end(), kind,
                                   [](const auto& a, const auto& b) { return a.api < b.api; });
  TCC_CHECK(at == all.end() || at->api != kind.api, "two lists of targets '", kind.api, "'");
  all.insert(at, kind);
}

Target target_by_name(std::string_view wanted) {
  const size_t colon = std::min(wanted.find(':'), wanted.size());
  const std::string_view rest = wanted.substr(std::min(colon + 1, wanted.size()));
  for (const TargetKind& kind : registered())
    if (kind.api == wanted.substr(0, colon) && (rest.empty() == (colon == wanted.size())))
      if (std::optional<Target> target = kind.find(rest)) {
        exec::apply_quirks(*target);  // those of every driver
        return *std::move(target);
      }
  fail_input("unknown target '", wanted, "'", ir::or_known(wanted, target_names()));
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const TargetKind& kind : registered())
    for (const std::string& name : kind.names())
      names.push_back(name.empty() ? std::string(kind.api) : str(kind.api, ":", name));
  return names;
}

}  // namespace tcc::sched
