// Copies of a graph, as it is or with numbers for its symbols.
#include <algorithm>
#include <unordered_map>

#include "ir/append.h"
#include "ir/bind_nodes.h"
#include "ir/counted_dims.h"
#include "ir/graph.h"
#include "ir/op.h"
#include "ir/size_range.h"
#include "ir/suggest.h"
#include "ir/unbound_constant.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

std::string prefix(const Location& location) {
  const std::string text = to_string(location);
  return text.empty() ? "" : text + ": ";
}

// Symbols' numbers: what was asked for, the defaults for the rest.
using Bindings = std::map<std::string, int64_t, std::less<>>;

// The numbers and, for dims that stay open, expressions that stand for the symbols.
struct Binding {
  Bindings numbers;
  OpenSizes open;
};

Bindings all_bindings(const Graph& graph, const Bindings& given) {
  Bindings result = graph.dims;
  for (const auto& [symbol, value] : given) {
    require_dim(graph, symbol);
    result[symbol] = value;
  }
  for (const auto& [symbol, value] : result)
    if (value < 0) fail_input("dim ", symbol, " = ", value, " is negative");
  return result;
}

SymInt bound(const SymInt& value, const Binding& binding) {
  if (value.is_const()) return value;
  const auto number = [&](const Atom& atom) -> std::optional<int64_t> {
    const auto found = binding.numbers.find(atom.name);
    if (found == binding.numbers.end()) return std::nullopt;
    return found->second;
  };
  const int64_t usual = value.evaluate(number);  // an unknown symbol and an overflow end here
  if (binding.open.empty()) return usual;
  return value.substitute([&](const AtomPtr& atom) -> std::optional<SymInt> {
    if (atom->kind != Atom::Kind::symbol) return std::nullopt;
    const auto open = binding.open.find(atom->name);
    return open == binding.open.end() ? SymInt(*number(*atom)) : open->second;
  });
}

std::vector<SymInt> bound(const std::vector<SymInt>& values, const Binding& bindings) {
  std::vector<SymInt> result;
  result.reserve(values.size());
  for (const SymInt& value : values) result.push_back(bound(value, bindings));
  return result;
}

void bind_attrs(Attrs& attrs, const Binding& bindings) {
  for (auto& [name, attr] : attrs)
    if (auto* values = std::get_if<std::vector<SymInt>>(&attr)) *values = bound(*values, bindings);
}

// Refuses a type that no tensor can have, with the usual values of dims.
void check_concrete(const Value& value) {
  std::vector<int64_t> shape;
  for (const SymInt& dim : value.shape()) shape.push_back(dim.usual());
  if (tensor_bytes(value.dtype(), shape)) return;
  fail_input(prefix(value.location), "'", value.name,
             "' is too large or has a negative dim: ", to_string(value.type));
}

// `room` is the dim of a state along which rows are appended, which is as large as they ever need;
// -1: there is none.
void bind_value(Value& value, const Binding& bindings, int room) {
  try {
    value.type.shape = bound(value.type.shape, bindings);
    if (room >= 0) {
      SymInt& dim = value.type.shape[static_cast<size_t>(room)];
      if (const int64_t most = dim.range().hi; most < kUnbounded) dim = most;
    }
  } catch (const Error& error) {
    fail_input(prefix(value.location), "'", value.name, "' of type ", to_string(value.type), ": ",
               error.what());
  }
  check_concrete(value);
  if (value.data && !std::ranges::all_of(value.shape(), &SymInt::is_const))
    fail_input(prefix(value.location), "'", value.name, "' of type ", to_string(value.type),
               " has data, which open dims cannot have");
  const auto* unbound = dynamic_cast<const UnboundConstant*>(value.data.get());
  if (!unbound) return;
  try {
    value.data = unbound->bind(const_shape(value));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    fail_input(prefix(value.location), "'", value.name, "': ", error.what());
  }
}

// Gives `node`, whose inputs have concrete types already, concrete attributes and outputs.
void bind_node(Node& node, const Binding& bindings) {
  try {
    bind_attrs(node.attrs, bindings);
  } catch (const Error& error) {
    fail_input(prefix(node.location), node.op_name(), ": ", error.what());
  }
  std::vector<Type> types = infer_types(node);
  TCC_CHECK(types.size() == node.outputs.size(), node.op_name(), " has another number of results");
  for (size_t k = 0; k < types.size(); ++k) {
    node.outputs[k]->type = std::move(types[k]);
    check_concrete(*node.outputs[k]);
  }
}

