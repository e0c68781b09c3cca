#include "autotune/trial_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>
#include <set>

#include "autotune/trial_log_json.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Warn = std::function<void(const std::string&)>;

constexpr size_t kMaxLine = size_t{1} << 20;
constexpr int64_t kMaxBytes = int64_t{1} << 29;  // unpacked
constexpr size_t kMaxKernels = 100000;
constexpr size_t kMaxTrials = 4000000;
constexpr int kMaxWarnings = 20;

// ---- writing

class FileLog : public TrialLog {
 public:
  explicit FileLog(const fs::path& path) : path_(path.string()) {
    // O_NONBLOCK so that a pipe's name cannot block us.
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (descriptor_ < 0) fail_input(path_, ": cannot open: ", std::strerror(errno));
    struct stat status;
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(descriptor_);
      fail_input(path_, ": not a regular file");
    }
    char start[2] = {}, last = '\n';
    if (::pread(descriptor_, start, 2, 0) == 2 && start[0] == '\x1f' && start[1] == '\x8b') {
      ::close(descriptor_);
      fail_input(path_, ": is compressed; unpack it to continue it");
    }
    if (status.st_size > 0) (void)!::pread(descriptor_, &last, 1, status.st_size - 1);
    inside_line_ = last != '\n';
  }
  ~FileLog() override { ::close(descriptor_); }

  void begin(const LoggedTask& task) override { write(to_json(task)); }
  void append(const RecordKey& key, const LoggedTrial& trial) override {
    write(to_json(key, trial));
  }

 private:
  void write(const json& line) {
    std::lock_guard lock(mutex_);
    // A killed process left a part of a line: it must damage no other.
    std::string text = inside_line_ ? "\n" : "";
    text += line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    ssize_t count;
    do count = ::write(descriptor_, text.data(), text.size());
    while (count < 0 && errno == EINTR);
    int reason = count < 0 ? errno : ENOSPC;
    if (count > 0) inside_line_ = text[static_cast<size_t>(count) - 1] != '\n';
    if (count != static_cast<ssize_t>(text.size()))
      fail_input(path_, ": cannot write: ", std::strerror(reason));
  }

  std::string path_;
  int descriptor_ = -1;
  bool inside_line_ = false;
  std::mutex mutex_;
};

// ---- reading

// The lines of a file, plain or gzip.
class Lines {
 public:
  Lines(const fs::path& path, const Warn& warn) : path_(path.string()), warn_(warn) {
    file_ = gzopen(path_.c_str(), "rbe");
    if (!file_) warn_(str(path_, ": cannot open: ", std::strerror(errno), "; no trials are read"));
  }
  ~Lines() {
    if (file_) gzclose(file_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // The next line without its end; one beyond the limit comes as its beginning, and is not whole.
  bool next(std::string& line, bool& whole) {
    line.clear();
    whole = true;
    for (bool any = false;; any = true) {
      if (position_ == size_ && !fill()) return any;
      const char* begin = buffer_ + position_;
      const size_t left = size_ - position_;
      const auto* end = static_cast<const char*>(std::memchr(begin, '\n', left));
      const size_t count = end ? static_cast<size_t>(end - begin) : left;
      const size_t kept = std::min(count, kMaxLine - line.size());
      line.append(begin, kept);
      whole &= kept == count;
      position_ += count + (end ? 1 : 0);
      if (end) return true;
    }
  }

 private:
  bool fill() {
    if (!file_ || ended_) return false;
    int count = gzread(file_, buffer_, sizeof buffer_);
    if (count < 0) {
      int code = 0;
      const char* reason = gzerror(file_, &code);
      warn_(str(path_, ": damaged: ", code == Z_ERRNO ? std::strerror(errno) : reason,
                "; the rest is not read"));
    }
    bytes_ += std::max(count, 0);
    if (bytes_ > kMaxBytes) {
      warn_(str(path_, ": more than ", kMaxBytes >> 20, " MiB; the rest is not read"));
      count = 0;
    }
    position_ = 0;
    size_ = static_cast<size_t>(std::max(count, 0));
    ended_ = size_ == 0;
    return !ended_;
  }

  std::string path_;
  const Warn& warn_;
  gzFile file_ = nullptr;
  char buffer_[1 << 16];
  size_t position_ = 0, size_ = 0;
  int64_t bytes_ = 0;
  bool ended_ = false;
};

class HistoryReader {
 public:
  HistoryReader(const fs::path& path, const Warn& warn) : path_(path.string()), warn_(warn) {}

  TrialHistory read() {
    Lines lines(path_, warn_);
    std::string line;
    bool whole = true;
    for (number_ = 1; lines.next(line, whole); ++number_) {
      if (line.empty()) continue;
      try {
        if (!whole) fail_input("longer than ", kMaxLine >> 20, " MiB");
        if (!add(parse_log_line(line))) break;
      } catch (const Error& error) { skip(error.what()); }
    }
    if (skipped_ > kMaxWarnings)
      warn_(str(path_, ": ", skipped_ - kMaxWarnings, " more lines skipped"));
    for (auto& [key, task] : history_) keep_last(task.trials);
    return std::move(history_);
  }

 private:
  void skip(const std::string& reason) {
    if (++skipped_ <= kMaxWarnings) warn_(str(path_, ":", number_, ": ", reason, "; line skipped"));
  }

  // False: a limit is reached, the rest is not read.
  bool add(LoggedLine line) {
    if (auto* task = std::get_if<LoggedTask>(&line.content)) {
      if (history_.size() >= kMaxKernels) return stop("kernels", kMaxKernels);
      keys_[line.id] = task->key;
      RecordKey key = task->key;
      history_[key].task = std::move(*task);
      return true;
    }
    auto found = keys_.find(line.id);
    if (found == keys_.end()) fail_input("a trial of a kernel that has no line before it");
    if (++trials_ > kMaxTrials) return stop("trials", kMaxTrials);
    history_[found->second].trials.push_back(std::move(std::get<LoggedTrial>(line.content)));
    return true;
  }

  bool stop(const char* what, size_t limit) {
    warn_(str(path_, ":", number_, ": more than ", limit, " ", what, "; the rest is not read"));
    return false;
  }

  // Only the last trial of equal (config, effort) stays.
  static void keep_last(std::vector<LoggedTrial>& trials) {
    std::set<std::pair<sched::Config, Effort>> seen;
    std::vector<LoggedTrial> kept;
    for (auto trial = trials.rbegin(); trial != trials.rend(); ++trial)
      if (seen.emplace(trial->config, trial->effort).second) kept.push_back(std::move(*trial));
    trials.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  }

  std::string path_;
  const Warn& warn_;
  TrialHistory history_;
  std::map<std::string, RecordKey> keys_;
  size_t number_ = 0, trials_ = 0;
  int skipped_ = 0;
};

}  // namespace

std::unique_ptr<TrialLog> open_trial_log(const fs::path& path) {
  return std::make_unique<FileLog>(path);
}

TrialHistory read_trial_log(const fs::path& path, const Warn& warn) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  if (!fs::is_regular_file(path, error)) {
    warn(str(path.string(), ": not a regular file; no trials are read"));
    return {};
  }
  return HistoryReader(path, warn).read();
}

}  // namespace tcc::autotune
