// An import rule gets one ONNX node as an OpNode, and gives its results back through it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onnx.pb.h>
#include "ir/builder.h"
#include "ir/graph.h"
#include "ir/tensor.h"

namespace tcc::onnx {

namespace pb = ::onnx;

using ir::Shape;
using ir::SymInt;
using ir::Value;

class Importer;
struct Scope;

// A sequence: a list of tensors whose length the importer knows. It exists while importing only.
using List = std::shared_ptr<const std::vector<Value*>>;

// A name of an ONNX graph stands for a tensor, a sequence, or nothing (an omitted operand).
struct Operand {
  Value* value = nullptr;
  List list;
  // The TensorProto.DataType of the elements that `value` holds, if it is a type that tcc lacks
  // (narrow_types.h).
  int32_t narrow = 0;
  Operand() = default;
  Operand(Value* tensor) : value(tensor) {}              // NOLINT: implicit on purpose
  Operand(List sequence) : list(std::move(sequence)) {}  // NOLINT
  explicit operator bool() const { return value || list; }
};
using Results = std::vector<Operand>;

// Every accessor that names an attribute or an input marks it as understood. What a rule leaves
// unread is an error of the import: nothing is ignored in silence.
class OpNode {
 public:
  OpNode(Importer& importer, const Scope& scope, const pb::NodeProto& node, int opset,
         ir::Location location);

  ir::Builder b;    // adds nodes that bear this node's location
  const int opset;  // version of the node's operator set
  const std::string& type() const { return node_.op_type(); }

  // Throws Error(bad_input): "model.onnx: node 3 'conv1' (Conv): REASON".
  [[noreturn]] void fail(const std::string& reason) const;
  // Returns a message of an import without the file's name at its beginning.
  std::string without_file(std::string_view message) const;
  // Returns the name of the option that binds dims, for reasons: "--dim".
  std::string_view dim_option() const;
  void require(bool condition, const std::string& reason) const {
    if (!condition) fail(reason);
  }

  // ---- operands

  size_t num_inputs() const { return static_cast<size_t>(node_.input_size()); }
  bool has_input(size_t k) const;    // it is there and not omitted
  Value* in(size_t k);               // fails where it is omitted or a sequence
  Value* maybe(size_t k);            // null where it is omitted
  std::vector<Value*> all_inputs();  // tensors, none omitted
  List list(size_t k);               // fails where it is a tensor
  Operand operand(size_t k);         // either

  size_t num_outputs() const { return static_cast<size_t>(node_.output_size()); }
  bool wants(size_t k) const;  // result `k` has a name

  // ---- operands whose values decide the graph

  // The integers of operand `k` (a scalar or list), which may be expressions of dims. A graph input
  // on which they depend becomes part of the graph: it is value-specialised. Fails where that is
  // not possible.
  std::vector<SymInt> dims(size_t k);
  // Returns the same integers as numbers.
  std::vector<int64_t> ints(size_t k);
  SymInt dim_of(size_t k);  // operand `k` is a single integer
  int64_t int_of(size_t k);
  // Returns the whole tensor of operand `k`.
  TensorPtr tensor(size_t k);
  double number_of(size_t k);
  // Operand `k`, a single number, as an attribute: integers are exact.
  ir::Attr scalar_of(size_t k);
  // Like tensor(), but null where the operand is not a constant of the graph already.
  TensorPtr tensor_if_known(size_t k);
  // Like dims(), but nothing where they are not known.
  std::optional<std::vector<SymInt>> dims_if_known(size_t k);
  // Operand `k` where it is a single whole number, of any type, and known.
  std::optional<SymInt> whole_if_known(size_t k);
  // A value that is a single whole number, and known.
  std::optional<SymInt> known_whole(const Value* value);
  // Returns whether operand `k` is computed from data of inputs that is not at hand, or from sizes
  // that runs count.
  bool depends_on_data(size_t k);
  // Returns the reason why dims() would fail, and notes it: what the user must give for operand `k`
  // to be known.
  std::string need(size_t k);
  // Does the same for values that the rule computed.
  std::vector<SymInt> dims_of(Value* value, const std::string& what);

  // ---- attributes

  bool has(std::string_view name);
  int64_t integer(std::string_view name);  // fails without it
  int64_t integer(std::string_view name, int64_t otherwise);
  bool flag(std::string_view name, bool otherwise) { return integer(name, otherwise) != 0; }
  double number(std::string_view name, double otherwise);
  std::string text(std::string_view name, const std::string& otherwise);
  std::vector<int64_t> ints_attr(std::string_view name, std::vector<int64_t> otherwise = {});
  std::vector<double> numbers_attr(std::string_view name);
  std::vector<std::string> texts_attr(std::string_view name);
  std::optional<DType> dtype_attr(std::string_view name);  // of TensorProto.DataType
  // Returns the checked TensorProto.DataType of such an attribute, which may be a narrow type
  // (narrow_types.h).
  std::optional<int32_t> element_type_attr(std::string_view name);
  const pb::TensorProto* tensor_attr(std::string_view name);
  const pb::GraphProto& graph(std::string_view name);
  // Marks an attribute as understood that changes nothing here (a hint, or a fact that follows from
  // other attributes).
  void ignore(std::string_view name) { known_attributes_.emplace(name); }

  // ---- helpers

  // `dim` in [0, rank), negative ones counted from the end; fails otherwise.
  int64_t axis(int64_t dim, int rank) const;
  std::vector<int64_t> axes(std::vector<int64_t> dims, int rank) const;
  // A constant of the given elements.
  Value* constant(TensorPtr tensor);
  Value* constant_ints(const std::vector<int64_t>& values);  // i64 [n]
  // The results of an op that counts (ir/counted_dims.h): the importer gives it its dim.
  std::vector<Value*> count(std::string_view op, const std::vector<Value*>& inputs,
                            ir::Attrs attrs = {});
  // i64 [n] of expressions of dims.
  Value* dims_value(const std::vector<SymInt>& dims);
  // The tensor of a TensorProto (an attribute).
  Value* constant(const pb::TensorProto& tensor);

  // The nodes of a subgraph, with these values for its inputs; it sees this node's scope.
  Results import_subgraph(const pb::GraphProto& graph, std::span<const Operand> arguments);

  // Fails where the rule left an attribute or an operand unread.
  void check_all_understood() const;

 private:
  std::optional<std::vector<SymInt>> known_dims(Value* value);
  const pb::AttributeProto* attribute(std::string_view name);
  [[noreturn]] void fail_attribute(std::string_view name, const std::string& reason) const;

  Importer& importer_;
  const Scope& scope_;
  const pb::NodeProto& node_;
  std::set<std::string, std::less<>> known_attributes_;
  std::set<size_t> known_inputs_;
};

}  // namespace tcc::onnx
