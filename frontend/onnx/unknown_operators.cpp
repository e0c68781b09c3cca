#include "frontend/onnx/unknown_operators.h"

#include <algorithm>
#include <set>

#include "frontend/onnx/rules.h"
#include "frontend/tensor_file.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

class Search {
 public:
  explicit Search(const FindFunction& function) : function_(function) {}
  std::vector<UnknownOperator> found;

  template <class Nodes>
  void nodes(const Nodes& list) {
    for (int k = 0; k < list.size(); ++k) node(list[k], k);
  }

 private:
  void node(const pb::NodeProto& node, int number) {
    const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    if (const pb::FunctionProto* function = function_(domain, node.op_type())) {
      if (called_.insert(function).second) nodes(function->node());
    } else if (!find_rule(domain, node.op_type())) {
      add(domain, node, number);
    }
    for (const pb::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) nodes(attribute.g().node());
      for (const pb::GraphProto& graph : attribute.graphs()) nodes(graph.node());
    }
  }

  void add(const std::string& domain, const pb::NodeProto& node, int number) {
    const auto same = [&](const UnknownOperator& o) {
      return o.domain == domain && o.op == node.op_type();
    };
    auto at = std::ranges::find_if(found, same);
    if (at == found.end()) {
      const bool named = !node.name().empty();
      at = found.insert(
          at, {domain, node.op_type(), 0, named ? quoted_name(node.name()) : str("node ", number)});
    }
    ++at->nodes;
  }

  const FindFunction& function_;
  std::set<const pb::FunctionProto*> called_;
};

}  // namespace

std::vector<UnknownOperator> unknown_operators(const pb::GraphProto& graph,
                                               const FindFunction& function) {
  Search search(function);
  search.nodes(graph.node());
  return search.found;
}

std::string to_string(const std::vector<UnknownOperator>& operators) {
  constexpr size_t kMaxNamed = 20;
  std::string text = str(operators.size(), " operators are not supported: ");
  for (size_t k = 0; k < std::min(operators.size(), kMaxNamed); ++k) {
    const UnknownOperator& o = operators[k];
    text += str(k ? ", " : "", quoted_name(o.op),
                o.domain.empty() ? "" : str(" of domain ", quoted_name(o.domain)), " (", o.nodes,
                o.nodes == 1 ? " node, " : " nodes, the first of them ", o.first,
                suggest_operator(o.op), ")");
  }
  if (operators.size() > kMaxNamed) text += str(" and ", operators.size() - kMaxNamed, " more");
  return text;
}

}  // namespace tcc::onnx
