#include "scheduler/template.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "ir/append.h"
#include "scheduler/quirk_rules.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// The list is made before the first registration, whichever file that is in.
std::vector<const Template*>& registered_templates() {
  static std::vector<const Template*> all;
  return all;
}

bool comes_before(const Template* a, const Template* b) {
  return a->specificity() != b->specificity() ? a->specificity() > b->specificity()
                                              : a->name() < b->name();
}

}  // namespace

void register_template(const Template& kernel_template) {
  TCC_CHECK(!find_template(kernel_template.name()), "two templates '", kernel_template.name(), "'");
  auto& all = registered_templates();
  all.insert(std::upper_bound(all.begin(), all.end(), &kernel_template, comes_before),
             &kernel_template);
}

std::span<const Template* const> templates() { return registered_templates(); }

const Template* find_template(std::string_view name) {
  for (const Template* t : templates())
    if (t->name() == name) return t;
  return nullptr;
}

namespace {

// Whether sizes of the node's values come at run time. It is asked for every region that is tried.
bool is_open(const ir::Node* node) {
  const auto has_symbols = [](const ir::Value* value) {
    return value && !std::ranges::all_of(value->shape(), &SymInt::is_const);
  };
  return std::ranges::any_of(node->inputs, has_symbols) ||
         std::ranges::any_of(node->outputs, has_symbols);
}

// Calls `use` with the names in $TCC_TEMPLATES, which commas separate, until it returns true.
template <class Use>
bool any_asked_for(Use use) {
  const char* text = std::getenv("TCC_TEMPLATES");
  for (std::string_view rest = text ? text : ""; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    if (use(rest.substr(0, end))) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

bool is_asked_for(std::string_view name) {
  return any_asked_for([&](std::string_view asked) { return asked == name; });
}

}  // namespace

std::string unknown_template() {
  std::string message;
  any_asked_for([&](std::string_view asked) {
    const std::string_view name = asked.starts_with('-') ? asked.substr(1) : asked;
    if (asked.empty() || find_template(name)) return false;
    message = "TCC_TEMPLATES: " + no_template(name);
    return true;
  });
  return message;
}

bool is_asked(const Template& one, const Region& region, const Target& target) {
  if (one.is_on_trial() && !is_asked_for(one.name())) return false;
  if (is_asked_for(str("-", one.name()))) return false;
  if (!one.takes_composites() && std::ranges::any_of(region.nodes, [](const ir::Node* node) {
        return node->op->kind == ir::OpKind::composite;
      }))
    return false;
  if (!one.takes_open_dims() && std::ranges::any_of(region.nodes, is_open)) return false;
  return target.max_workgroup_size >= one.least_workgroup();
}

bool is_faster(const Candidate& a, const Candidate& b) {
  return a.default_seconds() < b.default_seconds();
}

std::string why_off(const Candidate& candidate) {
  const Target& target = candidate.target();
  if (target.switched_off.empty()) return "";
  const std::string reason = target.why_off(candidate.kernel_template().name());
  return reason.empty() ? candidate.space().violation(candidate.default_config()) : reason;
}

// Returns why a region that appends to a state is none: all that it stores of the result are the
// rows, and nothing in it reads them.
static std::string against_appending(const Region& region) {
  for (const ir::Node* node : region.nodes) {
    if (!ir::appends(*node)) continue;
    const bool is_read = std::ranges::any_of(region.nodes, [&](const ir::Node* other) {
      return std::ranges::count(other->inputs, node->outputs[0]) > 0;
    });
    if (region.anchor || is_read || std::ranges::count(region.outputs, node->outputs[0]) == 0)
      return str(node->op_name(), " is the end of what an element-wise region computes");
  }
  return "";
}

namespace {

// The candidates of the templates that take a region, and why there is none.
struct Takers {
  std::vector<CandidatePtr> candidates;  // between which the estimates decide
  Refusal refusal;
};

Takers find_takers(const Region& region, const Target& target) {
  const auto composite = std::ranges::find_if(
      region.nodes, [](const ir::Node* node) { return node->op->kind == ir::OpKind::composite; });
  const bool has_composite = composite != region.nodes.end();
  const bool has_open_dims = std::ranges::any_of(region.nodes, is_open);
  Refusal refusal{has_composite
                      ? str("no kernel template takes ", (*composite)->op_name(), " whole")
                  : has_open_dims ? "its kernels need sizes as numbers"
                                  : "no kernel template is for such a region",
                  true};
  std::vector<CandidatePtr> candidates;
  std::optional<int> level;    // of the templates that are not compared with all others
  std::optional<Refusal> off;  // of a template that would have taken the region
  for (const Template* t : templates()) {
    const bool is_compared = t->is_compared(region);
    if (level && t->specificity() < *level && !is_compared) continue;
    if (t->is_on_trial() && !is_asked_for(t->name())) continue;
    if (is_asked_for(str("-", t->name()))) continue;
    if (has_composite && !t->takes_composites()) continue;
    if (has_open_dims && !t->takes_open_dims()) continue;
    if (target.max_workgroup_size < t->least_workgroup()) {
      if (refusal.other_kind)
        refusal = {str("a workgroup of ", target.id(), " has at most ", target.max_workgroup_size,
                       " threads, too few for the templates"),
                   true, true};
      continue;
    }
    Match match = t->match(region, target);
    if (match) {
      if (const std::string reason = why_off(**match); !reason.empty()) {
        off = Refusal{str(t->name(), ": ", reason, "; remove its line, or set TCC_QUIRKS=none"),
                      false, true};
        off->by = t->name();
        continue;
      }
      if (!is_compared) level = t->specificity();
      candidates.push_back(*std::move(match));
    } else if (!match.refusal().other_kind) {
      refusal = match.refusal();
      refusal.by = t->name();
    }
  }
  return {std::move(candidates), off.value_or(refusal)};
}

}  // namespace

std::vector<CandidatePtr> compared_candidates(const Region& region, const Target& target) {
  return find_takers(region, target).candidates;
}

Match match_region(const Region& region, const Target& target) {
  if (const std::string reason = against_appending(region); !reason.empty()) return Refusal{reason};
  // A call of the host is taken by itself: nothing can inline it.
  for (const ir::Node* node : region.nodes)
    if (node->op->kind == ir::OpKind::external && region.nodes.size() > 1)
      return Refusal{str(node->op_name(), " is a region of its own")};
  const Takers takers = find_takers(region, target);
  if (takers.candidates.empty()) return takers.refusal;
  CandidatePtr best = takers.candidates.front();
  for (const CandidatePtr& other : takers.candidates)
    if (other != best && is_faster(*other, *best)) best = other;
  return best;
}

}  // namespace tcc::sched
