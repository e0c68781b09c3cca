#include "tools/track/bisect.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "backends/compile/process.h"
#include "support/error.h"
#include "support/plural.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/track/comparing.h"
#include "tools/track/explain.h"
#include "tools/track/git.h"
#include "tools/track/report_text.h"
#include "tools/track/told.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

struct BisectCommandOptions {
  std::string good, bad, build, library = "build", repository = ".";
  double build_minutes = 120;
  CompareChoices choices;
};

// A work tree of the repository in a temporary folder, removed at the end.
class WorkTree {
 public:
  explicit WorkTree(const Git& git) : git_(git), folder_(folder_of_all_.path() / "tree") {
    git_.ask({"worktree", "add", "--detach", folder_.string(), "HEAD"});
  }
  ~WorkTree() {
    try {
      git_.run({"worktree", "remove", "--force", folder_.string()});
    } catch (const std::exception&) {}  // the folder goes anyway; `git worktree prune` tidies up
  }
  WorkTree(const WorkTree&) = delete;
  WorkTree& operator=(const WorkTree&) = delete;

  const fs::path& folder() const { return folder_; }
  // For libraries that are kept.
  fs::path beside(const std::string& name) const { return folder_of_all_.path() / name; }

 private:
  const Git& git_;
  backends::TemporaryFolder folder_of_all_;
  fs::path folder_;
};

class Bisection {
 public:
  explicit Bisection(const BisectCommandOptions& options)
      : options_(options),
        git_(options.repository),
        cases_(cases_of(options.choices)),
        tree_(git_) {}

  int run() {
    const OnInterrupt on_interrupt;
    list_commits();
    const std::optional<fs::path> good = built(good_), bad = built(commits_.back());
    if (!good || !bad) fail_device("the ", good ? "bad" : "good", " commit does not build");
    if (!find_case(*good, *bad)) return 1;
    const Narrowed narrowed =
        narrow(commits_.size(), [&](size_t number) { return is_bad(*good, number); });
    if (OnInterrupt::came()) {
      std::cout << "interrupted\n";
      return 1;
    }
    tell(narrowed, *good);
    return 0;
  }

 private:
  std::string described(const std::string& commit) const {
    return printable(
        git_.ask({"log", "-1", "--no-show-signature", "--format=%h %cs %an: %s", commit}));
  }

  // Lists the commits on the first parents' line from good to bad, the oldest first.
  void list_commits() {
    const auto commit = [&](const std::string& text) {
      return git_.ask({"rev-parse", "--verify", "--end-of-options", text + "^{commit}"});
    };
    good_ = commit(options_.good);
    const std::string bad = commit(options_.bad);
    if (git_.run({"merge-base", "--is-ancestor", good_, bad}).code != 0)
      fail_input(options_.good, " is no ancestor of ", options_.bad);
    const std::string list =
        git_.ask({"rev-list", "--first-parent", "--reverse", good_ + ".." + bad});
    for (size_t at = 0; at < list.size();) {
      const size_t end = std::min(list.find('\n', at), list.size());
      commits_.push_back(list.substr(at, end - at));
      at = end + 1;
    }
    if (commits_.empty())
      fail_input("there is no commit between ", options_.good, " and ", options_.bad);
    std::cout << counted(commits_.size(), "commit") << " from " << described(good_) << "\n";
  }

  // A copy of the commit's library with its configs. Nothing where it does not build.
  std::optional<fs::path> built(const std::string& commit) {
    git_.ask({"-C", tree_.folder().string(), "checkout", "--quiet", "--force", "--detach", commit});
    Told told;
    told.tell("building " + described(commit));
    const auto result = backends::run_process(
        {"/bin/sh", "-c", options_.build},
        {.timeout = std::chrono::milliseconds(static_cast<int64_t>(options_.build_minutes * 6e4)),
         .folder = tree_.folder(),
         .cancelled = [] { return OnInterrupt::came(); }});
    told.end();
    if (result.exit_code != 0) {
      std::cout << "does not build: " << described(commit) << "\n";
      std::cerr << result.output.substr(result.output.size() -
                                        std::min<size_t>(result.output.size(), 2000));
      return std::nullopt;
    }
    const fs::path copy = tree_.beside(commit);
    copy_installation(tree_.folder() / options_.library, copy);
    return copy;
  }

  // The case that became slower by most; those that were asked for by --filter.
  bool find_case(const fs::path& good, const fs::path& bad) {
    Comparing comparing(options_.choices, cases_, good.string(), bad.string());
    comparing.run();
    const track::CaseResult* most = nullptr;
    for (const track::CaseResult& result : comparing.times())
      if (result.verdict == track::CaseResult::Verdict::slower &&
          (!most || result.effect.ratio > most->effect.ratio))
        most = &result;
    if (!most) {
      std::cout << compare_table(comparing.report()) << "no case is slower in " << options_.bad
                << " than in " << options_.good << "\n";
      return false;
    }
    std::cout << printable(most->name) << ": " << change_text(most->effect.ratio) << " ("
              << interval_text(most->effect) << ")\n";
    std::erase_if(cases_.graphs, [&](const TrackCase& one) { return one.name != most->name; });
    // Half of the way from good to bad is the line between them: changes up to half of the smallest
    // are ignored.
    step_ = options_.choices;
    step_.judged = {"time"};
    step_.smallest_percent = 100 * (most->effect.ratio - 1);
    const double steps = std::ceil(std::log2(static_cast<double>(commits_.size()) + 1));
    step_.false_alarms_percent /= std::max(1.0, steps);
    return true;
  }

