// RecordStore's look-up: exact, stale, nearest, device, and else nothing.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <set>

#include "autotune/records.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

// Farther away a config says less than the analytic model does.
constexpr double kMaxShapeOctaves = 4;
constexpr double kMaxDeviceOctaves = 4;
constexpr double kOtherVendor = 2;  // octaves that another vendor's device counts as
// To the model, which is not exact, a relative's config may look as much slower than the default as
// it was faster where it was measured, up to this, and the less the farther the relative is.
constexpr double kTrusted = 1.15;
constexpr size_t kMostTried = 64;  // relatives whose configs are checked, the nearest first

// An unknown value is no difference: a target without a device names no driver.
bool differ(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && a != b;
}

double octaves_between(int64_t a, int64_t b) {
  auto size = [](int64_t value) { return 1 + std::abs(static_cast<double>(value)); };
  return std::abs(std::log2(size(a) / size(b)));
}

// The power of two in a size, up to the largest that tiles and vectors ask for.
int twos(int64_t size) {
  constexpr int kMost = 6;
  return size == 0 ? kMost : std::min(kMost, std::countr_zero(static_cast<uint64_t>(size)));
}

// Returns the distance from the sizes that a config was measured on to those it is wanted for. A
// size that stands in several places counts once; one that divides less well than before leaves
// tiles half empty.
double shape_distance(const std::vector<int64_t>& measured, const std::vector<int64_t>& wanted) {
  std::set<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < measured.size(); ++i) pairs.emplace(measured[i], wanted[i]);
  double distance = 0;
  for (const auto& [from, to] : pairs)
    distance += octaves_between(from, to) + 0.5 * std::max(0, twos(from) - twos(to));
  return distance;
}

double device_distance(const Environment& a, const Environment& b) {
  std::map<std::string, std::pair<int64_t, int64_t>> both;
  for (const auto& [name, value] : a.capabilities) both[name].first = value;
  for (const auto& [name, value] : b.capabilities) both[name].second = value;
  double distance = differ(a.vendor, b.vendor) ? kOtherVendor : 0;
  for (const auto& [name, values] : both) distance += octaves_between(values.first, values.second);
  return distance;
}

std::string octaves(double distance) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f octaves", distance);
  return text;
}

struct Near {
  double distance;
  const Record* record;
};

void sort_by_distance(std::vector<Near>& all) {
  std::sort(all.begin(), all.end(), [](const Near& a, const Near& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.record->key < b.record->key;
  });
}

}  // namespace

class LookUp {
 public:
  LookUp(const RecordStore& store, const Query& query, std::vector<std::string>* refused)
      : store_(store), query_(query), refused_(refused) {}

  Found run() {
    if (const Record* record = this_kernel()) return {record, tier_};
    if (const Record* record = nearest_shape()) return {record, sched::Tier::nearest};
    if (const Record* record = nearest_device()) return {record, sched::Tier::device};
    return {};
  }

 private:
  template <class... Parts>
  void refuse(sched::Tier tier, const Parts&... parts) {
    if (refused_) refused_->push_back(str(name(tier), ": ", parts...));
  }

  const Record* this_kernel() {
    auto found = store_.records_.find(query_.key);
    if (found == store_.records_.end()) {
      refuse(sched::Tier::exact, "no record of this kernel for ", query_.key.device,
             refused_ ? other_version() : "");
      refuse(sched::Tier::stale, "as for exact");
      return nullptr;
    }
    const Record& record = found->second;
    if (std::string reason = query_.space->violation(query_.space->completed(record.best));
        !reason.empty()) {
      refuse(sched::Tier::exact, "the record's config is not legal: ", reason);
      refuse(sched::Tier::stale, "as for exact");
      return nullptr;
    }
    std::string changed = environment_change(record, query_.environment, query_.tcc);
    tier_ = changed.empty() ? sched::Tier::exact : sched::Tier::stale;
    if (!changed.empty()) refuse(sched::Tier::exact, "the record was measured with ", changed);
    return &record;
  }

  std::string other_version() const {
    for (const auto& [key, record] : store_.records_)
      if (key.kernel_template == query_.key.kernel_template && key.region == query_.key.region &&
          key.device == query_.key.device)
        return str(" (there is one of version ", key.version, " of the template, not ",
                   query_.key.version, ")");
    return "";
  }

  const Record* nearest_shape() {
    auto family = store_.families_.find(
        {query_.key.kernel_template, query_.key.version, query_.key.device, query_.family});
    std::vector<Near> near;
    if (!query_.family.empty() && family != store_.families_.end())
      for (const RecordKey& key : family->second) {
        const Record& record = store_.records_.at(key);
        if (key != query_.key && record.extents.size() == query_.extents.size())
          near.push_back({shape_distance(record.extents, query_.extents), &record});
      }
    return closest(near, sched::Tier::nearest, kMaxShapeOctaves,
                   "no record of a kernel that differs in sizes only");
  }

