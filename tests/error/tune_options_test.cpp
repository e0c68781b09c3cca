// Tests how tcc-tune refuses options: exit code and a message of one line.

#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "support/error.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"

namespace tcc {
namespace {

const std::string kGraph = "configs/models/mlp.yaml";

struct Case {
  std::string arguments, expect;  // exit code and message; "..." ends a beginning
  std::string variables;          // of the environment
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.variables << test.arguments; }

// Exit code and stderr, without the launcher's variables that this test itself may have.
std::string outcome_of(const Case& test) {
  const std::string command =
      str("cd '", testing::source_dir().string(), "' && env -u RANK -u WORLD_SIZE -u SLURM_PROCID ",
          test.variables, " '", testing::program("tcc-tune").string(), "' ", test.arguments,
          " 2>&1 >/dev/null");
  const testing::Outcome outcome = testing::run_command(command);
  return str(outcome.code, " ", outcome.text);
}

class TuneOptionsTest : public ::testing::TestWithParam<Case> {};

TEST_P(TuneOptionsTest, AreRefused) {
  std::string expect = GetParam().expect;
  const std::string outcome = outcome_of(GetParam());
  expect.insert(expect.find(' ') + 1, "tcc-tune: ");
  if (expect.ends_with("..."))
    EXPECT_EQ(outcome.substr(0, expect.size() - 3), expect.substr(0, expect.size() - 3));
  else
    EXPECT_EQ(outcome, expect + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    All, TuneOptionsTest,
    ::testing::Values(
        Case{"", "2 a GRAPH or --kernel is required; see --help", ""},
        Case{"wy " + kGraph, "2 wy: no such graph file; did you mean the subcommand 'why'?", ""},
        Case{kGraph + " --dim B=1..4,8",
             "2 --dim B=1..4,8: sizes are numbers or a range, as in B=1,8,32 and B=1..2048", ""},
        Case{kGraph + " --dim B=1..many",
             "2 --dim B=1..many: sizes are numbers or a range, as in B=1,8,32 and B=1..2048", ""},
        Case{"verify", "2 a GRAPH or --kernel is required; see --help", ""},
        Case{kGraph + " verify", "2 " + kGraph + ": stands before verify", ""},
        Case{kGraph + " --serach random", "2 unknown option --serach; did you mean '--search'?",
             ""},
        Case{kGraph + " --search best",
             "2 --search best: must be auto, exhaustive, random, staged or evolutionary", ""},
        Case{kGraph + " --trials -1", "2 --trials: ...", ""},
        Case{kGraph + " --budget 0", "2 --budget: must be a number above 0, not '0'; see --help",
             ""},
        Case{kGraph + " --jobs 0", "2 --jobs: ...", ""},
        Case{kGraph + " --device null,null", "2 --device null: given twice", ""},
        Case{kGraph + " --device cpu:0", "3 no device 'cpu:0'; ...", ""},
        Case{kGraph + " --device null --dtype i32", "2 --dtype i32: must be f32, f16, bf16 or f64",
             ""},
        Case{kGraph + " --device null --matmul-precision exact",
             "2 --matmul-precision exact: must be highest, high or medium", ""},
        Case{kGraph + " --device null --dim Q=3", "2 --dim Q: nothing that is tuned has such a dim",
             ""},
        Case{kGraph + " --device null --dim B=1,x", "2 --dim B=x: must be NAME=NUMBER: ...", ""},
        Case{kGraph + " --device null --dim B=8..1", "2 --dim B=8..1: ...", ""},
        Case{kGraph + " --device null --dim B=Q+1",
             "2 dim B = Q+1: Q: the graph has no such dim; ...", ""},
        Case{kGraph + " --device null --dim Q=B+1",
             "2 --dim Q: nothing that is tuned has such a dim", ""},
        Case{kGraph + " --device null --dim B=1..8 --dim B=2", "2 --dim B=2: given twice", ""},
        Case{kGraph + " --device null --dim Q=1..8",
             "2 --dim Q: nothing that is tuned has such a dim", ""},
        Case{kGraph + " --device null --dim B=1 --dim B=2", "2 --dim B=2: given twice", ""},
        Case{kGraph + " --report /no/such/folder/r.html",
             "2 --report /no/such/folder/r.html: there is no folder /no/such/folder", ""},
        Case{kGraph + " --log /no/such/folder/l.jsonl",
             "2 --log /no/such/folder/l.jsonl: there is no folder /no/such/folder", ""},
        Case{kGraph + " --report tests", "2 --report tests: is a folder, not a file", ""},
        Case{kGraph + " --report /proc/r.html",
             "2 --report /proc/r.html: cannot create a temporary file beside it: ...", ""},
        Case{kGraph + " --plan-search --report /tmp/r.html",
             "2 --plan-search: has no page to --report", ""},
        Case{kGraph + " --plan-search --kernel examples/kernels/matmul.yaml",
             "2 --plan-search: takes graphs alone, no --kernel", ""},
        Case{"verify " + kGraph + " --device null",
             "1 nothing was verified: none of the kernels has a record for null", ""},
        Case{"--replay no-such-log.jsonl", "2 --replay no-such-log.jsonl: no such file", ""},
        Case{kGraph + " --replay README.md", "2 --replay takes a log alone: no GRAPH, no --kernel",
             ""},
        Case{kGraph + " --shard 2/2", "2 --shard 2/2: must be i/n with 0 <= i < n, like 0/4", ""},
        Case{kGraph + " --shard 0/2",
             "2 --shard 0/2, but torchrun started process 1 of 2: leave --shard out, or start "
             "each process on its own",
             "RANK=1 WORLD_SIZE=2"},
        Case{kGraph, "2 RANK=1x in the environment: must be a number of at least 0",
             "RANK=1x WORLD_SIZE=2"},
        Case{kGraph, "2 RANK is set in the environment, but WORLD_SIZE is not: set both or neither",
             "RANK=1"}));

}  // namespace
}  // namespace tcc
