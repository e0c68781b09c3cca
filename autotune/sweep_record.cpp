#include "autotune/sweep_record.h"

#include "autotune/finals.h"

namespace tcc::autotune {

const Measurement* measurement_of(const KernelResult& result, const sched::Config& config) {
  const LoggedTrial* found = nullptr;
  for (const LoggedTrial& trial : result.trials)
    if (trial.config == config &&
        (!found || trial.effort == Effort::full || found->effort == Effort::quick))
      found = &trial;
  return found ? &found->result : nullptr;
}

Record record_of(const Tunable& tunable, const KernelResult& result, const sched::Config& config,
                 const Measurement& measured, const std::string& policy) {
  Record record;
  record.key = tunable.key;
  record.name = tunable.name;
  record.operands = tunable.operands;
  record.family = tunable.family;
  record.extents = tunable.extents;
  record.environment = tunable.environment;
  record.best = config;
  record.seconds = measured.seconds;
  record.low = measured.low;
  record.high = measured.high;
  record.samples = static_cast<int64_t>(measured.samples.size());
  // A duel compares nothing.
  if (const Measurement* trial = measurement_of(result, config)) record.error = trial->error;
  record.default_seconds = result.default_seconds;
  record.runners_up = runners_up(result.trials, config);
  record.policy = policy;
  record.tcc = tcc_version();
  record.date = date_today();
  return record;
}

RecordStore records_of(std::span<const Tunable> tunables,
                       const std::vector<const KernelResult*>& results, const RecordStore* in_use) {
  RecordStore records;
  for (const KernelResult* result : results)
    if (result && result->record) records.add(*result->record);
  if (records.records().empty()) return records;
  // A pin may be the nearest record of the next kernel: until nothing changes any more.
  for (bool changed = true; changed;) {
    changed = false;
    RecordStore after = in_use ? *in_use : RecordStore();
    after.update(records);
    for (size_t i = 0; i < tunables.size(); ++i) {
      const Tunable& tunable = tunables[i];
      if (!results[i] || results[i]->record || results[i]->today_seconds <= 0) continue;
      if (!tunable.choose || records.records().count(tunable.key)) continue;
      const KernelResult& result = *results[i];
      if (tunable.choose(after).config == result.today.config) continue;
      const Measurement* measured = measurement_of(result, result.today.config);
      if (!measured || measured->status != Measurement::Status::measured) continue;
      records.add(record_of(tunable, result, result.today.config, *measured,
                            "what was in use; no finals, kept from another kernel's record"));
      changed = true;
    }
  }
  return records;
}

}  // namespace tcc::autotune
