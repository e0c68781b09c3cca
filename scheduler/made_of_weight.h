// Weights that rewritings at the last stage change: constants are folded before it.
#pragma once

#include <functional>
#include <string_view>

#include "ir/builder.h"

namespace tcc::sched {

// Returns what `make` makes of a weight: a constant where that is one, named after it and `what`,
// else a copy by a kernel of its own.
using MakeOfWeight = std::function<ir::Value*(ir::Builder&, ir::Value*)>;
ir::Value* made_of_weight(ir::Builder& builder, ir::Value* weight, std::string_view what,
                          const MakeOfWeight& make);

}  // namespace tcc::sched
