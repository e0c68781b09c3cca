// A suite: graphs with sizes and types, as bench/suites has them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tcc::tools {

struct TrackCase {
  std::string name;  // "softmax M=8192 N=8192 bf16": what its history is kept under
  std::filesystem::path graph;
  std::map<std::string, int64_t> dims;
  std::string dtype;                         // "": the graph's
  std::string matmul_precision = "highest";  // of f32 and f8 products
};

// Throws Error(bad_input) as "FILE:LINE: ...", for two cases of one name too. Keys that are for
// other programs (peers, group) are read over; cases of `random` sizes are not for tracking and are
// left out.
std::vector<TrackCase> read_suite(const std::filesystem::path& file);

}  // namespace tcc::tools
