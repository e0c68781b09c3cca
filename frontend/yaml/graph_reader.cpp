// The YAML graph format: docs/yaml-format.md. Functions are expanded where they are used.
#include <map>
#include <set>

#include "frontend/graph_file.h"
#include "frontend/random_init.h"
#include "frontend/state_pairs.h"
#include "frontend/yaml/document.h"
#include "frontend/yaml/values.h"
#include "ir/builder.h"
#include "ir/suggest.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc {
namespace {

using ir::Value;
using yaml::Item;

constexpr int64_t kMaxSize = 500000;  // nodes, operands and weights once functions are expanded
constexpr size_t kMaxPrefix = 512;    // of the names of what a function makes
constexpr int kMaxCalls = 32;         // functions within functions

// The names that nodes of one body see.
using Scope = std::map<std::string, Value*, std::less<>>;

class Reader {
 public:
  Reader(const Item& document, const std::filesystem::path& folder, const GraphFileOptions& options)
      : document_(document),
        weights_(GraphFiles(folder, options.files, options.opens_files), options.seed) {}

  ir::Graph run() {
    document_.allow_keys(
        {"tcc", "name", "dims", "inputs", "states", "weights", "functions", "nodes", "outputs"});
    if (int64_t version = document_.at("tcc").integer(); version != 1)
      document_.at("tcc").fail(
          str("this is version ", version, " of the format; this tcc reads version 1"));
    if (document_.has("name")) graph_.name = document_.at("name").text();
    read_dims();
    if (document_.has("functions"))
      for (auto& [name, item] : document_.at("functions").map()) {
        if (ir::find_op(name)) item.fail("is the name of an op");
        item.allow_keys({"inputs", "outputs", "weights", "nodes"});
        functions_.emplace(name, item);
      }
    Scope scope;
    read_inputs(scope);
    if (document_.has("states")) read_states(document_.at("states"), scope);
    if (document_.has("weights")) read_weights(document_.at("weights"), "", 0, scope);
    read_nodes(document_.at("nodes"), "", 0, scope);
    std::set<std::string> seen;
    for (const Item& output : document_.at("outputs").list()) {
      std::string name = output.text();
      if (!seen.insert(name).second) output.fail("'" + name + "' is listed twice");
      graph_.outputs.push_back(lookup(output, name, scope, nullptr));
      graph_.output_names.push_back(name);
    }
    if (graph_.outputs.empty()) document_.at("outputs").fail("a graph needs at least one output");
    return std::move(graph_);
  }

 private:
  void read_dims() {
    if (!document_.has("dims")) return;
    for (auto& [name, item] : document_.at("dims").map()) {
      ir::SymInt symbol = yaml::identifier(item, name);
      int64_t value = item.integer();
      if (value < 0 || value > (int64_t{1} << 40)) item.fail(str("a dim cannot be ", value));
      graph_.dims[name] = value;
    }
  }

  // Every symbol must be declared under dims.
  ir::Shape shape(const Item& item) const {
    ir::Shape shape = yaml::shape(item);
    for (const ir::SymInt& dim : shape) check_symbols(item, dim);
    return shape;
  }

  void check_symbols(const Item& item, const ir::SymInt& dim) const {
    dim.visit_atoms([&](const ir::AtomPtr& atom) {
      if (atom->kind == ir::Atom::Kind::symbol && !graph_.dims.count(atom->name))
        item.fail("'" + atom->name + "' is not declared under dims");
    });
  }

  // A few functions of functions can stand for billions of nodes.
  void spend(const Item& item, int64_t size) {
    size_ += size;
    if (size_ > kMaxSize)
      item.fail(
          str("more than ", kMaxSize, " nodes, operands and weights once functions are expanded"));
  }

  void define(const Item& item, Scope& scope, const std::string& name, Value* value) {
    if (!scope.emplace(name, value).second) item.fail("'" + name + "' is defined twice");
  }

  void read_inputs(Scope& scope) {
    for (auto& [name, item] : document_.at("inputs").map()) {
      yaml::value_name(item, name);
      item.allow_keys({"dtype", "shape", "range"});
      Value* value =
          graph_.add_input(name, {yaml::dtype(item.at("dtype")), shape(item.at("shape"))});
      value->location = item.location();
      taken_[name] = value;
      if (item.has("range")) {
        if (!is_integer(value->dtype())) item.at("range").fail("is for integer inputs");
        value->random_range = yaml::integer_range(item.at("range"), value->dtype());
      }
      define(item, scope, name, value);
    }
  }