// Gives the graph's values and nodes concrete types. `growing` is of its values.
void bind_all(Graph& graph, const GrowingDims& growing, const Binding& bindings) {
  for (const auto& value : graph.values())
    if (value->kind != Value::Kind::result) {
      const auto room = growing.find(value.get());
      bind_value(*value, bindings, room == growing.end() ? -1 : room->second);
    }
  for (const auto& node : graph.nodes()) bind_node(*node, bindings);
}

std::vector<Value*> twins_of(const std::vector<Value*>& values,
                             const std::unordered_map<const Value*, Value*>& twins) {
  std::vector<Value*> result;
  result.reserve(values.size());
  for (const Value* value : values) result.push_back(value ? twins.at(value) : nullptr);
  return result;
}

}  // namespace

Node* Graph::add_copy(const Node& node, const std::unordered_map<const Value*, Value*>& values) {
  auto copy = std::make_unique<Node>();
  copy->op = node.op;
  copy->inputs = twins_of(node.inputs, values);
  copy->outputs = twins_of(node.outputs, values);
  copy->attrs = node.attrs;
  copy->location = node.location;
  for (const auto& subgraph : node.subgraphs)
    copy->subgraphs.push_back(std::make_unique<Graph>(subgraph->clone()));
  for (Value* output : copy->outputs) output->producer = copy.get();
  return nodes_.emplace_back(std::move(copy)).get();
}

Graph Graph::clone() const {
  Graph copy;
  copy.name = name;
  copy.dims = dims;
  copy.output_names = output_names;
  copy.next_id_ = next_id_;

  std::unordered_map<const Value*, Value*> twins;
  for (const auto& value : values_) {
    copy.values_.push_back(std::make_unique<Value>(*value));
    twins[value.get()] = copy.values_.back().get();
  }
  for (const auto& node : nodes_) copy.add_copy(*node, twins);
  copy.inputs = twins_of(inputs, twins);
  copy.states = twins_of(states, twins);
  copy.outputs = twins_of(outputs, twins);
  return copy;
}

Graph::Part Graph::copy_of(std::span<const Node* const> nodes) {
  Part part;
  Graph& graph = part.graph;
  const auto copy = [&](const Value* value) -> Value* {
    const auto [entry, is_new] = part.values.try_emplace(value);
    if (is_new) entry->second = graph.values_.emplace_back(std::make_unique<Value>(*value)).get();
    return is_new ? entry->second : nullptr;
  };
  for (const Node* node : nodes) {
    for (const Value* input : node->inputs) {
      Value* made = input ? copy(input) : nullptr;
      if (!made) continue;
      if (made->kind == Value::Kind::result) {
        made->kind = Value::Kind::input;
        made->producer = nullptr;
      }
      if (made->kind == Value::Kind::input) graph.inputs.push_back(made);
      if (made->kind == Value::Kind::state) graph.states.push_back(made);
    }
    for (const Value* output : node->outputs) copy(output);
    part.nodes[node] = graph.add_copy(*node, part.values);
  }
  return part;
}

GrowingDims growing_dims(const Graph& graph) {
  GrowingDims dims;
  for (const auto& node : graph.nodes())
    if (appends(*node)) dims[node->inputs[0]] = append_of(*node).dim;
  return dims;
}

