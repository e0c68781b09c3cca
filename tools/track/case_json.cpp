#include "tools/track/case_json.h"

#include <nlohmann/json.hpp>

#include "support/error.h"

namespace tcc::tools {

using Json = nlohmann::json;

Json to_json(const TrackCase& one) {
  TCC_CHECK(one.kind != TrackCase::Kind::command, "a command is no worker's");
  return {{"name", one.name},
          {"is_kernel", one.kind == TrackCase::Kind::kernel},
          {"graph", one.graph.string()},
          {"dims", one.dims},
          {"dtype", one.dtype},
          {"matmul_precision", one.matmul_precision},
          {"budget", one.budget},
          {"file", one.file},
          {"line", one.line}};
}

TrackCase case_from(const Json& from) {
  TrackCase one;
  one.name = from.at("name");
  one.kind = from.at("is_kernel").get<bool>() ? TrackCase::Kind::kernel : TrackCase::Kind::graph;
  one.graph = from.at("graph").get<std::string>();
  one.dims = from.at("dims").get<std::map<std::string, int64_t>>();
  one.dtype = from.at("dtype");
  one.matmul_precision = from.at("matmul_precision");
  one.budget = from.at("budget").get<std::map<std::string, double>>();
  one.file = from.at("file");
  one.line = from.at("line");
  return one;
}

}  // namespace tcc::tools
