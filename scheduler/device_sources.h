// Device sources: hand-made kernels that a back end has beside what is printed from kernel IR, by
// name ("contraction"), for the templates whose kernels they are.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/refusal.h"
#include "scheduler/target.h"

namespace tcc::sched {

// Returns whether the target's back end has the device source.
bool has_device_source(const Target& target, std::string_view source);
// The refusal of a template whose kernels need it.
Refusal lacks_source(const Target& target, std::string_view source);

// Makes the device sources of an API known; `list` is called once, when somebody asks. The
// registration of back ends does it (backends/backend.h).
void register_device_sources(Api api, std::function<std::vector<std::string>()> list);

}  // namespace tcc::sched
