#include "scheduler/device_sources.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include "support/error.h"

namespace tcc::sched {
namespace {

struct SourcesOfApi {
  Api api;
  std::function<std::vector<std::string>()> list;
  std::once_flag listed;
  std::vector<std::string> names;
};

// The list is made before the first registration, whichever file that is in.
std::deque<SourcesOfApi>& sources_by_api() {
  static std::deque<SourcesOfApi> all;
  return all;
}

}  // namespace

bool has_device_source(const Target& target, std::string_view source) {
  for (SourcesOfApi& one : sources_by_api()) {
    if (one.api != target.api) continue;
    std::call_once(one.listed, [&] { one.names = one.list(); });
    return std::ranges::find(one.names, source) != one.names.end();
  }
  return false;
}

Refusal lacks_source(const Target& target, std::string_view source) {
  return Refusal{str("the back end of ", name(target.api), " has no device source '", source, "'")};
}

void register_device_sources(Api api, std::function<std::vector<std::string>()> list) {
  SourcesOfApi& added = sources_by_api().emplace_back();
  added.api = api;
  added.list = std::move(list);
}

}  // namespace tcc::sched
