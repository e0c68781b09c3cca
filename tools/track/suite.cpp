#include "tools/track/suite.h"

#include <set>

#include "frontend/yaml/document.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostBytes = 1 << 20;
constexpr size_t kMostCases = 10000;

std::map<std::string, int64_t> dims_of(const yaml::Item& item) {
  std::map<std::string, int64_t> dims;
  for (const auto& [name, value] : item.map()) {
    const int64_t size = value.integer();
    if (size < 0) value.fail("a dim is not negative");
    dims[name] = size;
  }
  return dims;
}

std::string name_of(const TrackCase& one) {
  std::string name = one.graph.stem().string();
  for (const auto& [dim, size] : one.dims) name += " " + dim + "=" + std::to_string(size);
  if (!one.dtype.empty()) name += " " + one.dtype;
  if (one.matmul_precision != "highest") name += " " + one.matmul_precision;
  return name;
}

class Reader {
 public:
  explicit Reader(const fs::path& file)
      : folder_(file.parent_path()),
        root_(yaml::parse_document(read_file(file, kMostBytes), file.string())) {}

  std::vector<TrackCase> run() {
    root_.allow_keys({"suite", "dtype", "matmul_precision", "peers", "cases"});
    for (const yaml::Item& item : root_.at("cases").list("case")) read(item);
    if (cases_.empty()) root_.fail("the suite has no case of fixed sizes");
    return std::move(cases_);
  }

 private:
  void read(const yaml::Item& item) {
    item.allow_keys(
        {"name", "graph", "dims", "dtype", "matmul_precision", "group", "peers", "random"});
    if (item.has("random")) return;
    TrackCase one;
    one.graph = folder_ / item.at("graph").text();
    if (!fs::is_regular_file(one.graph))
      item.at("graph").fail(str(one.graph.string(), " is not there"));
    one.dtype = either(item, "dtype", "");
    one.matmul_precision = either(item, "matmul_precision", "highest");
    if (!item.has("dims")) return add(item, one);
    const yaml::Item dims = item.at("dims");
    if (dims.is_map()) {
      one.dims = dims_of(dims);
      return add(item, one);
    }
    for (const yaml::Item& entry : dims.list("dims")) {
      one.dims = dims_of(entry);
      add(item, one);
    }
  }

  // The case's own, else the suite's.
  std::string either(const yaml::Item& item, const char* key, const char* otherwise) const {
    if (item.has(key)) return item.at(key).text();
    return root_.has(key) ? root_.at(key).text() : otherwise;
  }

  void add(const yaml::Item& item, TrackCase one) {
    one.name = item.has("name") ? item.at("name").text() : name_of(one);
    if (!names_.insert(one.name).second)
      item.fail(str("a second case '", one.name, "': give one of them a name"));
    if (cases_.size() == kMostCases) item.fail(str("a suite has at most ", kMostCases, " cases"));
    cases_.push_back(std::move(one));
  }

  fs::path folder_;
  yaml::Item root_;
  std::set<std::string> names_;
  std::vector<TrackCase> cases_;
};

}  // namespace

std::vector<TrackCase> read_suite(const fs::path& file) { return Reader(file).run(); }

}  // namespace tcc::tools
