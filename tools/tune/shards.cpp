#include "tools/tune/shards.h"

#include <charconv>

#include "support/error.h"

namespace tcc::tools {
namespace {

constexpr int kMostShards = 1 << 20;

struct Launcher {
  const char* name;
  const char *rank, *size, *local_rank;
};

// The innermost first: each may have been started by one that stands below it.
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};
constexpr const Launcher& kSlurm = kLaunchers[3];

std::optional<int> parse_int(std::string_view text) {
  int value = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > kMostShards)
    return std::nullopt;
  return value;
}

std::optional<int> read(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (!text) return std::nullopt;
  auto value = parse_int(text);
  if (!value) fail_input(name, "=", text, " in the environment: must be a number of at least 0");
  return value;
}

// sbatch gives its script the rank 0 of as many processes as the job has: srun starts them later.
bool in_batch_script(const Environment& environment) {
  return environment("SLURM_JOB_ID") && !environment("SLURM_STEP_ID");
}

std::optional<Shard> launched_by(const Launcher& launcher, const Environment& environment) {
  const bool slurm = &launcher == &kSlurm;
  if (slurm && in_batch_script(environment)) return std::nullopt;
  auto rank = read(environment, launcher.rank), size = read(environment, launcher.size);
  if (slurm && !rank) return std::nullopt;  // salloc's shell has the size alone
  if (!rank && !size) return std::nullopt;
  if (!rank || !size)
    fail_input((rank ? launcher.rank : launcher.size), " is set in the environment, but ",
               (rank ? launcher.size : launcher.rank), " is not: set both or neither");
  if (*rank >= *size)
    fail_input(launcher.rank, "=", *rank, " in the environment: must be less than ", launcher.size,
               "=", *size);
  return Shard{*rank, *size, launcher.name, read(environment, launcher.local_rank)};
}

// One process per machine: what starts mpirun's daemons, or a torchrun on each machine.
bool starts_launchers(const Shard& shard, const Environment& environment) {
  auto nodes = read(environment, "SLURM_STEP_NUM_NODES");
  return shard.source == kSlurm.name && nodes == shard.count;
}

std::string text(const Shard& shard) {
  return str(shard.source, " started process ", shard.index, " of ", shard.count);
}

// Launchers say this, the innermost first; a size of 1 is no news, except for its local rank.
std::optional<Shard> find_launcher(const Environment& environment) {
  std::optional<Shard> found;
  for (const Launcher& launcher : kLaunchers) {
    auto shard = launched_by(launcher, environment);
    if (!shard) continue;
    if (!found || found->alone()) {
      if (!found || !shard->alone()) found = shard;
      continue;
    }
    const bool agree = shard->index == found->index && shard->count == found->count;
    if (!agree && !shard->alone() && !starts_launchers(*shard, environment))
      fail_input("the environment has two launchers: ", text(*found), ", and ", text(*shard),
                 "; unset the variables of one of them");
  }
  return found;
}

Shard parse_shard(const std::string& option) {
  const size_t slash = std::min(option.find('/'), option.size());
  auto index = parse_int(std::string_view(option).substr(0, slash));
  auto count = parse_int(std::string_view(option).substr(std::min(slash + 1, option.size())));
  if (!index || !count || *index >= *count)
    fail_input("--shard ", option, ": must be i/n with 0 <= i < n, like 0/4");
  return Shard{*index, *count, "--shard", std::nullopt};
}

}  // namespace

std::string Shard::name() const { return str("shard-", index, "-of-", count); }

Shard find_shard(const std::string& option, const Environment& environment) {
  auto launched = find_launcher(environment);
  if (option.empty()) {
    if (!launched) return {};
    if (launched->alone()) launched->source.clear();
    return *launched;
  }
  Shard shard = parse_shard(option);
  if (!launched) return shard;
  if (!launched->alone() && (launched->index != shard.index || launched->count != shard.count))
    fail_input("--shard ", option, ", but ", text(*launched), ": leave --shard out, or start ",
               "each process on its own");
  shard.local_rank = launched->local_rank;
  return shard;
}

std::vector<std::string> shard_devices(const Shard& shard, std::span<const std::string> asked) {
  std::vector<std::string> devices(asked.begin(), asked.end());
  if (!shard.local_rank || shard.alone()) return devices;
  if (asked.size() == 1) {
    if (asked[0] != "auto") return devices;
    const std::string best = runtime::open_device("auto")->name();
    const auto all = runtime::list_devices().devices;
    std::string kind;
    for (const auto& device : all)
      if (device.name == best) kind = device.description;
    devices.clear();
    for (const auto& device : all)
      if (device.description == kind) devices.push_back(device.name);
    if (devices.empty()) devices = {best};
  }
  return {devices[static_cast<size_t>(*shard.local_rank) % devices.size()]};
}

std::filesystem::path shard_file(const Shard& shard, const std::filesystem::path& path) {
  if (shard.alone() || path.empty()) return path;
  std::string name = path.stem().string() + "." + shard.name() + path.extension().string();
  return path.parent_path() / name;
}

std::filesystem::path shard_folder(const Shard& shard, const std::filesystem::path& folder) {
  return shard.alone() ? folder : folder / shard.name();
}

}  // namespace tcc::tools
