#include "scheduler/quirk_rules.h"

#include <algorithm>
#include <span>
#include <vector>

#include "ir/suggest.h"
#include "scheduler/template.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// "2,3,4".
std::string list_of(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += str(text.empty() ? "" : ",", value);
  return text;
}

// Returns the reason why no config of a template with these parameters has "block_m=64", or "".
std::string misspelled_value(std::string_view of, std::span<const Parameter> parameters,
                             std::string_view name, int64_t value) {
  const auto found = std::ranges::find(parameters, name, &Parameter::name);
  if (found == parameters.end()) {
    std::vector<std::string> names;
    for (const Parameter& one : parameters) names.push_back(one.name);
    return str(of, " has no parameter '", name, "'", ir::or_known(name, names));
  }
  if (found->values.empty() || std::ranges::count(found->values, value)) return "";
  return str(of, " has no config with ", name, "=", value, "; ", name, " is one of ",
             list_of(found->values));
}

// Returns what is wrong with the pattern of units, or "".
std::string misspelled_unit(std::string_view pattern) {
  const std::string_view kind = exec::cut(pattern, " ");
  if (kind.find_first_of("*?") != kind.npos) return "";
  std::vector<std::string> kinds;
  for (const Template* t : templates()) {
    if (t->unit().empty()) continue;
    if (t->unit() == kind) return "";
    if (!std::ranges::count(kinds, t->unit())) kinds.emplace_back(t->unit());
  }
  return str("no kernel template uses units '", kind, "'", ir::or_known(kind, kinds));
}

// The same of an API's pattern. Back ends have registered names of their own.
std::string misspelled_api(const std::string& pattern) {
  const std::vector<std::string> known = exec::api_names();
  if (std::ranges::count(known, pattern) || pattern.find_first_of("*?") != pattern.npos) return "";
  return str("no API '", pattern, "'", ir::or_known(pattern, known));
}

const exec::RegisterQuirkRule rule_of_names(misspelled);

}  // namespace

std::string no_template(std::string_view name) {
  std::vector<std::string> known;
  for (const Template* t : templates()) known.emplace_back(t->name());
  return str("no kernel template '", name, "'", ir::or_known(name, known));
}

std::string misspelled(const exec::Quirk& quirk) {
  if (std::string problem = misspelled_api(quirk.api); !problem.empty()) return problem;
  if (quirk.off == exec::Part::unit) return misspelled_unit(quirk.what);
  const std::string_view name = quirk.template_name();
  if (name.empty()) return "";
  const Template* of = find_template(name);
  if (!of) return no_template(name);
  const std::vector<Parameter> parameters = of->parameters();
  if (parameters.empty()) return "";
  for (const auto& [parameter, value] : quirk.values())
    if (std::string problem = misspelled_value(name, parameters, parameter, value);
        !problem.empty())
      return problem;
  return "";
}

}  // namespace tcc::sched
