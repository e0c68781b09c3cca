#include "autotune/tuning_files.h"

#include <map>
#include <mutex>
#include <set>
#include <system_error>

#include "autotune/record_fields.h"
#include "autotune/record_file.h"
#include "autotune/record_index.h"
#include "support/cache_file.h"
#include "support/error.h"
#include "support/file.h"
#include "support/log.h"
#include "support/plural.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;
using IndexPtr = std::shared_ptr<const RecordIndex>;

constexpr int64_t kMaxIndexBytes = int64_t{64} << 20;
constexpr int64_t kMaxFolderBytes = int64_t{256} << 20;
constexpr size_t kMostKept = 4096;  // files, in memory

// The target that the text of a tuning file names at the beginning of a line, as tcc writes it; ""
// where it may be written in another way.
std::string_view named_target(std::string_view text) {
  constexpr std::string_view kKey = "\ntarget: \"";
  const size_t at = text.find(kKey);
  if (at == text.npos) return "";
  text.remove_prefix(at + kKey.size());
  const std::string_view line = text.substr(0, text.find('\n'));
  const size_t end = line.find_first_of("\"\\");
  return end != line.npos && line[end] == '"' ? line.substr(0, end) : "";
}

// Holds the content of one tuning file.
struct Known {
  FileStamp stamp;
  int64_t checked = 0;
  Hash128 content;
  std::string device;  // that the file names; "" where only its index knows
  IndexPtr index;      // null: of an API that was not asked for
};

class TuningReader {
 public:
  // Null: the file is of another API's devices, or cannot be read: `problem` says why.
  IndexPtr open(const fs::path& file, std::string_view api, const fs::path& cache,
                std::string& problem) {
    const std::lock_guard lock(mutex_);
    const std::optional<FileStamp> stamp = FileStamp::of(file);
    Known known;
    if (const auto found = known_.find(file); found != known_.end()) known = found->second;
    if (!stamp || !is_current(known, *stamp, api)) {
      try {
        known = read(file, api, cache, known);
      } catch (const Error& reason) {
        known_.erase(file);
        problem = str(reason.what(), "; file skipped");
        return nullptr;
      }
      if (known_.size() >= kMostKept) known_.clear();
      known_[file] = known;
    }
    if (known.index && !is_of(known.index->device(), api)) return nullptr;
    return known.index;
  }

  void forget() {
    const std::lock_guard lock(mutex_);
    known_.clear();
  }

 private:
  static bool is_of(std::string_view device, std::string_view api) {
    return device.empty() || api_of(device) == api;
  }

  static bool is_current(const Known& known, const FileStamp& stamp, std::string_view api) {
    if (known.checked == 0 || known.stamp != stamp || !stamp.is_settled(known.checked))
      return false;
    return known.index || !is_of(known.device, api);
  }

  Known read(const fs::path& file, std::string_view api, const fs::path& cache, const Known& old) {
    const int64_t now = now_ns();
    const std::optional<FileStamp> stamp = FileStamp::of(file);
    if (!stamp) fail_input(file.string(), ": no file that can be read");
    const Hash128 path = hash_of(file.string());
    const fs::path at =
        cache.empty() ? fs::path() : cache / "tuning" / (path.hex() + kCacheExtension);
    std::optional<RecordIndex> index = read_index(at, path);
    if (index && index->source().stamp == *stamp && stamp->is_settled(index->source().checked))
      return known_of(*std::move(index), *stamp, now);

    const std::string text = read_file(file, kMaxRecordFileBytes);
    const std::string_view target = named_target(text);
    if (!is_of(target, api)) return {*stamp, now, {}, std::string(target), nullptr};
    const IndexSource source{path, hash_of(text), *stamp, now};
    if (!index && old.index) index = *old.index;
    const bool is_same = index && index->source().content == source.content;
    // While the file is new, its text is read each time: no reason to write as often.
    const bool is_worth_it = !is_same || index->source().stamp != *stamp || stamp->is_settled(now);
    if (is_same)
      index->set_source(source);
    else
      index = RecordIndex::parse(text, file, source);
    if (!is_same)
      log_parts(LogLevel::info, LogChannel::cache, file.string(), ": ",
                counted(index->size(), "record"), ", parsed in ", (now_ns() - now) / 1000000,
                " ms");
    if (is_worth_it) write_index(at, *index);
    return known_of(*std::move(index), *stamp, now);
  }

  static Known known_of(RecordIndex index, const FileStamp& stamp, int64_t now) {
    const Hash128 content = index.source().content;
    std::string device = index.device();
    return {stamp, now, content, std::move(device),
            std::make_shared<const RecordIndex>(std::move(index))};
  }

  static std::optional<RecordIndex> read_index(const fs::path& at, const Hash128& path) {
    std::error_code error;
    if (at.empty() || !fs::exists(at, error)) return std::nullopt;
    try {
      std::optional<RecordIndex> index = RecordIndex::decode(read_file(at, kMaxIndexBytes));
      if (index && index->source().path == path) return index;
    } catch (const Error&) {}  // it is made again
    return std::nullopt;
  }

