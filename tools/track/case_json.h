// Workers get a graph or a user's kernel of a suite as this JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tools/track/suite.h"

namespace tcc::tools {

nlohmann::json to_json(const TrackCase& one);
TrackCase case_from(const nlohmann::json& from);

}  // namespace tcc::tools
