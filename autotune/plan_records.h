// Plan records say which alternative of a choice that spans regions (scheduler/plan.h) is fastest
// on a device. They are in files of their own, TARGET.plan.yaml, beside the kernels' records.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/records.h"
#include "scheduler/plan.h"

namespace tcc::autotune {

inline constexpr int kPlanSchema = 2;

// A record is for this device, site and kind of choice. A mismatch in any of these makes it
// unusable.
struct PlanKey {
  std::string device;  // Target::id()
  std::string kind;    // "split_k"
  std::string site;    // 32 digits: PlanSite::key
  friend auto operator<=>(const PlanKey&, const PlanKey&) = default;
};

struct PlanRecord {
  PlanKey key;
  std::string description;  // for people
  int64_t choice = 0;
  int64_t default_choice = 0;  // of the tcc that measured
  // Each alternative's seconds of the launches in which the alternatives differ, with the best
  // known configs. Alternatives that could not be measured are missing.
  std::map<int64_t, double> seconds;
  std::string measured_on, driver, tcc;  // as in Record: device and version
  std::string date;                      // "2026-11-21", UTC
  friend auto operator<=>(const PlanRecord&, const PlanRecord&) = default;
  // Returns the seconds of the choice over those of the default; 1 where either is not known.
  double ratio() const;
};

// Returns whether merging takes `a` rather than `b`, both of one key: a strict total order. The
// newer date wins, then the larger gain, then the rest in its own order.
bool preferred(const PlanRecord& a, const PlanRecord& b);

class PlanStore : public sched::PlanSource {
 public:
  // Returns the site's record on the target; null: there is none.
  const PlanRecord* find(const sched::PlanSite& site, const sched::Target& target) const;
  // Returns the record's choice where it still is an alternative, else the default.
  int64_t choose(const sched::PlanSite& site, const sched::Target& target) const override;

  void add(PlanRecord record);  // keeps the preferred() one of two of one key
  void put(PlanRecord record);  // takes the place of one with its key
  void erase(const PlanKey& key) { records_.erase(key); }
  void merge(const PlanStore& other);          // add() of all of them
  void override_with(const PlanStore& newer);  // put() of all of them
  // Takes a search's records. One replaces ours only when the choice or the environment of the
  // measurement changed, so that files do not change by chance.
  void update(const PlanStore& newer);

  const std::map<PlanKey, PlanRecord>& records() const { return records_; }

 private:
  std::map<PlanKey, PlanRecord> records_;
};

// Returns whether the site has the alternative today.
bool is_alternative(const sched::PlanSite& site, int64_t choice);

// Returns whether a file is named TARGET.plan.yaml, so that it holds no kernels' records.
bool is_plan_file(const std::filesystem::path& path);

// The plan files of a folder in the order of their names, or the file itself if it is one.
std::vector<std::filesystem::path> plan_files(const std::filesystem::path& path,
                                              const std::function<void(const std::string&)>& warn);

// Reads all of plan_files(). The files are not trusted: records that are damaged, of another schema
// or beyond a limit are skipped with a warning "FILE:LINE: ...".
void read_plan_path(const std::filesystem::path& path, PlanStore& store,
                    const std::function<void(const std::string&)>& warn);
void read_plan_text(std::string_view text, const std::string& file, PlanStore& store,
                    const std::function<void(const std::string&)>& warn);

// Loads the plans from where load_records() reads, in the same order of precedence. Paths that do
// not exist have no plans; load_records() reports them.
PlanStore load_plans(const std::vector<std::filesystem::path>& paths,
                     const std::function<void(const std::string&)>& warn);

// Writes the records, all of one device, sorted.
std::string plan_file_text(const std::vector<const PlanRecord*>& records);

// Saves one file per device below `folder`, as save_records() does it. Returns the files.
std::vector<std::filesystem::path> save_plans(const PlanStore& store,
                                              const std::filesystem::path& folder,
                                              Saving saving = Saving::update);

}  // namespace tcc::autotune