  static void write_index(const fs::path& at, const RecordIndex& index) {
    if (at.empty()) return;
    try {
      fs::create_directories(at.parent_path());
      write_cache_file(at, index.bytes());
      trim_cache_folder(at.parent_path(), kMaxFolderBytes);
    } catch (const std::exception& reason) {
      log_parts(LogLevel::debug, LogChannel::cache, reason.what(), "; no index is kept");
    }
  }

  std::mutex mutex_;
  std::map<fs::path, Known> known_;
};

TuningReader& reader() {
  static TuningReader* const instance = new TuningReader;
  return *instance;
}

// The files of one path, by names that are the same from every working directory.
std::vector<fs::path> files_of(const fs::path& path,
                               const std::function<void(const std::string&)>& warn) {
  std::error_code error;
  fs::path absolute = fs::absolute(path, error).lexically_normal();
  if (error) absolute = path;
  std::vector<fs::path> files = record_files(absolute, warn);
  const std::vector<fs::path> plans = plan_files(absolute, warn);
  files.insert(files.end(), plans.begin(), plans.end());
  return files;
}

}  // namespace

// Several threads add to it.
class IllegalRecords {
 public:
  void add(const fs::path& file, const RecordKey& key) {
    const std::lock_guard lock(mutex_);
    files_[file].insert(key);
  }
  std::map<fs::path, std::set<RecordKey>> files() const {
    const std::lock_guard lock(mutex_);
    return files_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<fs::path, std::set<RecordKey>> files_;
};

TuningFiles open_tuning_files(const std::vector<fs::path>& paths, sched::Api api,
                              const fs::path& cache,
                              const std::function<void(const std::string&)>& warn) {
  TuningFiles result;
  result.illegal_ = std::make_shared<IllegalRecords>();
  for (const fs::path& path : tuning_paths(paths, warn)) {
    auto& files = result.paths_.emplace_back();
    for (const fs::path& file : files_of(path, warn)) {
      std::string problem;
      IndexPtr index = reader().open(file, sched::name(api), cache, problem);
      if (!problem.empty()) warn(problem);
      if (!index) continue;
      for (const std::string& warning : index->warnings()) warn(warning);
      files.push_back({file, std::move(index)});
    }
  }
  return result;
}

void forget_tuning_files() { reader().forget(); }

namespace {

// Looks up one file; a forged index has no answer.
template <class Ask>
void ask(const RecordIndex& file, const Ask& ask) try {
  ask(file);
} catch (const Error& reason) {
  log_warning(LogChannel::tuning, "the index of a tuning file of ", file.device(),
              " is damaged: ", reason.what());
}

}  // namespace

RecordStore TuningFiles::records(const RecordKey& key, std::string_view family, bool all) const {
  RecordStore store;
  for (const auto& files : paths_) {
    RecordStore one;
    for (const auto& [path, file] : files) {
      if (file->kernel_template() != key.kernel_template) continue;
      const bool own = file->device() == key.device;
      ask(*file, [&](const RecordIndex& index) {
        if (own || all) index.add_region(key.version, key.region, one);
        if (own && all) index.add_family(key.version, family, one);
      });
    }
    store.override_with(one);
  }
  return store;
}

size_t TuningFiles::size() const {
  size_t sum = 0;
  for (const auto& files : paths_)
    for (const File& file : files) sum += file.index->size();
  return sum;
}

sched::ConfigChoice TuningFiles::choose(const sched::Candidate& candidate) const {
  if (size() == 0) return sched::analytic_configs().choose(candidate);
  const Query query = query_of(candidate);
  for (const bool all : {false, true}) {
    const RecordStore store = records(query.key, query.family, all);
    if (all && store.records().contains(query.key)) note_illegal(query.key, candidate.space());
    if (const Found found = store.find(query); found.record) return {found.config, found.tier};
  }
  return sched::analytic_configs().choose(candidate);
}

void TuningFiles::warn_of_illegal(const std::function<void(const std::string&)>& warn) const {
  for (const auto& [file, keys] : illegal_->files())
    warn(str(file.string(), ": ", counted(keys.size(), "record"),
             " not legal here, and not used; see tcc-tune why"));
}

void TuningFiles::note_illegal(const RecordKey& key, const sched::ConfigSpace& space) const {
  for (const auto& files : paths_)
    for (const auto& [path, file] : files) {
      if (file->kernel_template() != key.kernel_template || file->device() != key.device) continue;
      RecordStore own;
      ask(*file, [&](const RecordIndex& index) { index.add_region(key.version, key.region, own); });
      const auto found = own.records().find(key);
      if (found != own.records().end() &&
          !space.violation(space.completed(found->second.best)).empty())
        illegal_->add(path, key);
    }
}

int64_t TuningFiles::choose(const sched::PlanSite& site, const sched::Target& target) const {
  PlanStore store;
  for (const auto& files : paths_) {
    PlanStore one;
    for (const auto& [path, file] : files)
      if (file->kernel_template().empty() && file->device() == target.id())
        ask(*file, [&](const RecordIndex& index) { index.add_plans(site.key, one); });
    store.override_with(one);
  }
  return store.choose(site, target);
}

}  // namespace tcc::autotune
