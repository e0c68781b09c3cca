// The lines of the trial log as JSON. A line is one object: a kernel ("task") or a trial.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>

#include "autotune/trial_log.h"

namespace tcc::autotune {

// Names a kernel in its trials' lines: 16 digits of the key's hash.
std::string log_id(const RecordKey& key);

nlohmann::json to_json(const LoggedTask& task);
nlohmann::json to_json(const RecordKey& key, const LoggedTrial& trial);

struct LoggedLine {
  std::string id;  // of the kernel
  std::variant<LoggedTask, LoggedTrial> content;
};
// Checks types, ranges and counts: a line is not trusted. Throws Error(bad_input) without a place.
LoggedLine parse_log_line(std::string_view line);

}  // namespace tcc::autotune
