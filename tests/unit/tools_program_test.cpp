// What all tools share: --version, --help, options that are misspelt, numbers in tables.
#include "tools/program.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "frontend/graph_file.h"
#include "support/version.h"
#include "tests/unit/onnx_fixture.h"

namespace tcc::tools {
namespace {

// What a program of these options prints, and its exit code.
struct Outcome {
  int code = -1;
  std::string out, error;
};

Outcome run(std::vector<std::string> arguments) {
  CLI::App app("A test.", "tcc-test");
  std::string dtype, output;
  app.add_option("--dtype", dtype, "a type");
  app.add_subcommand("sub")->add_option("--output", output, "a folder");
  arguments.insert(arguments.begin(), "tcc-test");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = run_program(app, static_cast<int>(argv.size()), argv.data(), [] { return 0; });
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.error = ::testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(ToolsProgram, KnowsItsVersion) {
  const Outcome outcome = run({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "tcc-test " + version_text() + "\n");
}

TEST(ToolsProgram, HelpSaysWhatValuesMean) {
  const std::string help = run({"--help"}).out;
  EXPECT_NE(help.find("--dtype TYPE"), std::string::npos) << help;
  EXPECT_EQ(help.find("TEXT"), std::string::npos) << help;
  const std::string of_command = run({"sub", "--help"}).out;
  EXPECT_NE(of_command.find("--output DIR"), std::string::npos) << of_command;
}

TEST(ToolsProgram, MisspeltOptionsAreRefusedWithWhatWasMeant) {
  EXPECT_EQ(run({"--dtpye", "f16"}).error,
            "tcc-test: unknown option --dtpye; did you mean '--dtype'?\n");
  EXPECT_EQ(run({"--dtpye=f16"}).code, 2);
  EXPECT_EQ(run({"sub", "--ouptut", "x"}).error,
            "tcc-test: unknown option --ouptut; did you mean '--output'?\n");
  EXPECT_EQ(run({"--nothing-like-it"}).error,
            "tcc-test: unknown option --nothing-like-it; see --help\n");
}

TEST(ToolsProgram, DimsOfOnnxGraphsWithoutAValueAreSaid) {
  tcc::testing::OnnxModel model;
  model.input("x", {{"batch", "seq", 4}}).input("m", {{"batch", 3}});
  model.node("Relu", {"x"}, {"y"}).output("y");
  const auto said = [&](const char* path, const std::map<std::string, int64_t, std::less<>>& dims) {
    const ir::Graph graph = parse_onnx_graph(model.bytes(), path, {.dims = dims});
    ::testing::internal::CaptureStderr();
    say_default_dims("tcc-test", path, graph);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said("m.onnx", {}),
            "tcc-test: note: m.onnx: dims without a value: batch = 1, seq = 1 (--dim NAME=N gives "
            "one)\n");
  EXPECT_EQ(said("m.onnx", {{"batch", 8}}),
            "tcc-test: note: m.onnx: dims without a value: seq = 1 (--dim NAME=N gives one)\n");
  EXPECT_EQ(said("m.onnx", {{"batch", 8}, {"seq", 2}}), "");
}

TEST(ToolsProgram, RatesHaveEnoughDigits) {
  EXPECT_EQ(format_rate(4060.7), "4061");
  EXPECT_EQ(format_rate(12.34), "12.3");
  EXPECT_EQ(format_rate(1.234), "1.23");
  EXPECT_EQ(format_rate(0.00512), "0.0051");
  EXPECT_EQ(format_rate(0), "0");
  EXPECT_EQ(format_rate(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(format_rate(std::numeric_limits<double>::quiet_NaN()), "-");
}

}  // namespace
}  // namespace tcc::tools
