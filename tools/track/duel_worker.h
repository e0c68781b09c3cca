// This process measures for tcc-track: it has two libraries side by side on one device. It takes
// one block of each case; the next block is a new process's, so that what stays the same for as
// long as a process runs (where its code and memory lie) is sampled too.
//
// Its hello is {}.
//   {"do": "block", "case"}    {"pairs": [[base, head]], "difference", "base": FACTS, "head":
//   FACTS}
//   {"do": "compile", "case"}  {"base": FACTS, "head": FACTS}
//   {"do": "kernels", "case"}  {"base": FACTS, "head": FACTS}, each with "seconds" and "sources" of
//                              its kernels
// FACTS: {"launches", "arena_bytes", "constant_bytes",
// "compile_seconds", "kernels"}.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/track/contestant.h"
#include "tools/track/worker.h"

namespace tcc::tools {

struct DuelSetup {
  std::string base, head;  // libraries
  TrackCompile compile;
  // The head library is opened, compiles and takes its memory first; false: the base library does.
  bool head_first = false;
  // The kernels' cache is empty for each case: compile seconds are those of a first compilation.
  bool cold = false;
};
nlohmann::json to_json(const DuelSetup& setup);

std::unique_ptr<Served> serve_duels(const std::string& setup);

}  // namespace tcc::tools
