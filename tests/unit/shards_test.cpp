#include "tools/tune/shards.h"

#include <map>

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace tcc::tools {
namespace {

using Variables = std::map<std::string, std::string>;

Environment environment(const Variables& variables) {
  return [&](const char* name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

// "1/4 srun 3": index, count, source, local rank.
std::string found(const std::string& option, const Variables& variables) {
  Shard shard = find_shard(option, environment(variables));
  std::string text = std::to_string(shard.index) + "/" + std::to_string(shard.count);
  if (!shard.source.empty()) text += " " + shard.source;
  if (shard.local_rank) text += " " + std::to_string(*shard.local_rank);
  return text;
}

std::string error(const std::string& option, const Variables& variables) {
  try {
    return "no error: " + found(option, variables);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::bad_input);
    return e.what();
  }
}

TEST(ShardTest, OptionAndLaunchers) {
  EXPECT_EQ(found("", {}), "0/1");
  EXPECT_EQ(found("2/5", {}), "2/5 --shard");
  EXPECT_EQ(found("", {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", "1"}}),
            "1/2 srun 1");
  EXPECT_EQ(found("", {{"OMPI_COMM_WORLD_RANK", "3"},
                       {"OMPI_COMM_WORLD_SIZE", "4"},
                       {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}),
            "3/4 mpirun 1");
  EXPECT_EQ(found("", {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), "0/2 mpirun");
  EXPECT_EQ(found("", {{"RANK", "7"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "7"}}), "7/8 torchrun 7");
}

TEST(ShardTest, OneProcessIsNoShard) {
  EXPECT_EQ(found("", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}), "0/1");
  EXPECT_EQ(found("1/4", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}), "1/4 --shard");
}

TEST(ShardTest, LaunchersThatStartLaunchers) {
  const Variables mpi = {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
  auto with = [](Variables all, const Variables& more) {
    all.insert(more.begin(), more.end());
    return all;
  };
  // mpirun in a batch script, whose own rank is 0 of the job's processes.
  EXPECT_EQ(
      found("", with(mpi, {{"SLURM_JOB_ID", "17"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}})),
      "3/4 mpirun");
  // mpirun's daemons, started by srun on two machines.
  EXPECT_EQ(found("", with(mpi, {{"SLURM_JOB_ID", "17"},
                                 {"SLURM_STEP_ID", "0"},
                                 {"SLURM_STEP_NUM_NODES", "2"},
                                 {"SLURM_PROCID", "1"},
                                 {"SLURM_NTASKS", "2"}})),
            "3/4 mpirun");
  // The same twice.
  EXPECT_EQ(found("", with(mpi, {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}})), "3/4 mpirun");
  // A batch script alone, and the shell of salloc: not started by srun.
  EXPECT_EQ(found("", {{"SLURM_JOB_ID", "17"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}),
            "0/1");
  EXPECT_EQ(found("", {{"SLURM_NTASKS", "4"}}), "0/1");
}

TEST(ShardTest, MalformedValues) {
  for (const char* text : {"4", "4/4", "-1/4", "1/", "/4", "a/b", "1/4x", "0/0", "1/99999999999"})
    EXPECT_EQ(error(text, {}),
              std::string("--shard ") + text + ": must be i/n with 0 <= i < n, like 0/4");
  EXPECT_EQ(error("", {{"RANK", "two"}, {"WORLD_SIZE", "4"}}),
            "RANK=two in the environment: must be a number of at least 0");
  EXPECT_EQ(error("", {{"RANK", "4"}, {"WORLD_SIZE", "4"}}),
            "RANK=4 in the environment: must be less than WORLD_SIZE=4");
  EXPECT_EQ(error("", {{"RANK", "0"}}),
            "RANK is set in the environment, but WORLD_SIZE is not: set both or neither");
  EXPECT_EQ(error("", {{"PMI_SIZE", "2"}}),
            "PMI_SIZE is set in the environment, but PMI_RANK is not: set both or neither");
  EXPECT_EQ(error("", {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", ""}}),
            "LOCAL_RANK= in the environment: must be a number of at least 0");
}

TEST(ShardTest, Conflicts) {
  const Variables slurm = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}};
  EXPECT_EQ(error("1/4", slurm),
            "--shard 1/4, but srun started process 0 of 2: leave --shard out, or start each "
            "process on its own");
  EXPECT_EQ(found("0/2", slurm), "0/2 --shard");
  Variables two = slurm;
  two.insert({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(error("", two),
            "the environment has two launchers: torchrun started process 1 of 2, and srun started "
            "process 0 of 2; unset the variables of one of them");
}

TEST(ShardTest, EachShardHasItsOwnFiles) {
  const Shard alone, one{1, 4, "--shard", std::nullopt};
  EXPECT_EQ(shard_folder(alone, "tuned"), "tuned");
  EXPECT_EQ(shard_folder(one, "tuned"), "tuned/shard-1-of-4");
  EXPECT_EQ(shard_file(alone, "a/log.jsonl"), "a/log.jsonl");
  EXPECT_EQ(shard_file(one, "a/log.jsonl"), "a/log.shard-1-of-4.jsonl");
  EXPECT_EQ(shard_file(one, "log"), "log.shard-1-of-4");
  EXPECT_EQ(shard_file(one, ""), "");
}

TEST(ShardTest, LocalRankTakesADevice) {
  const std::vector<std::string> two = {"cuda:2", "cuda:5"}, one = {"cuda:3"};
  Shard shard{3, 4, "srun", 1};
  EXPECT_EQ(shard_devices(shard, two), std::vector<std::string>{"cuda:5"});
  EXPECT_EQ(shard_devices(shard, one), one);
  shard.local_rank = 2;  // more processes than devices: they take turns
  EXPECT_EQ(shard_devices(shard, two), std::vector<std::string>{"cuda:2"});
  shard.local_rank.reset();
  EXPECT_EQ(shard_devices(shard, two), two);
}

}  // namespace
}  // namespace tcc::tools
