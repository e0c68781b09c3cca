// Tests what all tools share: --version, --help, options that are misspelt, numbers in tables.
#include "tools/program.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "frontend/graph_file.h"
#include "support/error.h"
#include "support/file.h"
#include "support/plural.h"
#include "support/version.h"
#include "tests/run_command.h"
#include "tests/unit/onnx_fixture.h"
#include "tools/help.h"

namespace tcc::tools {
namespace {

// Gives what a program of these options prints, and its exit code.
struct Outcome {
  int code = -1;
  std::string out, error;
};

Outcome run(std::vector<std::string> arguments) {
  CLI::App app("A test.", "tcc-test");
  std::string graph, dtype, output, check, search = "auto";
  int bench = 0;
  app.add_option("GRAPH", graph, "a file");
  app.add_option("--dtype", dtype, "a type, [one] of 'four'");
  app.add_option("--bench", bench, "how often")
      ->expected(0, 1)
      ->default_str("20")
      ->check(number_in(1, 9));
  app.add_flag("--check{outputs}", check, "compare");
  CLI::App* sub = app.add_subcommand("sub", "Does .less");
  sub->add_option("--output", output, "a folder: it is made")->required();
  bool plain = false;
  sub->add_flag("--check", plain, "compares");
  sub->add_option("--search", search, std::string(90, 'x') + " in lines")->capture_default_str();
  add_examples(app, {{"tcc-test sub", "does it"}});
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
  EXPECT_NE(help.find("\nCompilation:\n  --dtype f32|f16|bf16|f64"), std::string::npos) << help;
  EXPECT_NE(help.find("  --bench [N]                 how often (default: 20)\n"), std::string::npos)
      << help;
  EXPECT_NE(help.find("  --check[=ops]               compare\n"), std::string::npos) << help;
  EXPECT_EQ(help.find("TEXT"), std::string::npos) << help;
  EXPECT_NE(help.find("Examples:\n  tcc-test sub\n      does it\n"), std::string::npos) << help;
  const std::string of_command = run({"sub", "--help"}).out;
  EXPECT_NE(of_command.find("--output DIR"), std::string::npos) << of_command;
  EXPECT_NE(of_command.find("it is made (required)"), std::string::npos) << of_command;
  EXPECT_NE(of_command.find("  --check                     compares\n"), std::string::npos)
      << of_command;
  EXPECT_NE(of_command.find("x\n" + std::string(30, ' ') + "in lines (default: auto)\n"),
            std::string::npos)
      << of_command;
  EXPECT_EQ(of_command.find("\n\n\n"), std::string::npos) << of_command;
  EXPECT_EQ(of_command.find("REQUIRED"), std::string::npos) << of_command;
}

TEST(ToolsProgram, HelpHasFormsForManAndShells) {
  const std::string man = run({"--help-as", "man"}).out;
  EXPECT_EQ(man.find(".TH tcc-test 1"), 0u) << man;
  EXPECT_NE(man.find("tcc\\-test \\- a test\n"), std::string::npos) << man;
  EXPECT_NE(man.find("\\fB\\-\\-dtype\\fR f32|f16|bf16|f64\n"), std::string::npos) << man;
  EXPECT_NE(man.find("\nDoes .less\n"), std::string::npos) << man;
  const std::string bash = run({"--help-as", "bash"}).out;
  EXPECT_NE(bash.find("--dtype) COMPREPLY=($(compgen -W 'f32 f16 bf16 f64' "), std::string::npos)
      << bash;
  const std::string zsh = run({"--help-as", "zsh"}).out;
  EXPECT_NE(zsh.find("'--dtype[a type, \\[one\\] of '\\''four'\\'']:value:(f32 f16 bf16 f64)'"),
            std::string::npos)
      << zsh;
  EXPECT_NE(zsh.find("'--output[a folder\\: it is made]:value:_files'"), std::string::npos) << zsh;
  const std::string fish = run({"--help-as", "fish"}).out;
  EXPECT_NE(fish.find("-l dtype -x -a 'f32 f16 bf16 f64' -d 'a type, [one] of \\'four\\''\n"),
            std::string::npos)
      << fish;
  const Outcome other = run({"--help-as", "html"});
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.error, "tcc-test: --help-as html: must be man, bash, zsh or fish\n");
}

// Gives what bash offers after `words`, the last of which is being typed.
std::string completed(const std::vector<std::string>& words) {
  std::string script = run({"--help-as", "bash"}).out + "COMP_WORDS=(";
  for (const std::string& word : words) script += " '" + word + "'";
  script += str(")\nCOMP_CWORD=", words.size() - 1,
                "\nempty=$(mktemp -d)\ncd $empty\n_tcc_test\nrmdir $empty\n"
                "echo \"${COMPREPLY[*]}\"\n");
  const std::string file = ::testing::TempDir() + "/tcc-test.bash";
  write_file_atomic(file, script);
  return tcc::testing::run_command("bash " + file).text;
}

TEST(ToolsProgram, BashCompletesOptionsValuesAndCommands) {
  EXPECT_EQ(completed({"tcc-test", "--dt"}), "--dtype\n");
  EXPECT_EQ(completed({"tcc-test", "--dtype", "b"}), "bf16\n");
  EXPECT_EQ(completed({"tcc-test", "su"}), "sub\n");
  EXPECT_EQ(completed({"tcc-test", "sub", "--ou"}), "--output\n");
  EXPECT_EQ(completed({"tcc-test", "sub", "--dt"}), "\n");
  EXPECT_EQ(completed({"tcc-test", "--bench", "x"}), "\n");
}

TEST(ToolsProgram, CountsHavePlurals) {
  EXPECT_EQ(counted(0, "kernel"), "0 kernels");
  EXPECT_EQ(counted(1, "kernel"), "1 kernel");
  EXPECT_EQ(counted(size_t{2}, "launch", "launches"), "2 launches");
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

TEST(ToolsProgram, ValuesThatDoNotFitAreSaidInPlainWords) {
  EXPECT_EQ(run({"--bench", "abc"}).error,
            "tcc-test: --bench: must be a number from 1 to 9, not 'abc'; see --help\n");
  EXPECT_EQ(run({"--bench", "10"}).error,
            "tcc-test: --bench: must be a number from 1 to 9, not '10'; see --help\n");
  EXPECT_EQ(run({"--bench", "2.5"}).error,
            "tcc-test: --bench: must be a whole number, not '2.5'\n");
  EXPECT_EQ(run({"g.yaml", "--check", "ops"}).error,
            "tcc-test: one word too many: 'ops'; did you mean --check=ops?\n");
  EXPECT_EQ(run({"g.yaml", "h.yaml"}).error, "tcc-test: one word too many: 'h.yaml'; see --help\n");
  const CLI::Validator million = number_in(0.5, 1000000);
  std::string text = "x";
  EXPECT_EQ(million(text), "must be a number from 0.5 to 1000000, not 'x'");
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
