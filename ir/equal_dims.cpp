#include "ir/equal_dims.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "ir/append.h"
#include "ir/assumed_equal.h"
#include "ir/op.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

SymInt with_expressions(const SymInt& value, const DimExpressions& expressions) {
  if (value.is_const()) return value;
  return value.substitute([&](const AtomPtr& atom) -> std::optional<SymInt> {
    if (atom->kind != Atom::Kind::symbol) return std::nullopt;
    const auto found = expressions.find(atom->name);
    if (found == expressions.end()) return std::nullopt;
    return found->second;
  });
}

void rewrite(Graph& graph, const DimExpressions& expressions) {
  const auto rewrite_all = [&](std::vector<SymInt>& values) {
    for (SymInt& value : values) value = with_expressions(value, expressions);
  };
  for (const auto& value : graph.values()) rewrite_all(value->type.shape);
  for (const auto& node : graph.nodes()) {
    for (auto& [name, attr] : node->attrs)
      if (auto* values = std::get_if<std::vector<SymInt>>(&attr)) rewrite_all(*values);
    for (const auto& subgraph : node->subgraphs) rewrite(*subgraph, expressions);
  }
  for (const auto& [name, value] : expressions) graph.dims.erase(name);
}

// The dims that ops take for equal.
std::vector<std::pair<SymInt, SymInt>> equal_pairs(const Graph& graph) {
  const Assumptions assumed;
  for (const auto& node : graph.nodes()) {
    try {
      (void)infer_types(*node);
    } catch (const Error& error) {  // binding says so
      if (error.kind() != ErrorKind::bad_input) throw;
    }
  }
  return assumed.pairs();
}

class EqualDims {
 public:
  EqualDims(const Graph& graph, const Numbers& numbers, SizeRanges& open)
      : graph_(graph), numbers_(numbers), open_(open) {}

  void take(const std::string& name, const SymInt& value) {
    const std::string said = str("dim ", name, " = ", value);
    require_dim(graph_, name, said + ": ");
    value.visit_atoms([&](const AtomPtr& atom) {
      if (atom->kind == Atom::Kind::symbol)
        require_dim(graph_, atom->name, str(said, ": ", atom->name, ": "));
    });
    if (uses(value, name)) fail_input(said, ": is an expression of itself");
    if (numbers_.contains(name)) fail_input(said, ": '", name, "' has a number, too");
    if (const Value* state = state_of_length(graph_, name))
      fail_input(said, ": it is the length of state '", state->name, "'");
    const SymInt of_others = with_expressions(value, found_);
    check_no_cycle(name, value, of_others, said);
    define(name, of_others);
  }

  void find() {
    const auto pairs = equal_pairs(graph_);
    for (bool is_new = true; is_new;) {
      is_new = false;
      for (const auto& [a, b] : pairs) {
        const SymInt x = with_expressions(a, found_), y = with_expressions(b, found_);
        if (x == y) continue;
        is_new |= worth(x) >= worth(y) ? find(x, y) || find(y, x) : find(y, x) || find(x, y);
      }
    }
  }

  DimExpressions result() && { return std::move(found_); }

 private:
  static bool uses(const SymInt& expression, const std::string& dim) {
    bool result = false;
    expression.visit_atoms([&](const AtomPtr& atom) {
      result |= atom->kind == Atom::Kind::symbol && atom->name == dim;
    });
    return result;
  }

  // `of_others` is `value` with the expressions found before: one of these has `name` in a cycle.
  void check_no_cycle(const std::string& name, const SymInt& value, const SymInt& of_others,
                      const std::string& said) const {
    if (!uses(of_others, name)) return;
    for (const auto& [other, expression] : found_)
      if (uses(value, other) && uses(expression, name))
        fail_input(said, ": is a cycle, since ", other, " = ", expression);
    fail_input(said, ": is a cycle, ", name, " = ", of_others);
  }

