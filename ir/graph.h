// The graph IR: an SSA graph of typed values. Layout (strides, padding, packing) is not part of it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "ir/dtype.h"
#include "ir/symint.h"
#include "ir/tensor.h"

namespace tcc::ir {

struct OpDef;
class Node;
class Graph;

struct Type {
  DType dtype = DType::f32;
  Shape shape;
  friend bool operator==(const Type& a, const Type& b) = default;
};
std::string to_string(const Type& type);  // "f32[B, 768]"

// An attribute's value. Lists of ints are lists of SymInts, so that a reshape's target may be
// symbolic.
using Attr = std::variant<bool, int64_t, double, std::string, DType, std::vector<SymInt>,
                          std::vector<double>>;
using Attrs = std::map<std::string, Attr, std::less<>>;
std::string to_string(const Attr& attr);  // "tanh" with its quotes, 1e-05, [B, 3]
// In double quotes; quotes and backslashes escaped by a backslash, control characters as \x0a.
std::string quote(std::string_view text);

// Names of the user's layers: nodes of an ONNX file, `out` of a YAML graph's nodes.
using Layers = std::vector<std::string>;

// The source of a node or value, for messages and reports.
struct Location {
  std::shared_ptr<const std::string> file;
  int line = 0;
  // The user's names of the layers that the node computes; passes merge them. Null: unknown.
  std::shared_ptr<const Layers> layers = nullptr;
};
std::string to_string(const Location& location);  // "mlp.yaml:12", or "" when unknown

// A constant's data, loaded (or drawn) on first use; thread-safe.
class ConstantData {
 public:
  virtual ~ConstantData() = default;
  virtual TensorPtr load() const = 0;
  // The value of every element, where it is known without loading.
  virtual std::optional<double> splat() const { return std::nullopt; }
  // Returns whether it was written in the graph and is in memory: small ones are spelled out in the
  // text IR. A weight is no literal.
  virtual bool is_literal() const { return false; }
};
using ConstantPtr = std::shared_ptr<const ConstantData>;
ConstantPtr make_constant(TensorPtr tensor);
// Loads once through `load`.
ConstantPtr make_lazy_constant(std::function<TensorPtr()> load);
ConstantPtr make_splat(DType dtype, std::vector<int64_t> shape, double value);
ConstantPtr make_scalar_int(DType dtype, int64_t value);

class Value {
 public:
  enum class Kind : uint8_t {
    input,
    constant,
    state,  // memory that lives from run to run; its value is that at the run's begin
    result
  };
  Kind kind = Kind::result;
  std::string name;
  Type type;
  Location location;
  Node* producer = nullptr;  // result only
  int output_index = 0;
  // A constant's elements, or a state's first ones; null: zeros.
  ConstantPtr data;
  // constant only. A mutable weight may change between runs: it is not folded, packed or merged.
  bool is_mutable = false;
  // input only: the range of random draws [lo, hi) of an integer input.
  std::optional<std::pair<int64_t, int64_t>> random_range;

  DType dtype() const { return type.dtype; }
  const Shape& shape() const { return type.shape; }
  int rank() const { return static_cast<int>(type.shape.size()); }
  bool is_constant() const { return kind == Kind::constant; }
  // Nothing in the graph tells what it is: an input or a state.
  bool is_given() const { return kind == Kind::input || kind == Kind::state; }
};

class Node {
 public:
  const OpDef* op = nullptr;
  std::vector<Value*> inputs;  // null for an omitted optional operand
  std::vector<Value*> outputs;
  Attrs attrs;  // every attribute of the op, defaults filled in
  Location location;
  std::vector<std::unique_ptr<Graph>> subgraphs;  // reserved for control flow

  std::string_view op_name() const;
  template <class T>
  const T& attr(std::string_view key) const {
    return std::get<T>(attrs.find(key)->second);
  }
  bool has_attr(std::string_view key) const { return attrs.find(key) != attrs.end(); }
  // Returns whether results depend on operand `k`: of a node that stores, not on the old value.
  bool reads(size_t k) const;
  // The state in which the first result is stored when the run ends (OpDef::stores); null: none.
  Value* stored_in() const;
  std::vector<int64_t> ints(std::string_view key) const;  // a constant int list
};

class Graph {
 public:
  std::string name = "graph";
  // Symbols of the shapes and their default values.
  std::map<std::string, int64_t, std::less<>> dims;
  std::vector<Value*> inputs;
  std::vector<Value*> states;
  std::vector<Value*> outputs;
  std::vector<std::string> output_names;

  Graph() = default;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  Value* add_input(std::string name, Type type);
  Value* add_constant(std::string name, Type type, ConstantPtr data);
  // `initial` is its value before the first run; null: zeros.
  Value* add_state(std::string name, Type type, ConstantPtr initial = nullptr);
  // Appends a node and infers its outputs' types. Throws Error(bad_input) with the op's words.
  Node* add_node(const OpDef& op, std::vector<Value*> inputs, Attrs attrs, Location location = {});

  // In topological order: operands before users. Passes keep it so.
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  std::vector<std::unique_ptr<Node>>& nodes() { return nodes_; }
  const std::vector<std::unique_ptr<Value>>& values() const { return values_; }

  // Makes every use of `from` a use of `to` (outputs included), in one walk over the graph.
  void replace_uses(Value* from, Value* to);
  // Drops values that no node, input, state or output refers to any more, and nodes without uses,
  // but for those that store a state.
  void remove_dead();
  // Renames values whose names are empty or taken, and makes the names that add_node invents
  // ("gelu.12") differ from all others. It must be called after Value::name was set.
  void make_names_unique();
  // The uses of every value: the nodes, in order (one that uses it twice is listed once), and how
  // often it is wanted when the run ends: as an output, and as a state's next value.
  struct Uses {
    std::vector<Node*> nodes;
    int outputs = 0;
  };
  std::map<const Value*, Uses> uses() const;

  // A copy; with `bindings`, symbols are replaced by numbers (defaults from `dims` fill the rest)
  // and every shape becomes constant, but for the dims in `open`, whose numbers are usual values
  // (SymInt::usual). Throws Error(bad_input) for an unknown symbol, a negative dim, an overflow,
  // and data whose shape has an open dim.
  Graph clone() const;
  Graph bind(const std::map<std::string, int64_t, std::less<>>& bindings,
             const std::set<std::string, std::less<>>& open = {}) const;
  // A copy of some of a graph's nodes, in its order, and of the values that they read and write:
  // results of other nodes are inputs, and nothing is an output.
  struct Part;
  static Part copy_of(std::span<const Node* const> nodes);

 private:
  Value* new_value(Value::Kind kind, std::string name, Type type);
  Node* add_copy(const Node& node, const std::unordered_map<const Value*, Value*>& values);
  std::vector<std::unique_ptr<Value>> values_;
  std::vector<std::unique_ptr<Node>> nodes_;
  int64_t next_id_ = 0;  // of an invented name
};

struct Graph::Part {
  Graph graph;
  std::unordered_map<const Value*, Value*> values;  // the copies
  std::unordered_map<const Node*, Node*> nodes;
};

std::vector<int64_t> const_shape(const Value& value);  // TCC_CHECKs that it is constant
std::vector<int64_t> const_shape(std::span<const SymInt> shape);

}  // namespace tcc::ir
