#include "scheduler/quirk_rules.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

#include "ir/suggest.h"
#include "scheduler/template.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// The parameters of a template's spaces over all regions and targets, with the values that they
// list: "1,2,4" or, where these depend on the region or the target, "1..256". A test holds the
// table against spaces.
struct KnownParameters {
  std::string_view template_name;
  std::string_view parameters;
};
constexpr std::string_view kElementValues = "threads=1..1024 vector=1,2,4,8,16 vectors=1,2,4,8";
constexpr std::string_view kUnitValues =
    "rows=1,2,4,8,16,32,64 units=1,2,4,8,12,16,24,32 threads=32,64,128,256,512 matrix=0,1 "
    "shares=1,2,4,8,16,32 thread_columns=1,2,4,8 thread_rows=1,2,4,8 weights=0,1,2";
constexpr KnownParameters kKnownParameters[] = {
    {"attention",
     "block_q=4,8,16,32,64,128 block_k=8,16,32,64,128 block_d=8,16,32 thread_q=1,2,4,8 "
     "thread_k=1,2,4,8 split_keys=1,2,4,8,16,32,64"},
    {"attention_coopmat",
     "block_q=8,16,32,64,128,256 block_k=8,16,32,64,128 subgroups_q=1,2,4,8 subgroups_k=1,2,4,8 "
     "unit_m=1..256 unit_n=1..256 unit_k=1..256 keeps_queries=0,1 stages=1,2 "
     "split_keys=1,2,4,8,16,32,64"},
    {"attention_sm80",
     "block_q=16,32,64,128,256 block_k=16,32,48,64,96,128 warps_q=1,2,4,8 warps_k=1,2,4,8 "
     "stages=1,2,3,4 split_keys=1,2,4,8,16,32,64 cluster=1,2,4,8"},
    {"attention_sm90",
     "groups=1,2,3 block_k=16,32,64,80,96,112,128,160,176,192,208,224 stages=1,2,3,4 "
     "query_stages=1,2 split_keys=1,2,4,8,16,32,64 turns=0,1"},
    {"contraction",
     "block_m=8,16,32,64,128,256 block_n=8,16,32,64,128,256 block_k=8,16,32,64 thread_m=1,2,4,8 "
     "thread_n=1,2,4,8,16 slices=1,2,4,8 cluster=1,2,4,8"},
    {"depthwise",
     "vector=1,2,4,8 channels=1..256 strip=1,2,4,5,7,8,14,16 rows=1,2,4,5,7,8,14,16 "
     "strips=1,2,4,8 bands=1,2,4,8 staged=0,1 inputs=1,2,4,8,16"},
    {"depthwise_sm80",
     "block_channels=8,16,24,32,48,64 rows=2,4,6,8,10,14,16,20,28 columns=8,16,24,32,40,48,56,64 "
     "parts=1,2,3,4,8 warps=2,4,8"},
    {"external", ""},
    {"fma_sm90",
     "block_m=64,128,192,256 block_n=8,16,32,48,64,80,96,112,128 groups=1,2,3 split_k=1,2,4,8 "
     "band=1,2,4,8,16 swapped=0,1"},
    {"gemm_coopmat",
     "block_m=16,32,64,96,128,192,256 block_n=16,32,64,96,128,192,256 block_k=16,32,64,96,128 "
     "subgroups_m=1,2,4 subgroups_n=1,2,4 unit_m=1..256 unit_n=1..256 unit_k=1..256 stages=1,2 "
     "paired=0,1 direct=0,1,2 slices=1,2,4,8 band=1,4,8 swapped=0,1"},
    {"gemm_sm80",
     "block_m=16,32,64,128,256 block_n=16,32,64,128,256 line_bytes=64,128 warps_m=1,2,4 "
     "warps_n=1,2,4 stages=2,3,4,5 resident=1,2,3 split_k=1,2,3,4,5,6,8,10,13,16 band=1,8 "
     "swapped=0,1"},
    {"gemm_sm90",
     "block_m=64,128,192,256 block_n=8,16,32,64,96,128,160,192,224,256 groups=1,2,3 "
     "pingpong=0,1 cluster_m=1,2,4 cluster_n=1,2,4 split_k=1,2,4,8 band=1,2,4,8,16 swapped=0,1"},
    {"gemv",
     "rows=1..8 columns=1,2,4,8 lanes_n=1,2,4,8 warps_n=1,2,4 warps_k=1,2,4,8,16 k_unit=1,2,4,8 "
     "unroll=1,2,4 cluster=1,2,4,8"},
    {"pointwise", kElementValues},
    {"recurrent",
     "rows=1,2,4,8,16 threads=32,64,128,256,512 shares=1,2,4,8,16,32 thread_columns=1,2,4,8 "
     "thread_rows=1,2,4,8 weights=0,1,2"},
    {"recurrent_grid", kUnitValues},
    {"recurrent_steps", kUnitValues},
    {"reduction",
     "row_threads=1,2,4,8,16,32,64,128,256,512,1024 rows=1,2,4,8,16,32,64,128,256 vector=1,2,4,8 "
     "keep=0,1,2 cluster=1,2,4,8 kept_vectors=0,1,2,3,4,6,8,12,16,24,32,48,64"},
    {"scan",
     "row_threads=1,2,4,8,16,32,64,128,256,512,1024 rows=1,2,4,8,16,32,64,128,256 "
     "items=1,2,4,8,16"},
    {"side_by_side", kElementValues},
    {"sort", "threads=1..1024 items=1,2,3,4,5,7,8,9,11,13,15"},
    {"suppress", "threads=1..1024 items=1,2,4"},
    {"transpose", "tile=16,32,64,128 rows=2,4,8,16,32,64 vector=1,2,4,8"},
};