namespace {

Graph with_numbers(const Graph& graph, const Binding& binding) {
  Graph result = graph.clone();
  bind_all(result, growing_dims(result), binding);
  result.dims = binding.numbers;
  for (const auto& [dim, size] : binding.open)
    size.visit_atoms([&](const AtomPtr& atom) {
      if (atom->kind == Atom::Kind::symbol) result.dims[atom->name] = atom->usual;
    });
  return result;
}

// " (with H = 1, W = 1 by default; --dim H=64 --dim W=64 fits)", where dims that nobody gave are
// why a graph does not fit: some sizes are tried. Of open dims, the sizes that estimates take:
// " (at S = 2 of 1..6)".
std::string default_dims_text(const Graph& graph, const Bindings& given, const Numbers& taken,
                              const SizeRanges& open) {
  if (!open.empty()) {  // sizes that fit are a matter of several ranges
    std::string list;
    for (const auto& [symbol, value] : taken) {
      const auto range = open.find(symbol);
      if (given.contains(symbol) && range == open.end()) continue;
      list += str(list.empty() ? "" : ", ", symbol, " = ", value);
      list += range == open.end() ? " by default" : str(" of ", range->second.to_string());
    }
    return str(" (at ", list, ")");
  }
  std::string list;
  for (const auto& [symbol, value] : graph.dims)
    if (!given.contains(symbol)) list += str(list.empty() ? "" : ", ", symbol, " = ", value);
  if (list.empty()) return "";
  for (const int64_t size : {64, 128, 320, 512, 2048, 16000}) {
    Bindings numbers = all_bindings(graph, given);
    std::string options;
    for (auto& [symbol, value] : numbers) {
      if (given.contains(symbol) || symbol.find("batch") != std::string::npos) continue;
      value = size;
      options += str("--dim ", symbol, "=", size, " ");
    }
    try {
      with_numbers(graph, {numbers, {}});
      return str(" (with ", list, " by default; ", options, "fits)");
    } catch (const Error&) {}  // the next size
  }
  return "";
}

}  // namespace

Graph Graph::bind(const Bindings& bindings, const std::set<std::string, std::less<>>& open) const {
  SizeRanges ranges;
  for (const std::string& symbol : open) ranges[symbol] = {};
  return bind_dims(*this, bindings, ranges);
}

namespace {

// The size that estimates take, where the range has an end. A state that grows passes through all
// of its lengths: their mean.
std::optional<int64_t> usual_size(const Graph& graph, const std::string& symbol,
                                  const SizeRange& range) {
  const std::optional<int64_t> usual = range.usual();
  if (!usual || !state_of_length(graph, symbol)) return usual;
  const int64_t mean = (range.least + range.most) / 2 / range.multiple * range.multiple;
  return std::max(range.least, mean);
}

}  // namespace

void require_dim(const Graph& graph, const std::string& name, const std::string& said) {
  if (graph.dims.contains(name)) return;
  std::vector<std::string> known;
  for (const auto& [dim, value] : graph.dims) known.push_back(dim);
  fail_input(said.empty() ? str("dim ", name, ": ") : said, "the graph has no such dim",
             or_known(name, known));
}

Numbers usual_sizes(const Graph& graph, const Numbers& given, const SizeRanges& open) {
  Numbers numbers = all_bindings(graph, given);
  for (const auto& [symbol, range] : open) {
    require_dim(graph, symbol);
    int64_t& usual = numbers.at(symbol);
    if (!given.contains(symbol))
      usual = usual_size(graph, symbol, range)
                  .value_or(std::clamp(usual, range.least, range.most) / range.multiple *
                            range.multiple);
    if (const std::string reason = range.why_not(usual); !reason.empty())
      fail_input("dim ", symbol, " = ", usual, " ", reason, " (", symbol, " = ", range.to_string(),
                 ")");
  }
  return numbers;
}

Graph bind_dims(const Graph& graph, const Numbers& numbers, const SizeRanges& given) {
  check_counting(graph);
  SizeRanges open = given;
  Numbers known = numbers;
  for (const auto& [dim, range] : counted_ranges(graph, numbers, given))
    if (range.most == 0)
      known[dim] = 0;  // there is nothing to count
    else
      open.emplace(dim, range);
  Binding binding{usual_sizes(graph, known, open), {}};
  for (const auto& [symbol, range] : open) {
    if (range.multiple > 1 && graph.dims.contains(symbol_name(symbol, range)))
      fail_input("graph '", graph.name, "' has a dim '", symbol_name(symbol, range),
                 "', which multiples of ", range.multiple, " in '", symbol, "' need as a name");
    binding.open.emplace(symbol, open_size(symbol, range, binding.numbers.at(symbol)));
  }
  try {
    return with_numbers(graph, binding);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    fail_input(error.what(), default_dims_text(graph, numbers, binding.numbers, open));
  }
}

Graph::Part bind_nodes(std::span<const Node* const> nodes, const GrowingDims& growing,
                       const Numbers& numbers, const OpenSizes& open) {
  Graph::Part part = Graph::copy_of(nodes);
  GrowingDims of_copies;
  for (const auto& [value, dim] : growing)
    if (const auto copy = part.values.find(value); copy != part.values.end())
      of_copies[copy->second] = dim;
  bind_all(part.graph, of_copies, {numbers, open});
  return part;
}

}  // namespace tcc::ir
