#include "tools/track/store.h"

#include <algorithm>
#include <filesystem>

#include "support/error.h"
#include "support/file.h"
#include "tools/track/run_file.h"
#include "tools/track/run_record.h"
#include "tools/track/store_git.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

class FolderWriter final : public RunWriter {
 public:
  explicit FolderWriter(const fs::path& path) : file_(path) {}
  void append(std::string_view lines) override { file_.append(lines); }
  void finish() override { file_.sync(); }

 private:
  RunFile file_;
};

class FolderStore final : public Store {
 public:
  explicit FolderStore(const fs::path& folder) : folder_(folder) {
    std::error_code ignored;
    if (fs::exists(folder_, ignored) && !fs::is_directory(folder_, ignored))
      fail_input(folder_.string(), ": is no folder; a store is one, or git:BRANCH");
  }

  std::string place() const override { return folder_.string(); }
  std::string file_of(const std::string& name) const override { return path_of(name).string(); }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(folder_ / "runs", error), end; !error && entry != end;
         entry.increment(error)) {
      const fs::path& path = entry->path();
      if (path.extension() == ".jsonl" && is_run_name(path.stem().string()) &&
          fs::is_regular_file(entry->symlink_status()))
        names.push_back(path.stem().string());
      if (names.size() > kMostRuns)
        fail_input(folder_.string(), ": more than ", kMostRuns, " runs");
    }
    if (error && error != std::errc::no_such_file_or_directory)
      fail_input((folder_ / "runs").string(), ": cannot be read: ", error.message());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::vector<RunText> texts(std::span<const std::string> names) const override {
    std::vector<RunText> texts;
    for (const std::string& name : names) {
      RunText& text = texts.emplace_back();
      try {
        text.text = read_file(path_of(name), kMostRunBytes);
      } catch (const Error& error) { text.problem = error.what(); }
    }
    return texts;
  }

  std::unique_ptr<RunWriter> begin(const std::string& name) override {
    return std::make_unique<FolderWriter>(path_of(name));
  }
  void remove(const std::string& name) override {
    std::error_code error;
    if (!fs::remove(path_of(name), error))
      fail_input(path_of(name).string(), ": cannot be removed: ", error.message());
  }

 private:
  fs::path path_of(const std::string& name) const { return folder_ / "runs" / (name + ".jsonl"); }

  fs::path folder_;
};

}  // namespace

std::unique_ptr<Store> open_store(const std::string& where,
                                  const std::function<void(const std::string&)>& say) {
  constexpr std::string_view kGit = "git:";
  if (where.empty()) fail_input("a store is a folder or git:BRANCH");
  if (!where.starts_with(kGit)) return std::make_unique<FolderStore>(where);
  const std::string rest = where.substr(kGit.size());
  const size_t hash = rest.rfind('#');
  if (hash == std::string::npos) return open_git_store(".", rest, say);
  return open_git_store(rest.substr(0, hash), rest.substr(hash + 1), say);
}

}  // namespace tcc::tools
