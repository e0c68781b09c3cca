#include "scheduler/open_dims.h"

#include <algorithm>
#include <set>
#include <string>

#include "ir/size_range.h"
#include "ir/sizes.h"
#include "scheduler/fusion_groups.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// Why the node has no kernel; "": it has one.
std::string refusal_of(const ir::Node& node, const FusionGroups& groups) {
  try {
    const Match& match = groups.match({&node});
    if (!match) return match.reason();
    const Candidate& candidate = **match;
    // Ops' expressions are inlined here: some of them need numbers.
    if (!candidate.host_call()) (void)candidate.lower(candidate.default_config());
    return "";
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    return error.what();
  }
}

// The user's op that the node was made of; the node's own where its place does not tell.
std::string_view written_op(const ir::Node& node, const ir::Graph& written) {
  const std::string where = ir::to_string(node.location);
  if (!where.empty())
    for (const auto& one : written.nodes())
      if (ir::to_string(one->location) == where) return one->op_name();
  return node.op_name();
}

// The dims as the user calls them, in quotes.
std::vector<std::string> names_of(const std::set<std::string>& symbols,
                                  const ir::SizeRanges& dims) {
  std::vector<std::string> names;
  for (const std::string& symbol : symbols) {
    const auto dim = std::ranges::find_if(
        dims, [&](const auto& one) { return ir::symbol_name(one.first, one.second) == symbol; });
    names.push_back(str("'", dim == dims.end() ? symbol : dim->first, "'"));
  }
  return names;
}

}  // namespace

void check_open_dims(const ir::Graph& graph, const ir::Graph& written, const Target& target,
                     const RegionPrecision& precision, const ir::SizeRanges& dims) {
  const FusionGroups groups(graph, target, precision);
  std::set<std::string> taken;  // signatures: layers are alike
  for (const auto& node : graph.nodes()) {
    std::set<std::string> open;  // symbols
    for (const auto* values : {&node->inputs, &node->outputs})
      for (const ir::Value* value : *values)
        if (value) open.merge(ir::open_dims(value->shape()));
    if (open.empty() || groups.is_light(node.get())) continue;
    if (!taken.insert(signature(groups.region({node.get()}))).second) continue;
    const std::string reason = refusal_of(*node, groups);
    if (reason.empty()) continue;
    const std::string where = ir::to_string(node->location);
    const std::vector<std::string> names = names_of(open, dims);
    const bool is_one = names.size() == 1;
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    fail_input(where, where.empty() ? "" : ": ", written_op(*node, written),
               ": has no kernel with the open ", is_one ? "dim " : "dims ", list, " (", reason,
               "): give ", is_one ? list : "one of them", " a number, and compile for each size");
  }
}

}  // namespace tcc::sched
