#include "autotune/search.h"

#include "autotune/search_base.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

struct Kind {
  SearchKind kind;
  std::string_view name;
};
constexpr Kind kKinds[] = {{SearchKind::automatic, "auto"},
                           {SearchKind::exhaustive, "exhaustive"},
                           {SearchKind::random, "random"},
                           {SearchKind::staged, "staged"},
                           {SearchKind::evolutionary, "evolutionary"}};

// The space's size as far as it matters: more than `limit` is limit + 1.
size_t size_up_to(const sched::ConfigSpace& space, size_t limit) {
  size_t count = 0;
  space.enumerate([&](const sched::Config&) { return ++count <= limit; });
  return count;
}

}  // namespace

std::optional<SearchKind> search_kind(std::string_view name) {
  for (const Kind& kind : kKinds)
    if (kind.name == name) return kind.kind;
  return std::nullopt;
}

std::string_view name(SearchKind wanted) {
  for (const Kind& kind : kKinds)
    if (kind.kind == wanted) return kind.name;
  throw InternalError("a search without a name");
}

std::unique_ptr<Searcher> make_searcher(SearchKind kind, const SearchProblem& problem) {
  switch (kind) {
    case SearchKind::exhaustive: return exhaustive_search(problem);
    case SearchKind::random: return random_search(problem);
    case SearchKind::staged: return staged_search(problem);
    case SearchKind::evolutionary: return evolutionary_search(problem);
    case SearchKind::automatic: break;
  }
  // A known config needs no trial.
  const size_t most = problem.trials + problem.known.size();
  return size_up_to(*problem.space, most) <= most ? exhaustive_search(problem)
                                                  : staged_search(problem);
}

}  // namespace tcc::autotune