std::string_view cut_at(std::string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

int64_t int_in(std::string_view text) {
  int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool lists_value(std::string_view values, int64_t value) {
  if (const size_t dots = values.find(".."); dots != values.npos)
    return value >= int_in(values.substr(0, dots)) && value <= int_in(values.substr(dots + 2));
  while (!values.empty())
    if (int_in(cut_at(values, ',')) == value) return true;
  return false;
}

const KnownParameters* find_parameters(std::string_view name) {
  const auto* found = std::ranges::find(kKnownParameters, name, &KnownParameters::template_name);
  return found == std::end(kKnownParameters) ? nullptr : found;
}

// What is wrong with "block_m=64" of a template, or "".
std::string misspelled_value(const KnownParameters& of, std::string_view name, int64_t value) {
  std::vector<std::string> names;
  for (std::string_view rest = of.parameters; !rest.empty();) {
    std::string_view values = cut_at(rest, ' ');
    const std::string_view known = cut_at(values, '=');
    names.emplace_back(known);
    if (known != name) continue;
    if (lists_value(values, value)) return "";
    return str(of.template_name, " has no config with ", name, "=", value, "; ", name,
               " is one of ", values);
  }
  if (names.empty()) return str(of.template_name, " has no parameters");
  return str(of.template_name, " has no parameter '", name, "'", ir::or_known(name, names));
}

// What is wrong with the pattern of units, or "".
std::string misspelled_unit(std::string_view pattern) {
  const std::string_view kind = cut_at(pattern, ' ');
  if (kind.find_first_of("*?") != kind.npos) return "";
  std::vector<std::string> kinds;
  for (const Template* t : templates()) {
    if (t->unit().empty()) continue;
    if (t->unit() == kind) return "";
    if (!std::ranges::count(kinds, t->unit())) kinds.emplace_back(t->unit());
  }
  return str("no kernel template uses units '", kind, "'", ir::or_known(kind, kinds));
}

// The same of an API's pattern. Back ends may have names of their own.
std::string misspelled_api(const std::string& pattern) {
  const std::vector<std::string> known = {"cuda", "vulkan"};
  if (std::ranges::count(known, pattern) || pattern.find_first_of("*?") != pattern.npos) return "";
  const std::string near = ir::did_you_mean(pattern, known);
  return near.empty() ? "" : str("no API '", pattern, "'", near);
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
  if (!find_template(name)) return no_template(name);
  const KnownParameters* of = find_parameters(name);
  if (!of || quirk.off != exec::Part::config) return "";
  for (const auto& [parameter, value] : quirk.values())
    if (std::string problem = misspelled_value(*of, parameter, value); !problem.empty())
      return problem;
  return "";
}

bool has_known_parameters(std::string_view template_name) {
  return find_parameters(template_name) != nullptr;
}

}  // namespace tcc::sched