  // Records are sorted by device last.
  const Record* nearest_device() {
    std::vector<Near> near;
    const RecordKey& key = query_.key;
    for (auto at = store_.records_.lower_bound({key.kernel_template, key.version, key.region, ""});
         at != store_.records_.end() && at->first.kernel_template == key.kernel_template &&
         at->first.version == key.version && at->first.region == key.region;
         ++at)
      if (at->first.device != key.device && api_of(at->first.device) == api_of(key.device))
        near.push_back({device_distance(at->second.environment, query_.environment), &at->second});
    return closest(near, sched::Tier::device, kMaxDeviceOctaves,
                   str("no record of this kernel on another ", api_of(key.device), " device"));
  }

  const Record* closest(std::vector<Near>& near, sched::Tier tier, double limit,
                        const std::string& none) {
    if (near.empty()) {
      refuse(tier, none);
      return nullptr;
    }
    sort_by_distance(near);
    std::string refused;  // why the nearest one does not serve
    for (size_t i = 0; i < std::min(near.size(), kMostTried); ++i) {
      const auto& [distance, record] = near[i];
      if (distance > limit) {
        refuse(tier, refused, of(*record, tier), " is ", octaves(distance), " away, more than ",
               octaves(limit));
        return nullptr;
      }
      const std::string reason = objection(*record, 1 - distance / limit);
      if (reason.empty()) return record;
      if (refused.empty()) refused = str(of(*record, tier), " has a config ", reason, "; ");
    }
    refuse(tier, refused, near.size() == 1 ? "there is no other" : "nor does another's serve");
    return nullptr;
  }

  // Against a relative's config; `nearness` is 1 for the same sizes, 0 for the farthest.
  std::string objection(const Record& record, double nearness) const {
    const sched::Config best = query_.space->completed(record.best);
    const std::string violated = query_.space->violation(best);
    if (!violated.empty()) return "that is not legal here: " + violated;
    const bool known = record.default_seconds > 0;
    const double faster =
        known ? std::clamp(record.default_seconds / record.seconds, 1.0, kTrusted) : kTrusted;
    const double allowed = 1 + (faster - 1) * nearness;
    const std::string doubt = query_.doubt ? query_.doubt(best, allowed) : "";
    return doubt.empty() ? doubt : "that does not suit this kernel: " + doubt;
  }

  static std::string of(const Record& record, sched::Tier tier) {
    return tier == sched::Tier::device ? record.key.device : record.operands;
  }

  const RecordStore& store_;
  const Query& query_;
  std::vector<std::string>* refused_;
  sched::Tier tier_ = sched::Tier::exact;
};

std::string environment_change(const Record& record, const Environment& now,
                               const std::string& tcc) {
  const Environment& then = record.environment;
  const struct {
    const char* what;
    const std::string &then, &now;
  } parts[] = {{"device", then.device, now.device},
               {"driver", then.driver, now.driver},
               {"compiler", then.compiler, now.compiler},
               {"tcc", record.tcc, tcc},
               {"config space", then.space, now.space}};
  for (const auto& part : parts)
    if (differ(part.then, part.now))
      return str(part.what, " '", part.then, "', not '", part.now, "'");
  return "";
}

Found RecordStore::find(const Query& query, std::vector<std::string>* refused) const {
  Found found = LookUp(*this, query, refused).run();
  if (found.record) found.config = query.space->completed(found.record->best);
  return found;
}

namespace {

std::string doubt(const sched::Candidate& candidate, const sched::Config& config, double allowed) {
  const double ratio = candidate.estimate(config) / candidate.default_seconds();
  if (!(ratio > allowed)) return "";
  char text[96];
  std::snprintf(text, sizeof text, "it should take %.2f times the default's time, %.2f allowed",
                ratio, allowed);
  return text;
}

}  // namespace

Query query_of(const sched::Candidate& candidate) {
  sched::Family family = sched::family_of(candidate.region());
  return {.key = key_of(candidate),
          .family = family.key,
          .extents = std::move(family.extents),
          .environment = environment_of(candidate.space(), candidate.target()),
          .tcc = tcc_version(),
          .space = &candidate.space(),
          .doubt = [&candidate](const sched::Config& config, double allowed) {
            return doubt(candidate, config, allowed);
          }};
}

Explanation RecordStore::explain(const sched::Candidate& candidate) const {
  Explanation result;
  Found found = find(query_of(candidate), &result.refused);
  if (!found.record) {
    result.choice = sched::analytic_configs().choose(candidate);
    return result;
  }
  result.choice = {found.config, found.tier};
  result.record = *found.record;
  return result;
}

sched::ConfigChoice RecordStore::choose(const sched::Candidate& candidate) const {
  if (!records_.empty())
    if (const Found found = find(query_of(candidate)); found.record)
      return {found.config, found.tier};
  return sched::analytic_configs().choose(candidate);
}

}  // namespace tcc::autotune
