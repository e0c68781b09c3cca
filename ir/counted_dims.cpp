#include "ir/counted_dims.h"

#include <algorithm>
#include <map>

#include "ir/op.h"
#include "ir/sizes.h"
#include "support/error.h"

namespace tcc::ir {

std::optional<CountedDim> counted_dim(const Node& node) {
  if (!node.op->most_counted) return std::nullopt;
  const AtomPtr atom = node.attr<std::vector<SymInt>>("size")[0].as_atom();
  if (!atom) return std::nullopt;
  return CountedDim{&node, atom->name, node.op->most_counted(node)};
}

namespace {

// Inputs and states have their sizes before the run begins.
void refuse_given(const Graph& graph, const CountedDim& dim) {
  for (const auto* values : {&graph.inputs, &graph.states})
    for (const Value* value : *values)
      if (open_dims(value->shape()).contains(dim.name))
        fail_input(to_string(dim.node->location), ": ", dim.node->op_name(), ": dim '", dim.name,
                   "' is one of ", value->kind == Value::Kind::state ? "state" : "input", " '",
                   value->name, "': what a run counts needs a dim of its own");
}

}  // namespace

std::vector<CountedDim> counted_dims(const Graph& graph) {
  std::vector<CountedDim> dims;
  for (const auto& node : graph.nodes())
    if (std::optional<CountedDim> dim = counted_dim(*node)) {
      const auto same = std::ranges::find(dims, dim->name, &CountedDim::name);
      if (same != dims.end())
        fail_input(to_string(node->location), ": ", node->op_name(), ": dim '", dim->name,
                   "' is counted by ", same->node->op_name(), " '", same->node->outputs[0]->name,
                   "', too: each count needs a dim of its own");
      refuse_given(graph, *dim);
      dims.push_back(std::move(*dim));
    }
  return dims;
}

std::set<std::string> open_dims_of(const Node& node) {
  std::set<std::string> dims;
  for (const Value* output : node.outputs) dims.merge(open_dims(output->shape()));
  for (const auto& [name, attr] : node.attrs)
    if (const auto* sizes = std::get_if<std::vector<SymInt>>(&attr)) dims.merge(open_dims(*sizes));
  return dims;
}

void check_counting(const Graph& graph) {
  std::map<std::string, const Node*, std::less<>> later;  // that count, by dim
  for (const auto& node : graph.nodes()) {
    if (!node->op->most_counted) continue;
    const std::optional<CountedDim> dim = counted_dim(*node);
    if (!dim)
      fail_input(to_string(node->location), ": ", node->op_name(),
                 ": size is a number; it must be the name of a dim, which gets its size from each "
                 "run");
    later.emplace(dim->name, node.get());
  }
  if (later.empty()) return;
  for (const auto& node : graph.nodes()) {
    if (const std::optional<CountedDim> dim = counted_dim(*node)) later.erase(dim->name);
    for (const std::string& name : open_dims_of(*node))
      if (const auto counts = later.find(name); counts != later.end())
        fail_input(to_string(node->location), ": ", node->op_name(), ": dim '", name,
                   "' is known only behind ", counts->second->op_name(), " '",
                   counts->second->outputs[0]->name,
                   "', which counts it: move this node behind it");
  }
}

SymInt counted_size(const InferContext& context) {
  const auto& size = context.node.attr<std::vector<SymInt>>("size");
  const bool is_one = size.size() == 1;
  const AtomPtr atom = is_one ? size[0].as_atom() : nullptr;
  context.require(is_one && (size[0].is_const() || (atom && atom->kind == Atom::Kind::symbol)),
                  "size must be the name of a dim, which gets its size from each run");
  context.require(!size[0].is_const() || size[0].value() >= 0, "size must not be negative");
  return size[0];
}

SizeRanges counted_ranges(const Graph& graph, const Numbers& numbers, const SizeRanges& open) {
  SizeRanges ranges = open;
  SizeRanges counted;
  const auto size_of = [&](const AtomPtr& atom) -> std::optional<SymInt> {
    if (atom->kind != Atom::Kind::symbol) return std::nullopt;
    if (const auto range = ranges.find(atom->name); range != ranges.end())
      return open_size(atom->name, range->second, range->second.least);
    if (const auto number = numbers.find(atom->name); number != numbers.end())
      return SymInt(number->second);
    const auto usual = graph.dims.find(atom->name);
    return usual == graph.dims.end() ? std::nullopt : std::optional<SymInt>(usual->second);
  };
  for (const CountedDim& dim : counted_dims(graph)) {
    if (numbers.contains(dim.name) || open.contains(dim.name)) continue;
    const int64_t most = dim.most.substitute(size_of).range().hi;
    const SizeRange range{0, std::clamp<int64_t>(most, 0, kMostSize), 1};
    ranges.insert_or_assign(dim.name, range);
    counted.emplace(dim.name, range);
  }
  return counted;
}

void refuse_counted(const Graph& graph, const std::string& name, const std::string& said) {
  for (const CountedDim& dim : counted_dims(graph))
    if (dim.name == name)
      fail_input(said.empty() ? str("dim ", name) : said, ": ", dim.node->op_name(), " '",
                 dim.node->outputs[0]->name, "' counts it in each run: it takes no size before");
}

}  // namespace tcc::ir
