// Reads which part of the work is this process's from --shard, or from the environment of the
// launcher that started it. docs/tuning-at-scale.md shows them at work.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace tcc::tools {

struct Shard {
  int index = 0, count = 1;
  std::string source;             // "--shard", "srun", "mpirun", "torchrun"; "": there is only one
  std::optional<int> local_rank;  // among the processes of this machine, where a launcher tells

  bool alone() const { return count == 1; }
  std::string name() const;  // "shard-0-of-4"
};

// getenv() or a test's table; null: not set.
using Environment = std::function<const char*(const char*)>;

// --shard (text "i/n" with 0 <= i < n; "" when it was not given), else the rank and size of srun
// (SLURM_PROCID, SLURM_NTASKS), mpirun (OMPI_COMM_WORLD_RANK and _SIZE, or PMI_RANK and PMI_SIZE)
// or torchrun (RANK, WORLD_SIZE), with the local rank of each. What a batch script of Slurm holds
// outside srun does not count, nor does an srun with one process per machine that started another
// launcher there. Throws Error(bad_input) for malformed values and for two sources of more than one
// process that disagree.
Shard find_shard(const std::string& option, const Environment& environment);

// Returns the devices that this process measures on. `asked` are --device's values. Processes that
// know their local rank take one each: of `asked` where it names several, of all devices like the
// best where it is "auto". Throws Error(no_device).
std::vector<std::string> shard_devices(const Shard& shard, std::span<const std::string> asked);

// `path` for this shard alone, so that no two processes write one file: "log.jsonl" becomes
// "log.shard-0-of-4.jsonl". `path` itself when there is one shard.
std::filesystem::path shard_file(const Shard& shard, const std::filesystem::path& path);

// `folder`, or "FOLDER/shard-0-of-4" when there are several shards.
std::filesystem::path shard_folder(const Shard& shard, const std::filesystem::path& folder);

}  // namespace tcc::tools
