#include "autotune/measure_again.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "support/error.h"

namespace tcc::autotune {
namespace {

constexpr size_t kRepeats = 3;

struct Rival {
  Record record;
  BenchJob job;
  exec::StandaloneSequence expected, best;
  std::vector<Measurement> rounds;
};

std::optional<Rival> rival_of(const TuningTask& task, const RecordStore& records,
                              const sched::Target& target, const TuneOptions& options) {
  const auto found = records.records().find(task.key);
  if (found == records.records().end()) return std::nullopt;
  const Tunable tunable = tunable_of(task, options.compile);
  return Rival{found->second,
               tunable.job(options.seed),
               tunable.compile(tunable.default_config),
               tunable.compile(found->second.best),
               {}};
}

std::optional<Record> summary(Rival& rival) {
  std::vector<Measurement>& rounds = rival.rounds;
  if (rounds.size() < kRepeats) return std::nullopt;
  std::sort(rounds.begin(), rounds.end(),
            [](const Measurement& a, const Measurement& b) { return a.seconds < b.seconds; });
  Record record = rival.record;
  record.seconds = rounds[kRepeats / 2].seconds;
  record.low = rounds.front().low;
  record.high = rounds.front().high;
  for (const Measurement& round : rounds) {
    record.low = std::min(record.low, round.low);
    record.high = std::max(record.high, round.high);
  }
  return record;
}

}  // namespace

RecordStore measure_again(std::span<const TuningTask> tasks, const RecordStore& records,
                          const sched::Target& target, const std::string& device,
                          const TuneOptions& options) {
  std::vector<Rival> rivals;
  for (const TuningTask& task : tasks)
    if (auto rival = rival_of(task, records, target, options)) rivals.push_back(std::move(*rival));
  std::unique_ptr<WorkerPool> pool;
  if (options.workers) pool = make_worker_pool(device, options.worker);
  for (size_t round = 0; round < kRepeats; ++round) {
    for (Rival& rival : rivals) {
      if (rival.rounds.size() < round) continue;  // it failed before
      const auto bench =
          pool ? pool->bench(rival.job) : local_bench(runtime::open_device(device), rival.job);
      if (bench->baseline(rival.expected).status != Measurement::Status::measured) continue;
      Measurement measured =
          bench->measure(rival.best, Effort::full, std::numeric_limits<double>::infinity());
      if (measured.status == Measurement::Status::measured)
        rival.rounds.push_back(std::move(measured));
    }
  }
  RecordStore result;
  for (Rival& rival : rivals)
    if (auto record = summary(rival)) result.add(std::move(*record));
  return result;
}

}  // namespace tcc::autotune
