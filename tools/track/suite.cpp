#include "tools/track/suite.h"

#include <algorithm>
#include <set>

#include "frontend/yaml/document.h"
#include "support/error.h"
#include "support/file.h"
#include "tools/track/rules.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostBytes = 1 << 20;
constexpr size_t kMostSuiteCases = 10000;

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
  const fs::path file =
      one.kind == TrackCase::Kind::command ? fs::path(one.command.front()) : one.graph;
  std::string name = file.stem().string();
  for (const auto& [dim, size] : one.dims) name += " " + dim + "=" + std::to_string(size);
  if (!one.dtype.empty()) name += " " + one.dtype;
  if (one.matmul_precision != "highest") name += " " + one.matmul_precision;
  return name;
}

// "{time: 120us, launches: 12}", by quantity; a counter's budget is called as the counter.
void read_budget(const yaml::Item& item, TrackCase& one) {
  for (const auto& [key, value] : item.map()) {
    const auto known = std::find_if(known_rules().begin(), known_rules().end(),
                                    [&](const Rule& rule) { return rule.key == key; });
    if (known == known_rules().end() && !one.counters.contains(key)) {
      std::vector<std::string> keys;
      for (const Rule& rule : known_rules()) keys.emplace_back(rule.key);
      value.fail("no quantity '" + key + "'" + yaml::or_known(key, keys));
    }
    const Rule rule = known == known_rules().end() ? rule_of(key) : *known;
    const std::optional<double> amount = parse_amount(rule, value.text());
    if (!amount)
      value.fail("'" + value.text() + "' is no amount" +
                 (rule.unit == "s"       ? "; it is as 120us, 3.5ms or 2s"
                  : rule.unit == "bytes" ? "; it is as 4096, 64KiB or 1.5GiB"
                                         : "; it is a number that is not negative"));
    one.budget[std::string(rule.quantity)] = *amount;
  }
}

class SuiteReader {
 public:
  explicit SuiteReader(const fs::path& file)
      : file_(file.string()),
        folder_(file.parent_path()),
        root_(yaml::parse_document(read_file(file, kMostBytes), file_)) {}

  std::vector<TrackCase> run() {
    root_.allow_keys({"suite", "dtype", "matmul_precision", "budget", "peers", "weights", "cases"});
    for (const yaml::Item& item : root_.at("cases").list("case")) read(item);
    if (cases_.empty()) root_.fail("the suite has no case of fixed sizes");
    return std::move(cases_);
  }

 private:
  void read(const yaml::Item& item) {
    item.allow_keys({"name", "graph", "kernel", "command", "dims", "dtype", "matmul_precision",
                     "budget", "timeout", "executions", "time", "counters", "group", "peers",
                     "weights", "random"});
    if (item.has("random")) return;
    TrackCase one;
    one.file = file_;
    one.line = item.location().line;
    if (item.has("graph") + item.has("kernel") + item.has("command") != 1)
      item.fail("a case has one of the keys 'graph', 'kernel' and 'command'");
    if (item.has("command"))
      read_command(item, one);
    else
      read_file_of(item, one);
    if (root_.has("budget")) read_budget(root_.at("budget"), one);
    if (item.has("budget")) read_budget(item.at("budget"), one);
    if (!item.has("dims")) return add(item, one);
    const yaml::Item dims = item.at("dims");
    if (one.kind == TrackCase::Kind::command) dims.fail("a command has no dims");
    if (dims.is_map()) {
      one.dims = dims_of(dims);
      return add(item, one);
    }
    for (const yaml::Item& entry : dims.list("dims")) {
      one.dims = dims_of(entry);
      add(item, one);
    }
  }

  void read_file_of(const yaml::Item& item, TrackCase& one) const {
    only_for_commands(item);
    const bool kernel = item.has("kernel");
    const yaml::Item path = item.at(kernel ? "kernel" : "graph");
    one.graph = folder_ / path.text();
    if (!fs::is_regular_file(one.graph)) path.fail(str(one.graph.string(), " is not there"));
    if (kernel) {
      one.kind = TrackCase::Kind::kernel;
      for (const char* key : {"dtype", "matmul_precision"})
        if (item.has(key)) item.at(key).fail("a kernel's file says that");
      return;
    }
    one.dtype = either(item, "dtype", "");
    one.matmul_precision = either(item, "matmul_precision", "highest");
  }

  static void only_for_commands(const yaml::Item& item) {
    for (const char* key : {"timeout", "executions", "time", "counters"})
      if (item.has(key)) item.at(key).fail("is for commands");
  }

  void read_command(const yaml::Item& item, TrackCase& one) const {
    one.kind = TrackCase::Kind::command;
    one.folder = folder_.empty() ? "." : folder_;
    for (const yaml::Item& word : item.at("command").list("word"))
      one.command.push_back(word.text());
    if (one.command.empty() || one.command.front().empty())
      item.at("command").fail("has no program");
    for (const char* key : {"dtype", "matmul_precision"})
      if (item.has(key)) item.at(key).fail("is for graphs");
    if (item.has("timeout")) {
      const auto seconds = parse_amount(rule_of("time"), item.at("timeout").text());
      if (!seconds || *seconds <= 0 || *seconds > 86400)
        item.at("timeout").fail("is a time of at most a day, as 30s or 5min");
      one.timeout = *seconds;
    }
    if (item.has("executions")) {
      const int64_t count = item.at("executions").integer();
      if (count < 1 || count > 100) item.at("executions").fail("is between 1 and 100");
      one.executions = static_cast<int>(count);
    }
    if (item.has("time")) {
      const std::string time = item.at("time").text();
      if (time != "real" && time != "cpu") item.at("time").fail("is real or cpu");
      one.cpu_time = time == "cpu";
    }
    if (!item.has("counters")) return;
    for (const auto& [counter, rule] : item.at("counters").map()) {
      if (rule.text() != "more" && rule.text() != "less" && rule.text() != "exact")
        rule.fail("is 'more' or 'less', which is better, or 'exact'");
      for (const Rule& known : known_rules())
        if (known.quantity == counter) rule.fail("is a quantity of tcc-track's own");
      one.counters[counter] = rule.text();
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
    if (names_.size() > kMostSuiteCases)
      item.fail(str("a suite has at most ", kMostSuiteCases, " cases"));
    cases_.push_back(std::move(one));
  }

  std::string file_;
  fs::path folder_;
  yaml::Item root_;
  std::set<std::string> names_;
  std::vector<TrackCase> cases_;
};

}  // namespace

std::string_view name(TrackCase::Kind kind) {
  switch (kind) {
    case TrackCase::Kind::graph: return "graph";
    case TrackCase::Kind::kernel: return "kernel";
    case TrackCase::Kind::command: return "command";
  }
  return "";
}

std::vector<TrackCase> read_suite(const fs::path& file) { return SuiteReader(file).run(); }

std::vector<TrackCase> read_suites(const std::vector<std::string>& files,
                                   const std::vector<std::string>& filters) {
  std::vector<TrackCase> cases;
  std::set<std::string> names;
  for (const std::string& file : files)
    for (TrackCase& one : read_suite(file)) {
      if (!names.insert(one.name).second)
        fail_input(file, ":", one.line, ": case '", one.name, "' is in an earlier suite too");
      const auto holds = [&](const std::string& word) {
        return one.name.find(word) != std::string::npos;
      };
      if (filters.empty() || std::any_of(filters.begin(), filters.end(), holds))
        cases.push_back(std::move(one));
    }
  if (cases.empty()) fail_input("--filter leaves no case");
  return cases;
}

}  // namespace tcc::tools
