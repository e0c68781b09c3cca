#include "ir/passes/decompose.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/builder.h"
#include "ir/op.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

using OwnedNodes = std::vector<std::unique_ptr<Node>>;

using Root = std::function<std::string(const Node&)>;
using Keep = std::function<bool(const Node&, const std::string& path)>;

class Decomposer {
 public:
  Decomposer(Graph& graph, const Root& root, const Keep& keep)
      : graph_(graph), root_(root), keep_(keep) {}

  void run() {
    push(std::exchange(graph_.nodes(), {}), 0, "");
    while (!pending_.empty()) {
      Pending next = std::move(pending_.back());
      pending_.pop_back();
      for (Value*& input : next.node->inputs) input = current(input);
      if (!next.node->op->compose) {
        done_.push_back(std::move(next.node));
        continue;
      }
      if (next.nesting == 0) next.path = root_(*next.node);
      if (keep_(*next.node, next.path))
        done_.push_back(std::move(next.node));
      else
        expand(std::move(next));
    }
    for (Value*& output : graph_.outputs) output = current(output);
    graph_.nodes() = std::move(done_);
    graph_.remove_dead();
  }

 private:
  struct Pending {
    std::unique_ptr<Node> node;
    int nesting;
    std::string path;  // of the graph's own nodes it is asked for when they are taken
  };

  // The first of `nodes` is taken first.
  void push(OwnedNodes&& nodes, int nesting, const std::string& path) {
    for (size_t k = nodes.size(); k-- > 0;)
      pending_.push_back({std::move(nodes[k]), nesting, nesting == 0 ? "" : str(path, "/", k)});
  }

  // Returns the value that replaces `value` now: a composition's result may itself have been a
  // composite's.
  Value* current(Value* value) const {
    for (auto found = replaced_.find(value); found != replaced_.end();
         found = replaced_.find(value))
      value = found->second;
    return value;
  }

  // A composition's result with the type that users of the composite were told. Symbolic dims that
  // are equal once they are bound may be written in another way.
  static Value* typed(Builder& builder, Value* value, const Type& type) {
    if (value->type == type) return value;
    const bool may_be_equal =
        value->dtype() == type.dtype && value->shape().size() == type.shape.size() &&
        std::ranges::equal(value->shape(), type.shape, [](const SymInt& a, const SymInt& b) {
          return !a.is_const() || !b.is_const() || a == b;
        });
    TCC_CHECK(may_be_equal, "composed ", to_string(value->type), " for ", to_string(type));
    return builder.reshape(value, type.shape);
  }

  void expand(Pending&& composite) {
    auto [node, nesting, path] = std::move(composite);
    TCC_CHECK(nesting < kMaxCompositions, node->op_name(), " is composed of itself");
    Builder builder(graph_);
    builder.set_location(node->location);
    std::vector<Value*> results = node->op->compose(builder, *node);
    if (results.empty()) {
      TCC_CHECK(graph_.nodes().empty(), node->op_name(), " composes nothing of new nodes");
      done_.push_back(std::move(node));
      return;
    }
    TCC_CHECK(results.size() == node->outputs.size(), node->op_name(), " composes ", results.size(),
              " results of ", node->outputs.size());
    for (size_t k = 0; k < results.size(); ++k)
      results[k] = typed(builder, results[k], node->outputs[k]->type);
    OwnedNodes made = std::exchange(graph_.nodes(), {});
    std::unordered_set<const Node*> is_made;
    for (const auto& each : made) is_made.insert(each.get());
    for (size_t k = 0; k < results.size(); ++k) {
      Value* old = node->outputs[k];
      replaced_[old] = results[k];
      // Once only: a composition may return one value twice, or an operand of its own.
      if (is_made.erase(results[k]->producer)) results[k]->name = old->name;
    }
    push(std::move(made), nesting + 1, path);
    retired_.push_back(std::move(node));
  }

  Graph& graph_;
  const Root& root_;
  const Keep& keep_;
  std::vector<Pending> pending_;  // the last is next
  OwnedNodes done_;
  OwnedNodes retired_;  // their results lead back to them until those are removed
  std::unordered_map<const Value*, Value*> replaced_;
};

}  // namespace

void decompose(Graph& graph, const std::function<bool(const Node&)>& keep) {
  decompose(
      graph, [](const Node&) { return std::string(); },
      [&](const Node& node, const std::string&) { return keep && keep(node); });
}

void decompose(Graph& graph, const Root& root, const Keep& keep) {
  Decomposer(graph, root, keep).run();
}

}  // namespace tcc::ir
