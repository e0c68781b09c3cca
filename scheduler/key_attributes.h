// The attributes of a node that the keys of tuning records name.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace tcc::sched {

// All, in order, but those that an op gained when there were records already: at their default they
// are left out, so that older records serve on.
std::vector<std::pair<std::string_view, const ir::Attr*>> key_attributes(const ir::Node& node);

}  // namespace tcc::sched
