// Runs are kept in a store: a folder, or a branch of a git repository. A run is a file of its own,
// runs/NAME.jsonl, that is not changed once it is written: copying and merging stores is a union.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tcc::tools {

// A run that is being written. Appended lines stay, even if this process is killed.
class RunWriter {
 public:
  virtual ~RunWriter() = default;
  // Appends whole lines, in one write. Throws Error(bad_input) naming the file, and then leaves no
  // part of them.
  virtual void append(std::string_view lines) = 0;
  // Must be called after the last line. Throws Error(bad_input); the appended lines are kept then,
  // too.
  virtual void finish() = 0;
};

struct RunText {
  std::string text;
  std::string problem;  // why there is none
};

class Store {
 public:
  virtual ~Store() = default;
  virtual std::string place() const = 0;  // for messages
  // "perf/runs/NAME.jsonl", for messages.
  virtual std::string file_of(const std::string& name) const = 0;
  // Returns the names of runs, sorted, hence by date. It is empty where there is no run yet; files
  // with other names are ignored.
  virtual std::vector<std::string> names() const = 0;
  virtual std::vector<RunText> texts(std::span<const std::string> names) const = 0;
  // Begins a new run. Throws Error(bad_input) where the store cannot be written.
  virtual std::unique_ptr<RunWriter> begin(const std::string& name) = 0;
  // Throws Error(bad_input) where a store keeps all it ever had, as a branch does.
  virtual void remove(const std::string& name) = 0;
};

// A folder that may be missing yet; "git:BRANCH" of the repository that this process stands in, or
// "git:REPOSITORY#BRANCH". `say` gets a line for every additional action, such as the recovery of a
// killed process's runs. Throws Error(bad_input).
std::unique_ptr<Store> open_store(const std::string& where,
                                  const std::function<void(const std::string&)>& say = {});

// Limits on what is read.
constexpr int64_t kMostRunBytes = int64_t{64} << 20;
constexpr size_t kMostRuns = 100000;

}  // namespace tcc::tools
