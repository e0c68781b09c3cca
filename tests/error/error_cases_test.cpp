// tests/error/cases: one file per mistake, whose first lines say how tcc-run refuses it.
//
//   # expect: 2 tests/error/cases/x.yaml:7: key 'dim': must be an integer   # exit code, message
//   # args: --dim B=-1                                                      # if any
//   # env: TCC_LOGS=x                                                       # of the environment
//   # graph: tests/error/cases/data/empty.yaml                              # if it is another file
//
// A message that ends in "..." is only a beginning (the rest depends on the machine). Files that
// cannot hold these lines are named by a NAME.case. TCC_UPDATE_GOLDENS=1 rewrites the expectations.
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>

#include "api/options.h"
#include "frontend/graph_file.h"
#include "ir/passes/convert_precision.h"
#include "ir/verify.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"
#include "tools/program.h"
#include "tools/tensors.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

constexpr rlim_t kMemory = rlim_t{12} << 30;  // address space that any case may take
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct Case {
  fs::path file;
  std::string expect, graph, env;
  std::vector<std::string> args;
};

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

Case read_case(const fs::path& file) {
  Case result{.file = file, .expect = "", .graph = file.string(), .env = "", .args = {}};
  std::istringstream lines(read_file(file));
  for (std::string line; std::getline(lines, line) && line.starts_with("# ");) {
    const size_t colon = std::min(line.find(": "), line.size() - 2);
    const std::string key = line.substr(2, colon - 2), value = line.substr(colon + 2);
    if (key == "expect") result.expect = value;
    if (key == "args") result.args = words(value);
    if (key == "graph") result.graph = value;
    if (key == "env") result.env = value;
  }
  return result;
}

// In the order of their names. Paths are relative to the repository, as messages show them.
std::vector<fs::path> case_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(testing::source_dir() / "tests/error/cases"))
    if (entry.is_regular_file()) files.push_back("tests/error/cases" / entry.path().filename());
  std::ranges::sort(files);
  return files;
}

// Does what tcc-run does before it looks for a device; only these options are known here.
void load(const Case& test) {
  std::vector<std::string> dims;
  std::string dtype;
  tools::InputOptions inputs;
  for (size_t i = 0; i + 1 < test.args.size(); i += 2) {
    const std::string &option = test.args[i], &value = test.args[i + 1];
    if (option == "--dim") dims.push_back(value);
    if (option == "--dtype") dtype = value;
    if (option == "--input") inputs.named.push_back(value);
    if (option == "--inputs") inputs.npz = value;
  }
  const tools::InputFiles files(inputs);
  const auto bindings = tools::parse_dims(dims).numbers;
  ir::Graph graph = load_graph(test.graph, {.dims = bindings, .inputs = &files});
  ir::verify(graph);
  ir::Graph bound = graph.bind(bindings);
  ir::verify(bound);
  if (const auto precision = parse_dtype_option(dtype, OptionStyle::command_line))
    bound = ir::convert_precision(bound, *precision);
  tools::load_inputs("tcc-run", bound, files);
  for (const auto& value : bound.values())
    if (value->is_constant()) value->data->load();
}

bool runs_in_process(const Case& test) {
  if (!test.env.empty()) return false;
  for (const std::string& arg : test.args)
    if (arg.starts_with("--") && arg != "--dim" && arg != "--dtype" && arg != "--input" &&
        arg != "--inputs")
      return false;
  return true;
}

std::string outcome_in_process(const Case& test) {
  try {
    load(test);
    return "0";
  } catch (const Error& error) { return str(static_cast<int>(error.kind()), " ", error.what()); }
}

// Gives what tcc-run writes to stderr, and its exit code.
std::string outcome_of_program(const Case& test) {
  std::string command =
      str("ulimit -c 0; ", test.env, " ", testing::program("tcc-run").string(), " ", test.graph);
  for (const std::string& arg : test.args) command += " '" + arg + "'";
  auto [code, text] = testing::run_command(command + " 2>&1 >/dev/null");
  const std::string program = "tcc-run: ";
  if (text.ends_with('\n')) text.pop_back();
  if (text.starts_with(program)) text.erase(0, program.size());
  return str(code, " ", text);
}

// Names of files are relative to the repository in the cases' expectations, whatever they were
// made into.
std::string relative_names(std::string outcome) {
  const std::string root = testing::source_dir().string() + "/";
  for (size_t at; (at = outcome.find(root)) != std::string::npos;) outcome.erase(at, root.size());
  return outcome;
}

bool matches(const std::string& outcome, const std::string& expect) {
  if (!expect.ends_with("...")) return outcome == expect;
  return outcome.starts_with(expect.substr(0, expect.size() - 3));
}

void rewrite_expectation(const fs::path& file, const std::string& outcome) {
  std::string text = read_file(file);
  text.replace(0, text.find('\n'), "# expect: " + outcome);
  write_file_atomic(file, text);
}

// A bug that asks for absurd memory is an error here, not the machine's end. Sanitizers reserve
// more than that from the start.
void limit_memory() {
  if (kSanitized) return;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = std::min(limit.rlim_max, kMemory);
  setrlimit(RLIMIT_AS, &limit);
}

class ErrorCase : public ::testing::TestWithParam<fs::path> {
 protected:
  static void SetUpTestSuite() {
    fs::current_path(testing::source_dir());
    limit_memory();
  }
};

TEST_P(ErrorCase, IsRefused) {
  const Case test = read_case(GetParam());
  if (kSanitized && test.expect.starts_with("4 ")) GTEST_SKIP() << "needs a limit of memory";
  const std::string outcome =
      relative_names(runs_in_process(test) ? outcome_in_process(test) : outcome_of_program(test));
  ASSERT_EQ(std::ranges::count(outcome, '\n'), 0) << "more than one line: " << outcome;
  if (outcome.starts_with("3 ") && test.expect.starts_with("4 ")) GTEST_SKIP() << outcome;
  if (std::getenv("TCC_UPDATE_GOLDENS") && !matches(outcome, test.expect))
    return rewrite_expectation(test.file, outcome);
  EXPECT_TRUE(matches(outcome, test.expect))
      << test.file.string() << "\nexpected: " << test.expect << "\noutcome:  " << outcome;
}

std::string test_name(const ::testing::TestParamInfo<fs::path>& info) {
  return info.param.stem().string();
}

INSTANTIATE_TEST_SUITE_P(Cases, ErrorCase, ::testing::ValuesIn(case_files()), test_name);

}  // namespace
}  // namespace tcc