  // The side that is worth more is rather written as the other: dims that nobody gave.
  int worth(const SymInt& side) const {
    const AtomPtr atom = side.as_atom();
    if (!atom || atom->kind != Atom::Kind::symbol) return 0;
    return open_.contains(atom->name) ? 1 : 2;
  }

  bool is_open(const SymInt& value) const {
    bool result = false;
    value.visit_atoms([&](const AtomPtr& atom) {
      result |= atom->kind == Atom::Kind::symbol && open_.contains(atom->name);
    });
    return result;
  }

  // Defines `side` as `value` where that is a dim which may be.
  bool find(const SymInt& side, const SymInt& value) {
    const AtomPtr atom = side.as_atom();
    if (!atom || atom->kind != Atom::Kind::symbol || value.uses(atom) || !is_open(value))
      return false;
    const std::string& name = atom->name;
    if (numbers_.contains(name) || !graph_.dims.contains(name) || state_of_length(graph_, name))
      return false;
    if (const auto range = range_of(value); !range || range->lo < 0) return false;
    define(name, value);
    return true;
  }

  // The values of an expression; nothing where it is none of known sizes.
  std::optional<Interval> range_of(const SymInt& value) const {
    try {
      return sized(value).range();
    } catch (const Error&) { return std::nullopt; }
  }
  SymInt sized(const SymInt& value) const {
    return value.substitute([&](const AtomPtr& atom) -> std::optional<SymInt> {
      if (atom->kind != Atom::Kind::symbol) return std::nullopt;
      if (const auto range = open_.find(atom->name); range != open_.end())
        return open_size(atom->name, range->second, range->second.least);
      const auto number = numbers_.find(atom->name);
      return number == numbers_.end() ? graph_.dims.at(atom->name) : number->second;
    });
  }

  void define(const std::string& name, const SymInt& value) {
    if (const auto range = open_.find(name); range != open_.end()) {
      const SizeRange of_name = range->second;
      open_.erase(range);
      hold(name, of_name, value);
    }
    for (auto& [other, expression] : found_)
      expression = with_expressions(expression, {{name, value}});
    found_.emplace(name, value);
  }

  // The range of `name` must have all values of the expression, or is that of the one dim that the
  // expression is.
  void hold(const std::string& name, const SizeRange& range, const SymInt& value) {
    if (range == SizeRange()) return;
    const std::string said = str("dim ", name, " = ", range.to_string());
    const AtomPtr atom = value.as_atom();
    const auto other = atom ? open_.find(atom->name) : open_.end();
    if (other != open_.end()) {
      SizeRange& both = other->second;
      const std::string text = both.to_string();
      both.multiple = std::lcm(both.multiple, range.multiple);
      both.least = round_up(std::max(both.least, range.least), both.multiple);
      both.most = std::min(both.most, range.most) / both.multiple * both.multiple;
      if (both.least > both.most)
        fail_input(said, ": is equal to ", atom->name, " = ", text, " in graph '", graph_.name,
                   "', and no size is in both");
      return;
    }
    const std::optional<Interval> values = range_of(value);
    if (values && values->lo >= range.least && values->hi <= range.most &&
        sized(value).divisible_by(range.multiple))
      return;
    fail_input(said, ": is ", value, " in graph '", graph_.name, "', which is ",
               values ? str(values->lo, "..", values->hi) : "of any size", ": leave '", name,
               "' out, or give smaller ranges");
  }

  const Graph& graph_;
  const Numbers& numbers_;
  SizeRanges& open_;
  DimExpressions found_;
};

}  // namespace

DimExpressions write_equal_dims(Graph& graph, const Numbers& numbers, SizeRanges& open,
                                const DimExpressions& given) {
  if (given.empty() && open.empty()) return {};
  EqualDims dims(graph, numbers, open);
  for (const auto& [name, value] : given) dims.take(name, value);
  if (!open.empty()) dims.find();
  DimExpressions found = std::move(dims).result();
  if (!found.empty()) rewrite(graph, found);
  return found;
}

}  // namespace tcc::ir