  // As weights; zeros where nothing is said about the first value.
  void read_states(const Item& states, Scope& scope) {
    for (auto& [name, item] : states.map()) {
      yaml::value_name(item, name);
      if (item.has("mutable")) item.at("mutable").fail("is for weights");
      ir::Type type;
      ir::ConstantPtr initial;
      if (item.has("init") || item.has("file")) {
        const yaml::Weight weight = weights_.read(item, name, 0);
        type = weight.type;
        initial = weight.data;
        for (const ir::SymInt& dim : type.shape)
          if (!dim.is_const()) check_symbols(item.at("shape"), dim);
      } else {
        item.allow_keys({"dtype", "shape", "init", "file", "key"});
        type = {yaml::dtype(item.at("dtype")), shape(item.at("shape"))};
      }
      Value* value = graph_.add_state(name, type, initial);
      value->location = item.location();
      taken_[name] = value;
      define(item, scope, name, value);
    }
  }

  void read_weights(const Item& weights, const std::string& prefix, int64_t use, Scope& scope) {
    for (auto& [name, item] : weights.map()) {
      spend(item, 1);
      yaml::value_name(item, name);
      yaml::Weight weight = weights_.read(item, prefix + name, use);
      for (const ir::SymInt& dim : weight.type.shape)
        if (!dim.is_const()) check_symbols(item.at("shape"), dim);
      std::string full = prefix + name;
      for (int n = 2; taken_.count(full); ++n) full = prefix + name + "_" + std::to_string(n);
      Value* value = graph_.add_constant(full, weight.type, weight.data);
      taken_[full] = value;
      value->is_mutable = weight.is_mutable;
      value->location = item.location();
      define(item, scope, name, value);
    }
  }

  void read_nodes(const Item& nodes, const std::string& prefix, int depth, Scope& scope) {
    std::vector<Item> list = nodes.list("node");
    const std::vector<Item>* saved = body_;
    body_ = &list;
    for (const Item& item : list) read_node(item, prefix, depth, scope);
    body_ = saved;
  }

  // One entry may stand without brackets.
  static std::vector<Item> entries(const Item& item) {
    return item.is_list() ? item.list() : std::vector<Item>{item};
  }

  static std::vector<std::string> names(const Item& item) {
    std::vector<std::string> result;
    for (const Item& entry : entries(item)) result.push_back(entry.text());
    return result;
  }

  void read_node(const Item& item, const std::string& prefix, int depth, Scope& scope) {
    spend(item, 1);
    Item op_item = item.at("op");
    std::string op_name = op_item.text();
    std::vector<std::string> outs = names(item.at("out"));
    if (outs.empty()) item.at("out").fail("names no result");
    for (const std::string& out : outs) yaml::value_name(item.at("out"), out);
    std::vector<Value*> results;
    if (auto function = functions_.find(op_name); function != functions_.end()) {
      results = call(item, function->first, function->second, prefix, outs, depth, scope);
    } else {
      const ir::OpDef* op = ir::find_op(op_name);
      if (!op) op_item.fail("unknown op '" + op_name + "'" + suggestion(op_name));
      results = add_op(item, *op, scope);
    }
    if (outs.size() > results.size())
      item.at("out").fail(str("'", op_name, "' has ", results.size(), " result",
                              results.size() == 1 ? "" : "s", ", not ", outs.size()));
    for (size_t i = 0; i < outs.size(); ++i) {
      if (results[i]->kind == Value::Kind::result)
        results[i]->name = unique_name(prefix + outs[i], results[i]);
      define(item.at("out"), scope, outs[i], results[i]);
    }
  }

  std::string suggestion(const std::string& name) const {
    std::vector<std::string> candidates;
    for (const ir::OpDef& op : ir::all_ops()) candidates.push_back(op.name);
    for (const auto& [function, item] : functions_) candidates.push_back(function);
    return ir::did_you_mean(name, candidates);
  }

  // A value keeps the first name that a user gave it, unless that is taken.
  std::string unique_name(const std::string& name, const Value* value) {
    auto [entry, inserted] = taken_.try_emplace(name, value);
    return inserted || entry->second == value ? name : value->name;
  }

  std::vector<Value*> add_op(const Item& item, const ir::OpDef& op, const Scope& scope) {
    ir::Attrs attrs;
    for (auto& [key, value] : item.map()) {
      if (key == "out" || key == "op" || key == "in") continue;
      if (key == "repeat") value.fail("only functions repeat");
      attrs[key] = yaml::attribute(value, op, key);
      if (auto* dims = std::get_if<std::vector<ir::SymInt>>(&attrs[key]))
        for (const ir::SymInt& dim : *dims) check_symbols(value, dim);
    }
    std::vector<Value*> inputs = operands(item, scope);
    try {
      ir::Node* node = graph_.add_node(op, inputs, attrs, item.location());
      return node->outputs;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_input) throw;
      std::string message = error.what(), place = ir::to_string(item.location());
      if (message.starts_with(place)) throw;
      item.fail(message);
    }
  }

