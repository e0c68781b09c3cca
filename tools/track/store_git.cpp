#include "tools/track/store_git.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "backends/compile/process.h"
#include "support/error.h"
#include "support/plural.h"
#include "tools/track/git.h"
#include "tools/track/run_file.h"
#include "tools/track/run_record.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 100;            // of moving the branch, while others do, too
constexpr int64_t kBatchBytes = 64 << 20;  // that one `git cat-file` prints
constexpr size_t kMostListing = size_t{64} << 20;

// The branch, and how a commit is added to it.
class Branch {
 public:
  Branch(const fs::path& repository, const std::string& name) : git_(repository) {
    if (name.empty() || git_.run({"check-ref-format", "--branch", name}).code != 0 ||
        name.front() == '-' || name.front() == '@')
      fail_input("'", name,
                 "' is no name of a branch; a store is git:BRANCH or "
                 "git:REPOSITORY#BRANCH");
    reference_ = "refs/heads/" + name;
    // Absolute: commands run in the repository's folder.
    fs::path folder = git_.ask({"rev-parse", "--git-common-dir"});
    if (folder.is_relative()) folder = repository / folder;
    spool_ = fs::absolute(folder) / "tcc-track" / "spool" / name;
    if (!found(reference_).empty()) return;
    if (!found("refs/remotes/" + name).empty())
      reference_ = "refs/remotes/" + name;  // read, as after a fetch
    else
      origin_ = found("refs/remotes/origin/" + name);
  }

  const Git& git() const { return git_; }
  const fs::path& spool() const { return spool_; }
  std::string name() const { return reference_.substr(reference_.find('/', 5) + 1); }

  // The branch is not there yet, and begins where origin's is, as in a fresh clone.
  bool begins_at_origin() const { return !origin_.empty(); }

  // "" where the branch has no commit yet.
  std::string tip() const {
    const std::string local = found(reference_);
    return local.empty() ? origin_ : local;
  }

  void check_writable() const {
    if (!reference_.starts_with("refs/heads/"))
      fail_input("git:", name(), ": is a branch of a remote, which is only read");
    // Its work tree would look as if the new files had been removed.
    const std::string trees = git_.ask({"worktree", "list", "--porcelain"});
    if (trees.find("\nbranch " + reference_ + "\n") != std::string::npos ||
        trees.ends_with("\nbranch " + reference_))
      fail_input("git:", name(), ": this branch is checked out in a work tree; take another one");
  }

  // Adds files to the branch in one commit.
  void commit(const std::vector<fs::path>& files) const {
    std::string entries;
    for (const fs::path& file : files)
      entries += "100644 " + git_.ask({"hash-object", "-w", "--", fs::absolute(file).string()}) +
                 "\truns/" + file.filename().string() + "\n";
    const std::string message = files.size() == 1 ? "tcc-track: " + files.front().stem().string()
                                                  : str("tcc-track: ", files.size(), " runs");
    std::minstd_rand random(std::random_device{}());
    Git::Result moved;
    for (int i = 0; i < kMostTries; ++i) {
      const std::string local = found(reference_);
      const std::string made = made_commit(entries, local.empty() ? origin_ : local, message);
      moved = git_.run({"update-ref", "-m", message, reference_, made,
                        local.empty() ? std::string(made.size(), '0') : local});
      if (moved.code == 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % (20 * (i + 1))));
    }
    fail_input("git:", name(),
               ": the branch cannot be moved: ", moved.errors.substr(0, moved.errors.find('\n')));
  }

 private:
  // The commit that a reference names, or "".
  std::string found(const std::string& reference) const {
    const Git::Result result = git_.run({"rev-parse", "--verify", "--quiet", reference});
    return result.code == 0 ? result.output.substr(0, result.output.find('\n')) : "";
  }

  std::string made_commit(const std::string& entries, const std::string& parent,
                          const std::string& message) const {
    const backends::TemporaryFolder folder;
    const std::string index = "GIT_INDEX_FILE=" + (folder.path() / "index").string();
    if (!parent.empty()) git_.ask({"read-tree", parent}, {.environment = {index}});
    git_.ask({"update-index", "--add", "--index-info"}, {.input = entries, .environment = {index}});
    const std::string tree = git_.ask({"write-tree"}, {.environment = {index}});
    std::vector<std::string> words = {"commit-tree", "-m", message};
    if (!parent.empty()) words.insert(words.end(), {"-p", parent});
    words.push_back(tree);
    // Machines of a CI have no name of their own.
    std::vector<std::string> who;
    if (git_.run({"var", "GIT_COMMITTER_IDENT"}).code != 0)
      who = {"GIT_AUTHOR_NAME=tcc-track", "GIT_AUTHOR_EMAIL=tcc-track@localhost",
             "GIT_COMMITTER_NAME=tcc-track", "GIT_COMMITTER_EMAIL=tcc-track@localhost"};
    return git_.ask(words, {.environment = who});
  }

  Git git_;
  std::string reference_;
  std::string origin_;  // the commit of origin's branch, where there is no local one
  fs::path spool_;
};

