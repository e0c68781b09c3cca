#include "frontend/onnx/node_order.h"

#include <algorithm>
#include <queue>
#include <set>
#include <string_view>
#include <unordered_map>

#include "support/error.h"

namespace tcc::onnx {
namespace {

using Producers = std::unordered_map<std::string_view, int>;

Producers producers_of(const Nodes& nodes, const IsDefined& is_defined) {
  Producers producers;
  for (int k = 0; k < nodes.size(); ++k)
    for (const std::string& output : nodes[k].output())
      if (!output.empty() && !is_defined(output)) producers.emplace(output, k);
  return producers;
}

struct Names {
  std::set<std::string_view> read, defined;  // `defined` by subgraphs, for themselves
};

void add_names(const ::onnx::GraphProto& graph, Names& names);

void add_names(const ::onnx::NodeProto& node, Names& names) {
  names.read.insert(node.input().begin(), node.input().end());
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) add_names(attribute.g(), names);
    for (const auto& graph : attribute.graphs()) add_names(graph, names);
  }
}

void add_names(const ::onnx::GraphProto& graph, Names& names) {
  for (const auto& input : graph.input()) names.defined.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.defined.insert(tensor.name());
  for (const auto& output : graph.output()) names.read.insert(output.name());
  for (const auto& node : graph.node()) {
    names.defined.insert(node.output().begin(), node.output().end());
    add_names(node, names);
  }
}

// The nodes that a node waits for.
std::set<int> sources_of(const ::onnx::NodeProto& node, const Producers& producers) {
  Names names;
  add_names(node, names);
  std::set<int> sources;
  for (const std::string_view name : names.read)
    if (const auto found = producers.find(name);
        found != producers.end() && !names.defined.contains(name))
      sources.insert(found->second);
  return sources;
}

}  // namespace

std::vector<int> node_order(const Nodes& nodes, const IsDefined& is_defined) {
  const Producers producers = producers_of(nodes, is_defined);
  const auto count = static_cast<size_t>(nodes.size());
  std::vector<std::vector<int>> users(count);
  std::vector<size_t> missing(count);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int k = 0; k < nodes.size(); ++k) {
    const std::set<int> sources = sources_of(nodes[k], producers);
    missing[static_cast<size_t>(k)] = sources.size();
    for (const int source : sources) users[static_cast<size_t>(source)].push_back(k);
    if (sources.empty()) ready.push(k);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const int user : users[static_cast<size_t>(next)])
      if (--missing[static_cast<size_t>(user)] == 0) ready.push(user);
  }
  return order;
}

int node_in_cycle(const Nodes& nodes, const std::vector<int>& order, const IsDefined& is_defined) {
  const std::set<int> done(order.begin(), order.end());
  const Producers producers = producers_of(nodes, is_defined);
  int at = 0;
  while (done.contains(at)) ++at;
  // Every remaining node waits for a remaining one: going back ends in a cycle.
  std::set<int> seen;
  while (seen.insert(at).second) {
    const std::set<int> sources = sources_of(nodes[at], producers);
    const auto next =
        std::ranges::find_if(sources, [&](int source) { return !done.contains(source); });
    TCC_CHECK(next != sources.end(), "node ", at, " waits for nothing");
    at = *next;
  }
  return at;
}

}  // namespace tcc::onnx