  std::optional<bool> is_bad(const fs::path& good, size_t number) {
    if (OnInterrupt::came()) return std::nullopt;
    const std::optional<fs::path> library = built(commits_[number]);
    if (!library) return std::nullopt;
    std::optional<Comparing> comparing;
    try {
      comparing.emplace(step_, cases_, good.string(), library->string());
    } catch (const Error& error) {
      std::cout << "not judged  " << printable(error.what()) << "  " << described(commits_[number])
                << std::endl;
      return std::nullopt;
    }
    comparing->run();
    const track::CaseResult& result = comparing->times()[0];
    const bool known = result.verdict == track::CaseResult::Verdict::slower ||
                       result.verdict == track::CaseResult::Verdict::same ||
                       result.verdict == track::CaseResult::Verdict::faster;
    const bool slower = result.verdict == track::CaseResult::Verdict::slower;
    std::cout << (!known   ? "not judged"
                  : slower ? "bad       "
                           : "good      ")
              << "  "
              << (result.effect.blocks > 0 ? change_text(result.effect.ratio) : result.reason)
              << "  " << described(commits_[number]) << std::endl;
    if (!known) return std::nullopt;
    return slower;
  }

  void tell(const Narrowed& narrowed, const fs::path& good) {
    if (narrowed.first == narrowed.last) {
      std::cout << "the first that is slower: " << described(commits_[narrowed.first]) << "\n";
    } else {
      std::cout << "the first that is slower is one of these, which could not all be judged:\n";
      for (size_t i = narrowed.first; i <= narrowed.last; ++i)
        std::cout << "  " << described(commits_[i]) << "\n";
    }
    const fs::path before = narrowed.first == 0 ? good : tree_.beside(commits_[narrowed.first - 1]);
    const fs::path after = tree_.beside(commits_[narrowed.last]);
    if (!fs::exists(before) || !fs::exists(after)) return;
    Duels duels(cases_.graphs,
                {.base = before.string(),
                 .head = after.string(),
                 .compile = {options_.choices.device, options_.choices.tuning, ""}},
                options_.choices.limit);
    duels.time_kernels(0);
    std::cout << kernel_table(kernels_of(duels.cases()[0].base), kernels_of(duels.cases()[0].head));
  }

  const BisectCommandOptions& options_;
  Git git_;
  ComparedCases cases_;
  WorkTree tree_;
  std::string good_;
  std::vector<std::string> commits_;
  CompareChoices step_;
};

}  // namespace

Narrowed narrow(size_t count, const std::function<std::optional<bool>(size_t)>& is_bad) {
  size_t good = 0, bad = count - 1;  // numbers below `good` are good, `bad` is bad
  std::vector<bool> passed_over(count);
  while (good < bad) {
    // The nearest one to the middle that was not passed over.
    const size_t middle = good + (bad - good) / 2;
    std::optional<size_t> next;
    for (size_t away = 0; away <= bad - good && !next; ++away)
      for (const size_t at : {middle - std::min(away, middle), middle + away})
        if (!next && at >= good && at < bad && !passed_over[at]) next = at;
    if (!next) break;
    const std::optional<bool> verdict = is_bad(*next);
    if (!verdict)
      passed_over[*next] = true;
    else if (*verdict)
      bad = *next;
    else
      good = *next + 1;
  }
  return {good, bad};
}

Command add_bisect(CLI::App& program) {
  auto options = std::make_shared<BisectCommandOptions>();
  CLI::App* app = program.add_subcommand(
      "bisect", "Which commit between two made a case slower, by building and comparing.");
  app->add_option("GOOD", options->good, "a commit that is fast")->required();
  app->add_option("BAD", options->bad, "a later one that is slow")->required();
  app->add_option("--build", options->build,
                  "builds a commit, by /bin/sh in a work tree that is kept from commit to commit")
      ->required();
  app->add_option("--library", options->library,
                  "what it builds: a library, a build folder or an installation, in the work tree")
      ->capture_default_str();
  app->add_option("--repository", options->repository, "whose commits they are")
      ->capture_default_str();
  app->add_option("--build-minutes", options->build_minutes, "a build may take")
      ->check(number_in(0.1, 10000.0))
      ->capture_default_str();
  add_compare_choices(*app, options->choices);
  return {app, [options] { return Bisection(*options).run(); }};
}

}  // namespace tcc::tools