// Lines go to a file in the spool folder, which becomes a commit at the end: a killed process loses
// nothing.
class GitWriter final : public RunWriter {
 public:
  GitWriter(const Branch& branch, const std::string& name)
      : branch_(branch), file_(branch.spool() / (name + ".jsonl")) {}
  ~GitWriter() override {
    // A run that ended with an error is committed, too. If that fails now, it stays in the spool.
    try {
      finish();
    } catch (const std::exception&) {}
  }
  void append(std::string_view lines) override {
    file_.append(lines);
    empty_ = false;
  }
  void finish() override {
    if (done_) return;
    if (!empty_) branch_.commit({file_.path()});
    done_ = true;
    std::error_code ignored;
    fs::remove(file_.path(), ignored);
  }

 private:
  const Branch& branch_;
  RunFile file_;
  bool empty_ = true, done_ = false;
};

class GitStore final : public Store {
 public:
  GitStore(const fs::path& repository, const std::string& branch,
           const std::function<void(const std::string&)>& say)
      : branch_(repository, branch) {
    if (say && branch_.begins_at_origin())
      say(str("git:", branch, ": there is no such local branch; it begins at origin/", branch));
    recover(say);
  }

  std::string place() const override { return "git:" + branch_.name(); }
  std::string file_of(const std::string& name) const override {
    return branch_.name() + ":runs/" + name + ".jsonl";
  }

  std::vector<std::string> names() const override {
    list();
    std::vector<std::string> names;
    for (const auto& [name, blob] : blobs_) names.push_back(name);
    return names;
  }

  std::vector<RunText> texts(std::span<const std::string> names) const override {
    if (blobs_.empty()) list();
    std::vector<RunText> texts(names.size());
    for (size_t first = 0; first < names.size();) {
      size_t end = first;
      int64_t bytes = 0;
      for (; end < names.size() && (end == first || bytes < kBatchBytes); ++end) {
        const auto found = blobs_.find(names[end]);
        if (found == blobs_.end())
          texts[end].problem = file_of(names[end]) + ": is not there";
        else if (found->second.bytes > kMostRunBytes)
          texts[end].problem = str(file_of(names[end]), ": ", found->second.bytes,
                                   " bytes; at most ", kMostRunBytes, " are read");
        else
          bytes += found->second.bytes;
      }
      read_batch(names.subspan(first, end - first), {texts.data() + first, end - first});
      first = end;
    }
    return texts;
  }

  std::unique_ptr<RunWriter> begin(const std::string& name) override {
    branch_.check_writable();
    return std::make_unique<GitWriter>(branch_, name);
  }
  void remove(const std::string&) override {
    fail_input(place(), ": a branch keeps its runs; baselines are folders");
  }