  // Numbers become scalars of the type that the tensors among the operands suggest.
  std::vector<Value*> operands(const Item& item, const Scope& scope) {
    if (!item.has("in")) return {};
    Item in = item.at("in");
    std::vector<Item> list = entries(in);
    spend(in, static_cast<int64_t>(list.size()));
    std::vector<Value*> values(list.size(), nullptr);
    const Value* like = nullptr;
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].is_null() || yaml::is_number(list[i])) continue;
      values[i] = lookup(list[i], list[i].text(), scope, &item);
      if (!like && values[i]->dtype() != DType::boolean) like = values[i];
    }
    ir::Builder builder(graph_);
    for (size_t i = 0; i < list.size(); ++i)
      if (!list[i].is_null() && yaml::is_number(list[i]))
        values[i] = yaml::scalar(builder, list[i], like);
    return values;
  }

  Value* lookup(const Item& item, const std::string& name, const Scope& scope,
                const Item* user) const {
    if (auto found = scope.find(name); found != scope.end()) return found->second;
    // Defined further down? Then the order is wrong, or there is a circle.
    if (user && body_)
      for (const Item& other : *body_)
        for (const std::string& out : names(other.at("out")))
          if (out == name)
            item.fail(str("'", name, "' is used before it is defined at line ",
                          other.location().line,
                          "; nodes are listed in order and cannot form a cycle"));
    std::vector<std::string> candidates;
    for (const auto& [known, value] : scope) candidates.push_back(known);
    item.fail("unknown value '" + name + "'" + ir::did_you_mean(name, candidates));
  }

  std::vector<Value*> call(const Item& item, const std::string& name, const Item& function,
                           const std::string& prefix, const std::vector<std::string>& outs,
                           int depth, const Scope& scope) {
    item.allow_keys({"out", "op", "in", "repeat"});
    if (depth >= kMaxCalls || !calling_.insert(name).second)
      item.fail(depth >= kMaxCalls ? str("functions are nested deeper than ", kMaxCalls)
                                   : "function '" + name + "' calls itself");
    int64_t repeat = item.has("repeat") ? item.at("repeat").integer() : 1;
    if (repeat < 1 || repeat > 10000)
      item.at("repeat").fail(str("must be 1 to 10000, not ", repeat));
    std::vector<Value*> arguments = operands(item, scope);
    std::vector<std::string> parameters = names(function.at("inputs"));
    std::vector<Item> outputs = entries(function.at("outputs"));
    if (outputs.empty()) function.at("outputs").fail("a function needs an output");
    if (arguments.size() != parameters.size())
      item.fail(str("function '", name, "' has ", parameters.size(), " input",
                    parameters.size() == 1 ? "" : "s", ", not ", arguments.size()));
    std::vector<Value*> results;
    for (int64_t use = 0; use < repeat; ++use) {
      spend(item, static_cast<int64_t>(1 + parameters.size() + outputs.size()));
      std::string inner =
          prefix + outs[0] + "." + (item.has("repeat") ? std::to_string(use) + "." : "");
      if (inner.size() > kMaxPrefix)
        item.fail("the names of nested functions' results are too long");
      Scope body;
      for (size_t i = 0; i < parameters.size(); ++i) {
        if (!arguments[i]) item.at("in").fail("a function's input cannot be omitted");
        define(function.at("inputs"), body, parameters[i], arguments[i]);
      }
      if (function.has("weights")) read_weights(function.at("weights"), inner, use, body);
      read_nodes(function.at("nodes"), inner, depth + 1, body);
      results.clear();
      for (const Item& output : outputs)
        results.push_back(lookup(output, output.text(), body, nullptr));
      if (!arguments.empty()) arguments[0] = results[0];
    }
    calling_.erase(name);
    return results;
  }

  Item document_;
  yaml::WeightReader weights_;
  ir::Graph graph_;
  std::map<std::string, Item> functions_;
  std::set<std::string> calling_;
  std::map<std::string, const Value*> taken_;
  const std::vector<Item>* body_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace

ir::Graph parse_yaml_graph(std::string_view text, const std::string& name,
                           const std::filesystem::path& folder, const GraphFileOptions& options) {
  ir::Graph graph = Reader(yaml::parse_document(text, name), folder, options).run();
  if (!options.states.empty()) {
    make_states(graph, options.states, name);
    graph.make_names_unique();
  }
  return graph;
}

}  // namespace tcc
