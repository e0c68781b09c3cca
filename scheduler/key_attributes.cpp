#include "scheduler/key_attributes.h"

#include <algorithm>
#include <array>

#include "ir/op.h"

namespace tcc::sched {
namespace {

// The first is matmul's and convolution's, the second amax's and amin's.
constexpr std::array<std::string_view, 2> kGained = {"out_dtype", "allow_empty"};

bool is_default(const ir::Node& node, std::string_view key, const ir::Attr& attr) {
  return std::ranges::any_of(node.op->attrs, [&](const ir::AttrDef& def) {
    return def.name == key && def.default_value &&
           ir::to_string(*def.default_value) == ir::to_string(attr);
  });
}

}  // namespace

std::vector<std::pair<std::string_view, const ir::Attr*>> key_attributes(const ir::Node& node) {
  std::vector<std::pair<std::string_view, const ir::Attr*>> named;
  for (const auto& [key, attr] : node.attrs) {
    const bool gained = std::ranges::find(kGained, std::string_view(key)) != kGained.end();
    if (!gained || !is_default(node, key, attr)) named.emplace_back(key, &attr);
  }
  return named;
}

}  // namespace tcc::sched