 private:
  struct Blob {
    std::string hash;
    int64_t bytes = 0;
  };

  void recover(const std::function<void(const std::string&)>& say) const {
    std::vector<fs::path> left;
    std::error_code error;
    for (fs::directory_iterator entry(branch_.spool(), error), end; !error && entry != end;
         entry.increment(error))
      if (entry->path().extension() == ".jsonl" && entry->is_regular_file() &&
          is_run_name(entry->path().stem().string()) && !RunFile::is_open(entry->path()))
        left.push_back(entry->path());
    if (left.empty()) return;
    std::sort(left.begin(), left.end());
    // Another process may be recovering them, or the repository is not ours to write.
    try {
      branch_.commit(left);
    } catch (const Error& reason) {
      if (say) say(str(reason.what(), "; ", branch_.spool().string(), " keeps runs"));
      return;
    }
    for (const fs::path& file : left) fs::remove(file, error);
    if (say)
      say(str("git:", branch_.name(), ": ", counted(left.size(), "run"),
              " of killed processes recovered: ", left.front().stem().string(),
              left.size() > 1 ? ", ..." : ""));
  }

  void list() const {
    blobs_.clear();
    const std::string tip = branch_.tip();
    if (tip.empty()) return;
    const std::string listing = branch_.git().ask({"ls-tree", "-r", "-l", "-z", tip, "--", "runs/"},
                                                  {.most_output = kMostListing});
    // "100644 blob HASH    SIZE\tPATH", each with a zero at its end.
    for (size_t at = 0; at < listing.size();) {
      const size_t end = std::min(listing.find('\0', at), listing.size());
      std::istringstream line(listing.substr(at, end - at));
      at = end + 1;
      std::string mode, type, path;
      Blob blob;
      line >> mode >> type >> blob.hash >> blob.bytes;
      if (!line || !mode.starts_with("100") || line.get() != '\t') continue;
      std::getline(line, path);
      const fs::path file = path;
      const std::string name = file.stem().string();
      if (file.parent_path() == "runs" && file.extension() == ".jsonl" && is_run_name(name))
        blobs_[name] = blob;
      if (blobs_.size() > kMostRuns) fail_input(place(), ": more than ", kMostRuns, " runs");
    }
  }

  void read_batch(std::span<const std::string> names, std::span<RunText> texts) const {
    std::string asked;
    for (size_t i = 0; i < names.size(); ++i)
      if (texts[i].problem.empty()) asked += blobs_.at(names[i]).hash + "\n";
    if (asked.empty()) return;
    const size_t most = static_cast<size_t>(kBatchBytes + kMostRunBytes) + 100 * names.size();
    const std::string all =
        branch_.git().run({"cat-file", "--batch"}, {.input = asked, .most_output = most}).output;
    // "HASH blob SIZE\n", the content, "\n"; or "HASH missing\n".
    size_t at = 0;
    for (RunText& text : texts) {
      if (!text.problem.empty()) continue;
      const size_t line = all.find('\n', at);
      const auto size =
          static_cast<size_t>(blobs_.at(names[static_cast<size_t>(&text - texts.data())]).bytes);
      if (line == std::string::npos || all.substr(at, line - at).ends_with(" missing") ||
          line + 1 + size >= all.size() + 1) {
        text.problem =
            file_of(names[static_cast<size_t>(&text - texts.data())]) + ": git cannot read it";
        at = line == std::string::npos ? all.size() : line + 1;
        continue;
      }
      text.text = all.substr(line + 1, size);
      at = line + 1 + size + 1;
    }
  }

  Branch branch_;
  mutable std::map<std::string, Blob> blobs_;
};

}  // namespace

std::unique_ptr<Store> open_git_store(const fs::path& repository, const std::string& branch,
                                      const std::function<void(const std::string&)>& say) {
  return std::make_unique<GitStore>(repository, branch, say);
}

}  // namespace tcc::tools
